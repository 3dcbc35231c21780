"""The dual encoder's tasks: their examples, their losses and their hard negatives."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from emu_core.data.texts.running_text import RunningText
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.base import evaluation_mode
from emu_core.errors import TrainingError
from emu_core.losses.inference import inference_loss
from emu_core.losses.ranking import ranking_loss
from emu_core.methods.dual_encoder.batch import Ints, SentenceBatch
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.heads import TaskHeads
from emu_core.methods.dual_encoder.settings import DualEncoderConfig

_Vectors = Sequence[Tensor]


@dataclass(eq=False)
class PreparedTask(ABC):
    """A task with its text."""

    name: str  # for the log
    columns: tuple[SentenceBatch, ...]  # parallel columns of sentences, or what `sides` selects from
    size: int  # number of examples

    def sides(self, rows: Ints) -> list[SentenceBatch]:
        """Return the sentences of examples, in lists; `loss` takes their vectors."""
        return [column.take(rows) for column in self.columns]

    @abstractmethod
    def loss(self, vectors: _Vectors, rows: Ints, heads: TaskHeads, config: DualEncoderConfig) -> Tensor:
        """Compute the loss of examples from the vectors of their `sides`."""


@dataclass(eq=False)
class Translation(PreparedTask):
    """P(source | target), and also P(target | source) if `config.bidirectional`."""

    # For each ranked side, source first, the rows (N, H) of hard negatives on that side; empty until they are mined.
    negatives: list[Ints] = field(default_factory=list)

    def sides(self, rows: Ints) -> list[SentenceBatch]:
        """Return sources, targets, and the hard negatives of all pairs on each ranked side."""
        hard = [
            column.take(mined[rows].ravel())
            for column, mined in zip(self.columns, self.negatives, strict=False)
        ]
        return [*super().sides(rows), *hard]

    def loss(self, vectors: _Vectors, rows: Ints, heads: TaskHeads, config: DualEncoderConfig) -> Tensor:
        """Rank the encoder's own vectors, without heads."""
        first, second, *hard = vectors
        wrong = [part.unflatten(0, (len(rows), -1)) for part in hard] or [None, None]
        loss = ranking_loss(second, first, wrong[0], scale=config.scale)
        if config.bidirectional:
            loss = (loss + ranking_loss(first, second, wrong[1], scale=config.scale)) / 2
        return loss


@dataclass(eq=False)
class Conversation(PreparedTask):
    """P(response | comment)."""

    def loss(self, vectors: _Vectors, rows: Ints, heads: TaskHeads, config: DualEncoderConfig) -> Tensor:
        """Rank with a head on the responses only."""
        comments, responses = vectors
        return ranking_loss(comments, _phi(heads.conversation(responses), config), scale=config.scale)


@dataclass(eq=False)
class QuickThought(PreparedTask):
    """P(predecessor | sentence) and P(successor | sentence)."""

    middle: Ints  # (size,), rows that have neighbours on both sides

    def sides(self, rows: Ints) -> list[SentenceBatch]:
        """Return predecessors, sentences, successors."""
        at = self.middle[rows]
        return [self.columns[0].take(at + shift) for shift in (-1, 0, 1)]

    def loss(self, vectors: _Vectors, rows: Ints, heads: TaskHeads, config: DualEncoderConfig) -> Tensor:
        """Add the two negative log-likelihoods."""
        before, middle, after = (_phi(part, config) for part in heads.quick_thought(*vectors))
        return ranking_loss(middle, after, scale=config.scale) + ranking_loss(
            middle, before, scale=config.scale
        )


@dataclass(eq=False)
class Inference(PreparedTask):
    """Classification of a hypothesis's relation to its premise."""

    labels: Ints  # (size,), in the order of `Nli`

    def loss(self, vectors: _Vectors, rows: Ints, heads: TaskHeads, config: DualEncoderConfig) -> Tensor:
        """Compute the cross-entropy of the relation."""
        logits = heads.inference(*vectors)
        return inference_loss(logits, torch.from_numpy(self.labels[rows]).to(logits.device))


