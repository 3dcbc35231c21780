"""Training of BiCVM: eq. 7 by AdaGrad, on one parallel text or - as BiCVM+ - on several that share a language."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from emu_core.config.bicvm import BicvmConfig
from emu_core.data.parallel_text import ParallelText
from emu_core.encoders.bicvm.composition import compose
from emu_core.encoders.bicvm.encoder import BicvmEncoder
from emu_core.errors import CancelledError, TrainingError
from emu_core.losses.noise_contrastive_hinge import batch_hinge, noise_contrastive_hinge
from emu_core.runs.checkpoint import Checkpoint
from emu_core.trainers.bicvm_adagrad import AdaGrad
from emu_core.trainers.bicvm_corpus import (
    Corpus,
    Rows,
    Side,
    corpus_of,
    document_starts,
    other_rows,
    tensor,
)
from emu_core.trainers.loop import Fitted, Record

Numbers = NDArray[np.float64]


@dataclass
class _Position:
    """How far training is.

    Attributes:
        epoch: from 1.
        batch: batches of this epoch done.
        step: steps done in all.
        losses: sum of the losses of this epoch's batches, in their order.
        best_score: -1 before the first epoch.
        best_epoch: 0 before the first.
    """

    epoch: int = 1
    batch: int = 0
    step: int = 0
    losses: float = 0.0
    best_score: float = -1.0
    best_epoch: int = 0


@dataclass
class _State:
    """What steps work on.

    Attributes:
        table: (words + 1, d), the encoder's own.
        optimizer: with its sums.
        counts: (words + 1,) how often each word stands in all sentences of the corpora, 1 at least.
        best: where a score chooses, the best epoch's word vectors.
        at: how far training is.
    """

    table: Tensor
    optimizer: AdaGrad
    counts: Numbers
    best: Tensor | None = None
    at: _Position = field(default_factory=_Position)


@dataclass(frozen=True, eq=False)
class Batch:
    """Pairs of one corpus and the noise of each.

    Attributes:
        corpus: where they stand.
        rows: (B,) the pairs.
        second_noise: (B, k) rows of the second language, drawn for each pair; (B, 0) where the batch is the noise.
        first_noise: the same of the first language; (B, 0) where noise is for the first sentence only.
        draws: of the words that are left out.
    """

    corpus: Corpus
    rows: Rows
    second_noise: Rows
    first_noise: Rows
    draws: np.random.Generator


def untrained_encoder(pairs: Sequence[ParallelText], config: BicvmConfig, *, seed: int) -> BicvmEncoder:
    """An encoder with the vocabularies of these texts and random weights: what `fit_bicvm` takes.

    Raises:
        EncoderError: a language has no word that stands `config.min_count` times.
    """
    texts: dict[str, list[str]] = {}
    for text in pairs:
        texts.setdefault(text.source, []).extend(text.first)
        texts.setdefault(text.target, []).extend(text.second)
    return BicvmEncoder.of_texts(texts, config, seed=seed)


def fit_bicvm(
    encoder: BicvmEncoder,
    pairs: Sequence[ParallelText],
    config: BicvmConfig,
    *,
    seed: int,
    on_record: Callable[[Record], None],
    should_stop: Callable[[], bool],
    score: Callable[[], float] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Train word vectors in place.

    The objective is eq. 7, losses added up over all pairs of all texts. A batch has its own pairs' losses and, of each
    word's L2 term, the share that its pairs have of the word's occurrences: the steps of an epoch add up to the
    objective, and a step moves its own words only.

    Args:
        encoder: from `untrained_encoder`, or one to train further; on its device.
        pairs: one parallel text (BiCVM), or several that share a language (BiCVM+).
        config: hyper-parameters; `composition`, `dim`, `init_deviation` and `min_count` are the encoder's already.
        seed: of the order of pairs and of all noise; the same seed on the same CPU gives the same weights.
        on_record: called with a dict after each step and each epoch; losses are a pair's, on average.
        should_stop: asked before each step.
        score: held-out percent, asked after each epoch; the best epoch's weights are kept, of equals the first. Without
            it, the last epoch's.
        checkpoint: written now and then, and when training is stopped; if there is one already, training goes on from
            it, to the weights that an uninterrupted run has.

    Raises:
        TrainingError: no text, a text too short to train on, or a loss that is no longer a finite number.
        CancelledError: `should_stop` said so.
    """
    if not pairs:
        raise TrainingError("there is no parallel text to train on; name one or more")
    corpora = [corpus_of(encoder, text, config) for text in pairs]
    total = sum(map(len, corpora))
    table = encoder.table.detach()  # shares the encoder's memory
    counts = np.maximum(_counts(corpora, len(table)), 1)
    state = _State(table, AdaGrad(table, config.learning_rate), counts)
    if checkpoint is not None and (written := checkpoint.read()) is not None:
        _restore(state, *written)
    at = state.at
    while at.epoch <= config.epochs:
        for batch in _batches(corpora, config, seed, at):
            if should_stop():
                if checkpoint is not None:
                    _write(checkpoint, state)
                raise CancelledError(f"cancelled after {at.step} steps")
            losses = _step(state, batch, encoder, config)
            at.step, at.batch = at.step + 1, at.batch + 1
            at.losses += losses["loss"] * len(batch.rows)
            on_record(
                {"kind": "step", "step": at.step, "epoch": at.epoch, "pair": batch.corpus.name, **losses}
            )
            if checkpoint is not None and checkpoint.due:
                _write(checkpoint, state)
        record: Record = {"kind": "epoch", "epoch": at.epoch, "step": at.step, "loss": at.losses / total}
        if score is not None:
            record["dev_accuracy"] = reached = score()
            if reached > at.best_score:
                at.best_score, at.best_epoch, state.best = reached, at.epoch, table.clone()
        on_record(record)
        at.epoch, at.batch, at.losses = at.epoch + 1, 0, 0.0
    if state.best is not None:
        table.copy_(state.best)
    warnings = tuple(
        f"{corpus.left_out:,} of {corpus.left_out + len(corpus):,} pairs of {corpus.name} were left out, since one "
        "side has no word that was seen often enough"
        for corpus in corpora
        if corpus.left_out
    )
    return Fitted(at.best_epoch or config.epochs, warnings)


