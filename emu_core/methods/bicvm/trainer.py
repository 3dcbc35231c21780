"""Training of BiCVM (eq. 7) by AdaGrad, on one parallel text, or on several that share a language (BiCVM+)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from emu_core.data.texts.parallel import ParallelText
from emu_core.data.wording import shown
from emu_core.errors import Fix, TrainingError
from emu_core.losses.noise_contrastive_hinge import batch_hinge, noise_contrastive_hinge
from emu_core.methods.bicvm.encoder import BicvmEncoder, compose
from emu_core.methods.bicvm.settings import BicvmConfig
from emu_core.training.fit import Stage, Trainer

_Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Side:
    """N sentences, or documents, in one language."""

    words: _Rows  # (2, T) the words of all, and the word before each in its sentence, 0 for the first
    begins: _Rows  # (N,) where each sentence begins
    ends: _Rows  # (N,) where it ends

    def __len__(self) -> int:
        return len(self.begins)

    def take(self, rows: _Rows) -> tuple[_Rows, _Rows]:
        """Return `words` of the given rows, and where each row begins."""
        begin, lengths = self.begins[rows], self.ends[rows] - self.begins[rows]
        offsets = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(begin - offsets, lengths)
        return self.words[:, places], offsets


@dataclass(frozen=True, eq=False)
class Corpus:
    """N sentences or documents of one language pair."""

    name: str  # such as en-de
    first: _Side
    second: _Side  # their translations
    left_out: int = 0  # number of pairs that were left out, since one side has no known word

    def __len__(self) -> int:
        return len(self.first)


def corpus_of(encoder: BicvmEncoder, text: ParallelText, config: BicvmConfig) -> Corpus:
    """Number the words of a parallel text, and leave out pairs of which one side has no known word.

    Documents are pairs, too; their vectors are the sums of their sentences' vectors. The rest of a text or document
    that is shorter than `document_sentences` is also a document.

    Raises:
        TrainingError: the text has no documents of its own, or fewer than two pairs are left.
    """
    starts = document_starts(text, config.document_sentences)
    first, second = (
        _side(encoder, texts, language, starts)
        for texts, language in ((text.first, text.source), (text.second, text.target))
    )
    kept = np.flatnonzero((first.ends > first.begins) & (second.ends > second.begins))
    if len(kept) < 2:
        raise TrainingError(
            f"{shown(text.name)} has {len(kept)} pairs with a known word on both sides, and a pair needs others as "
            "its noise; use more text, or lower ",
            Fix("document_sentences"),
        )
    left_out = len(first) - len(kept)
    first, second = (
        replace(side, begins=side.begins[kept], ends=side.ends[kept]) for side in (first, second)
    )
    return Corpus(f"{text.source}-{text.target}", first, second, left_out)


def document_starts(text: ParallelText, sentences: int) -> _Rows:
    """Return the rows where documents of `sentences` sentences begin, or for 0 the text's own documents."""
    if sentences == 0:
        if not text.documents:
            raise TrainingError(
                f"{shown(text.name)} is not divided into documents; give the number of sentences of one: ",
                Fix("document_sentences"),
            )
        return np.asarray(text.documents, dtype=np.int64)
    documents = text.documents if sentences > 1 and text.documents else (0,)
    ends = (*documents[1:], len(text))
    return np.concatenate([np.arange(a, b, sentences) for a, b in zip(documents, ends, strict=True)])


def _side(encoder: BicvmEncoder, texts: Sequence[str], language: str, starts: _Rows) -> _Side:
    sentences = encoder.token_ids(texts, [language] * len(texts))
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    ids = np.fromiter((word for sentence in sentences for word in sentence), np.int64, lengths.sum())
    at = np.concatenate([[0], np.cumsum(lengths)])
    before = np.roll(ids, 1)
    before[at[:-1][lengths > 0]] = 0
    return _Side(np.stack([ids, before]), at[starts], at[np.append(starts[1:], len(texts))])


def other_rows(rows: _Rows, count: int, pairs: int, rng: np.random.Generator) -> _Rows:
    """Draw `count` other rows for each of B rows, uniformly and with replacement: (B, count)."""
    return (rows[:, None] + rng.integers(1, pairs, (len(rows), count))) % pairs


def tensor(values: NDArray[Any], device: torch.device) -> Tensor:
    """Return an array as a tensor on a device."""
    return torch.from_numpy(values).to(device)