def prepare_tasks(encoder: DualEncoder, tasks: Tasks) -> list[PreparedTask]:
    """Tokenise the tasks; translation comes first.

    Raises:
        TrainingError: a task has fewer than two examples.
    """

    def read(texts: Sequence[str]) -> SentenceBatch:
        return SentenceBatch.of(encoder.ids_of(texts))

    prepared: list[PreparedTask] = []
    for pairs in tasks.translation:
        columns = read(pairs.first), read(pairs.second)
        prepared.append(Translation(f"{pairs.source}-{pairs.target}", columns, len(pairs)))
    for talk in tasks.dialogues:
        columns = read(talk.comments), read(talk.responses)
        prepared.append(Conversation(f"conversation {talk.language}", columns, len(columns[0])))
    for text in tasks.running_text:
        prepared.append(_quick_thought(text, read))
    for pairs_of in tasks.nli:
        columns = read(pairs_of.premises), read(pairs_of.hypotheses)
        labels = np.asarray(pairs_of.labels, dtype=np.int64)
        prepared.append(Inference(f"nli {pairs_of.language}", columns, len(labels), labels))
    for task in prepared:
        if task.size < 2:
            raise TrainingError(
                f"the task {task.name} has {task.size} examples, and each is ranked against others; add more text"
            )
    return prepared


def _quick_thought(text: RunningText, read: Callable[[Sequence[str]], SentenceBatch]) -> QuickThought:
    sentences = read([sentence for document in text.documents for sentence in document])
    middle, begin = [np.empty(0, dtype=np.int64)], 0
    for document in text.documents:
        middle.append(np.arange(begin + 1, begin + len(document) - 1))
        begin += len(document)
    rows = np.concatenate(middle)
    return QuickThought(f"quick-thought {text.language}", (sentences,), len(rows), rows)


def _phi(vectors: Tensor, config: DualEncoderConfig) -> Tensor:
    """Return a head's vectors, normalised if the encoder's are."""
    return F.normalize(vectors, dim=-1) if config.normalised else vectors


ROWS = 256


def mine(
    encoder: DualEncoder,
    columns: Sequence[SentenceBatch],
    config: DualEncoderConfig,
    rng: np.random.Generator,
) -> list[Ints]:
    """Find hard negatives: for each pair, the nearest neighbours by cosine on the same side.

    Args:
        encoder: trained on translation.
        columns: sources and targets.
        config: the number of negatives per pair, the size of the pool, and whether targets are ranked, too.
        rng: draws the pool.

    Returns:
        For each ranked side, rows (N, H), nearest first. Pairs with the same source or the same target are excluded; H
        is smaller than the configured number if a pair does not have as many others.
    """
    pool = np.sort(rng.permutation(len(columns[0]))[: config.mining_pool])
    same = [_numbers(column) for column in columns]
    ranked = columns if config.bidirectional else columns[:1]
    return [nearest_in_pool(encode(encoder, column), pool, same, config.hard_negatives) for column in ranked]


def nearest_in_pool(vectors: Tensor, pool: Ints, same: Sequence[Ints], count: int) -> Ints:
    """Return the rows (N, `count` or fewer) of each row's nearest neighbours among `pool`, excluding equal rows.

    Args:
        vectors: (N, dim).
        pool: rows that can be neighbours.
        same: arrays (N,); two rows are equal if they have the same number in one of them.
        count: number of neighbours.
    """
    units = F.normalize(vectors, dim=-1)
    of_pool = torch.from_numpy(pool).to(units.device)
    numbers = [torch.from_numpy(keys).to(units.device) for keys in same]
    nearest, count = [], min(count, len(pool))
    for rows in torch.arange(len(units), device=units.device).split(ROWS):
        cosine = units[rows] @ units[of_pool].T
        for keys in numbers:
            cosine.masked_fill_(keys[rows].unsqueeze(1) == keys[of_pool], -torch.inf)
        best = cosine.topk(count, dim=1)
        count = min(count, int((best.values > -torch.inf).sum(dim=1).min()))
        nearest.append(of_pool[best.indices])
    return torch.cat([part[:, :count] for part in nearest]).cpu().numpy()


@torch.no_grad()
def encode(encoder: DualEncoder, sentences: SentenceBatch) -> Tensor:
    """Return vectors (N, dim), computed without gradient in evaluation mode."""
    counts = np.diff(sentences.ends, prepend=0)
    out = torch.empty(len(sentences), encoder.dim, device=encoder.device)
    order = np.argsort(counts, kind="stable")
    with evaluation_mode(encoder):
        for begin in range(0, len(order), ROWS):
            rows = order[begin : begin + ROWS]
            out[torch.from_numpy(rows).to(out.device)] = encoder(encoder.batch(sentences.take(rows)))
    return out


def _numbers(sentences: SentenceBatch) -> Ints:
    """Number the sentences; those of the same words have the same number."""
    seen: dict[bytes, int] = {}
    parts = np.split(sentences.ids, sentences.ends[:-1])
    return np.array([seen.setdefault(part.tobytes(), len(seen)) for part in parts], dtype=np.int64)