def most_steps(pairs: Sequence[ParallelText], config: BicvmConfig) -> int:
    """How many steps `fit_bicvm` takes, where no pair is left out for want of known words.

    Raises:
        TrainingError: a text has no documents of its own, and they are asked for.
    """
    sizes = [len(document_starts(text, config.document_sentences)) for text in pairs]
    return config.epochs * sum(math.ceil(size / config.batch_size) for size in sizes)


def _batches(corpora: Sequence[Corpus], config: BicvmConfig, seed: int, at: _Position) -> Iterator[Batch]:
    """The epoch's batches that are not done yet, of all corpora in turn as the shuffle has it, with fresh noise."""
    order = np.random.default_rng((seed, at.epoch))
    batches = [
        (corpus, rows)
        for corpus in corpora
        for rows in np.split(
            order.permutation(len(corpus)), np.arange(config.batch_size, len(corpus), config.batch_size)
        )
    ]
    for number in order.permutation(len(batches)).tolist()[at.batch :]:
        corpus, rows = batches[number]
        # A generator for each batch: a run that goes on in the middle of an epoch draws what it would have drawn.
        draws = np.random.default_rng((seed, at.epoch, number))
        second = other_rows(rows, config.noise, len(corpus), draws)
        first = other_rows(rows, config.noise if config.both_ways else 0, len(corpus), draws)
        yield Batch(corpus, rows, second, first, draws)