_EPSILON = 1e-10  # AdaGrad's
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BicvmBatch:
    """Pairs of one corpus, and noise for each."""

    corpus: Corpus
    rows: _Rows  # (B,) the pairs
    second_noise: _Rows  # (B, k) in the second language; (B, 0) if the rest of the batch is the noise
    first_noise: _Rows  # the same in the first language; (B, 0) without `both_ways`, too
    draws: np.random.Generator  # for word dropout

    def __len__(self) -> int:
        return len(self.rows)


def untrained_encoder(pairs: Sequence[ParallelText], config: BicvmConfig, *, seed: int) -> BicvmEncoder:
    """Return an encoder with the vocabularies of these texts and random weights.

    Raises:
        EncoderError: a language has no word that occurs `config.min_count` times.
    """
    texts: dict[str, list[str]] = {}
    for text in pairs:
        texts.setdefault(text.source, []).extend(text.first)
        texts.setdefault(text.target, []).extend(text.second)
    return BicvmEncoder.of_texts(texts, config, seed=seed)


class AdaGrad:
    """AdaGrad (Duchi et al. 2011): elementwise steps of `learning_rate * gradient / sqrt(sum of squared gradients)`.

    Rows whose gradient is zero do not change, so that a step can omit them.

    Attributes:
        total: sums of squared gradients so far, in the shape of the table.
    """

    def __init__(self, table: Tensor, learning_rate: float) -> None:
        self._table = table
        self._learning_rate = learning_rate
        self.total = torch.zeros_like(table)

    @torch.no_grad()
    def step(self, rows: Tensor, gradient: Tensor) -> None:
        """Update distinct rows (R,) given their gradient (R, d)."""
        total = self.total[rows].addcmul_(gradient, gradient)
        self.total[rows] = total
        change = gradient / total.sqrt_().add_(_EPSILON)
        self._table.index_add_(0, rows, change, alpha=-self._learning_rate)