def _step(state: _State, batch: Batch, encoder: BicvmEncoder, config: BicvmConfig) -> dict[str, float]:
    first_words = _words(batch, batch.corpus.first, batch.first_noise, config.word_dropout)
    second_words = _words(batch, batch.corpus.second, batch.second_noise, config.word_dropout)
    counts = _counts([batch.corpus], len(state.table), batch.rows)
    # Only the words of this batch have a gradient.
    present = counts > 0
    present[0] = True  # what is before the first word; it has no gradient
    present[first_words.ids] = True
    present[second_words.ids] = True
    rows, place = np.flatnonzero(present), np.cumsum(present) - 1
    numbers = tensor(rows, state.table.device)
    part = state.table[numbers].requires_grad_()  # (R, d)
    first, second = (words.vectors(part, place, encoder) for words in (first_words, second_words))
    hinge = _hinge(first, second, batch, config)
    loss = hinge
    if config.l2_weight:
        share = tensor((counts[rows] / state.counts[rows]).astype(np.float32), part.device)  # (R,)
        loss = hinge + config.l2_weight / 2 * (share * part.square().sum(dim=1)).sum()
    (gradient,) = torch.autograd.grad(loss, part)
    values = {"hinge": hinge.item() / len(batch.rows), "loss": loss.item() / len(batch.rows)}
    _check_finite(values, state.at.step + 1)
    state.optimizer.step(numbers, gradient)
    return values


@dataclass(frozen=True, eq=False)
class _Words:
    """One side of a batch: the words of its sentences, each sentence once.

    Attributes:
        ids, before, offsets: as `compose` takes them.
        which: (B + noise,) number of the sentence of each pair, and of each noise sentence.
    """

    ids: Rows
    before: Rows
    offsets: Rows
    which: Rows

    def vectors(self, part: Tensor, place: Rows, encoder: BicvmEncoder) -> Tensor:
        """(B + noise, d), by the rows of the table that the batch has."""
        device = part.device
        ids, before, offsets = (
            tensor(values, device) for values in (place[self.ids], place[self.before], self.offsets)
        )
        distinct = compose(part, ids, before, offsets, encoder.composition)
        return F.embedding(tensor(self.which, device), distinct)


def _words(batch: Batch, side: Side, noise: Rows, dropout: float) -> _Words:
    distinct, which = np.unique(np.concatenate([batch.rows, noise.ravel()]), return_inverse=True)
    ids, before, offsets = side.take(distinct)
    if dropout:
        kept = batch.draws.random(len(ids)) >= dropout
        ids, before, offsets = ids[kept], before[kept], (np.cumsum(kept) - kept)[offsets]
    return _Words(ids, before, offsets, which)


def _counts(corpora: Sequence[Corpus], words: int, rows: Rows | slice = slice(None)) -> Numbers:
    """How often each word stands in the given rows of corpora: (words,)."""
    counts = np.zeros(words)
    for corpus in corpora:
        chosen = np.arange(len(corpus))[rows]
        for side in (corpus.first, corpus.second):
            counts += np.bincount(side.take(chosen)[0], minlength=words)
    return counts


def _hinge(first: Tensor, second: Tensor, batch: Batch, config: BicvmConfig) -> Tensor:
    """Eq. 7's first term for the batch, from the vectors of its sentences and, after them, of their noise."""
    count = len(batch.rows)
    a, b = first[:count], second[:count]
    if config.noise == 0:
        loss = batch_hinge(a, b, config.margin)
        return loss + batch_hinge(b, a, config.margin) if config.both_ways else loss
    shape = (count, config.noise, -1)
    loss = noise_contrastive_hinge(a, b, second[count:].view(shape), config.margin)
    if config.both_ways:
        loss = loss + noise_contrastive_hinge(b, a, first[count:].view(shape), config.margin)
    return loss


def _check_finite(losses: dict[str, float], step: int) -> None:
    for name, value in losses.items():
        if not math.isfinite(value):
            raise TrainingError(
                f"the {name} loss is {value} at step {step}; lower the learning rate and train again"
            )


def _write(checkpoint: Checkpoint, state: _State) -> None:
    tensors = {"table": state.table, "adagrad": state.optimizer.total}
    checkpoint.write(tensors | ({} if state.best is None else {"best": state.best}), asdict(state.at))


def _restore(state: _State, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    state.at = _Position(**facts)
    state.table.copy_(tensors["table"])
    state.optimizer.total.copy_(tensors["adagrad"])
    if "best" in tensors:
        state.best = tensors["best"].to(state.table.device)