class BicvmTrainer(Trainer[BicvmBatch]):
    """Trains the word vectors of a BiCVM encoder.

    Attributes:
        encoder: trained in place.
        corpora: one per parallel text.
        table: (words + 1, d), the encoder's word vectors.
        optimizer: AdaGrad over the table.
    """

    weighs_by_size = True

    def __init__(
        self,
        encoder: BicvmEncoder,
        pairs: Sequence[ParallelText],
        config: BicvmConfig,
        *,
        seed: int,
        score: Callable[[], float] | None = None,
    ) -> None:
        """Number the words of the texts; several texts are joined by a language they share (BiCVM+).

        Args:
            encoder: from `untrained_encoder`, on its device.
            pairs: the parallel texts.
            config: the settings.
            seed: for the order of pairs and all noise; the same seed on the same CPU gives the same weights.
            score: measures a held-out score, which chooses the epoch; None takes the last one.

        Raises:
            TrainingError: there is no text, or one is too short.
        """
        if not pairs:
            raise TrainingError("there is no parallel text to train on; name one or more")
        self.model = self.encoder = encoder
        self.config, self.seed = config, seed
        self.corpora = [corpus_of(encoder, text, config) for text in pairs]
        steps = sum(math.ceil(len(corpus) / config.batch_size) for corpus in self.corpora)
        self.stages = [Stage(config.epochs, steps, score)]
        self.table = encoder.table.detach()  # shares the encoder's memory
        self.optimizer = AdaGrad(self.table, config.learning_rate)
        # The number of occurrences of each word, at least 1: (words + 1,).
        self._counts = np.maximum(_counts(self.corpora, len(self.table)), 1)

    def sentences(self, batch: BicvmBatch) -> int:
        """Return the number of sentences, without noise."""
        return 2 * len(batch)

    def batches(self, epoch: int, done: int) -> Iterator[BicvmBatch]:
        """Draw batches of all corpora in random order, with new noise."""
        config, order = self.config, np.random.default_rng((self.seed, epoch))
        batches = [
            (corpus, rows)
            for corpus in self.corpora
            for rows in np.split(
                order.permutation(len(corpus)), np.arange(config.batch_size, len(corpus), config.batch_size)
            )
        ]
        for number in order.permutation(len(batches)).tolist()[done:]:
            corpus, rows = batches[number]
            # A generator for each batch, so that training resumed within an epoch draws the same.
            draws = np.random.default_rng((self.seed, epoch, number))
            second = other_rows(rows, config.noise, len(corpus), draws)
            first = other_rows(rows, config.noise if config.both_ways else 0, len(corpus), draws)
            yield BicvmBatch(corpus, rows, second, first, draws)

    def step(self, batch: BicvmBatch) -> dict[str, float]:
        """Update the vectors of the batch's words; the losses are averages over pairs."""
        config, device = self.config, self.table.device
        both_sides = [
            _words(batch, batch.corpus.first, batch.first_noise, config.word_dropout),
            _words(batch, batch.corpus.second, batch.second_noise, config.word_dropout),
        ]
        counts = _counts([batch.corpus], len(self.table), batch.rows)
        # Only the words of this batch have a gradient.
        present = counts > 0
        present[0] = True  # the row before a sentence's first word, which has no gradient
        for side in both_sides:
            present[side.words] = True  # and the words before them, which may be dropped themselves
        rows, row_in_table = np.flatnonzero(present), np.cumsum(present) - 1
        numbers = tensor(rows, device)
        part = self.table[numbers].requires_grad_()  # (R, d)
        first, second = (side.vectors(part, row_in_table, self.encoder) for side in both_sides)
        hinge = _hinge(first, second, batch, config)
        loss = hinge
        if config.l2_weight:
            share = tensor((counts[rows] / self._counts[rows]).astype(np.float32), device)  # (R,)
            loss = hinge + config.l2_weight / 2 * (share * part.square().sum(dim=1)).sum()
        (gradient,) = torch.autograd.grad(loss, part)
        self.optimizer.step(numbers, gradient)
        return {"hinge": hinge.item() / len(batch), "loss": loss.item() / len(batch)}

    def facts(self, batch: BicvmBatch) -> dict[str, str]:
        """Return the language pair."""
        return {"pair": batch.corpus.name}

    def parts(self) -> dict[str, Tensor]:
        """Return the word vectors and AdaGrad's sums."""
        return {"table": self.table, "sums": self.optimizer.total}

    def warnings(self) -> list[str]:
        """Return how many pairs of each corpus were left out, if any."""
        return [
            f"{corpus.left_out:,} of {corpus.left_out + len(corpus):,} pairs of {corpus.name} were left out, since one "
            "side has no word that occurs often enough"
            for corpus in self.corpora
            if corpus.left_out
        ]

    def shortened(self, batch: BicvmBatch, size: int) -> BicvmBatch:
        """Return the first pairs, with their noise."""
        rows, second, first = batch.rows[:size], batch.second_noise[:size], batch.first_noise[:size]
        return replace(batch, rows=rows, second_noise=second, first_noise=first)


@dataclass(frozen=True, eq=False)
class _Words:
    """One side of a batch: the words of its distinct sentences, as for `compose`."""

    words: _Rows
    offsets: _Rows
    which: _Rows  # (B + noise,) the number of each pair's sentence, then of each noise sentence

    def vectors(self, part: Tensor, row_in_table: _Rows, encoder: BicvmEncoder) -> Tensor:
        """Compose the vectors (B + noise, d) from the batch's rows of the table."""
        (ids, before), offsets, which = (
            tensor(values, part.device) for values in (row_in_table[self.words], self.offsets, self.which)
        )
        return F.embedding(which, compose(part, ids, before, offsets, encoder.composition))


def _words(batch: BicvmBatch, side: _Side, noise: _Rows, dropout: float) -> _Words:
    distinct, which = np.unique(np.concatenate([batch.rows, noise.ravel()]), return_inverse=True)
    words, offsets = side.take(distinct)
    if dropout:
        kept = batch.draws.random(words.shape[1]) >= dropout
        words, offsets = words[:, kept], (np.cumsum(kept) - kept)[offsets]
    return _Words(words, offsets, which)


def _counts(corpora: Sequence[Corpus], words: int, rows: _Rows | slice = slice(None)) -> Numbers:
    """Count each word in the given rows of corpora: (words,)."""
    counts = np.zeros(words)
    for corpus in corpora:
        chosen = np.arange(len(corpus))[rows]
        for side in (corpus.first, corpus.second):
            counts += np.bincount(side.take(chosen)[0][0], minlength=words)
    return counts


def _hinge(first: Tensor, second: Tensor, batch: BicvmBatch, config: BicvmConfig) -> Tensor:
    """Compute eq. 7's first term, from the vectors of a batch's sentences followed by those of their noise."""
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
