"""Parallel text as BiCVM trains on it: word numbers one after another, and where sentences or documents begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from emu_core.config.bicvm import BicvmConfig
from emu_core.data.parallel.text import ParallelText
from emu_core.data.wording import shown
from emu_core.encoders.bicvm.encoder import BicvmEncoder
from emu_core.errors import TrainingError

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Side:
    """The sentences, or documents, of one language.

    Attributes:
        ids: (T,) the words of all.
        before: (T,) the word before each in its sentence, 0 before the first.
        starts: (N + 1,) where each begins; the last is T.
    """

    ids: Rows
    before: Rows
    starts: Rows

    def __len__(self) -> int:
        """Return N."""
        return len(self.starts) - 1

    def take(self, rows: Rows) -> tuple[Rows, Rows, Rows]:
        """Return the words of the given rows, the words before them, and where each row begins."""
        begin, lengths = self.starts[rows], self.starts[rows + 1] - self.starts[rows]
        offsets = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) + np.repeat(begin - offsets, lengths)
        return self.ids[places], self.before[places], offsets


@dataclass(frozen=True, eq=False)
class Corpus:
    """One language pair.

    Attributes:
        name: such as en-de.
        first: N sentences or documents of the first language.
        second: their N translations.
        left_out: pairs of which one side has no known word.
    """

    name: str
    first: Side
    second: Side
    left_out: int = 0

    def __len__(self) -> int:
        """Return N."""
        return len(self.first)


def corpus_of(encoder: BicvmEncoder, text: ParallelText, config: BicvmConfig) -> Corpus:
    """Number the words of a parallel text.

    A pair of documents is one pair to train on; its vectors are the sums of its sentences' vectors. What is left at
    the end of a text, or of a document, shorter than `document_sentences`, is a document too. A pair of which one side
    has no known word is left out.

    Raises:
        TrainingError: its own documents are asked for, and the text has none; or fewer than two pairs are left.
    """
    starts = document_starts(text, config.document_sentences)
    first, second = (
        _side(encoder, texts, language, starts)
        for texts, language in ((text.first, text.source), (text.second, text.target))
    )
    kept = np.flatnonzero((np.diff(first.starts) > 0) & (np.diff(second.starts) > 0))
    if len(kept) < 2:
        raise TrainingError(
            f"{shown(text.name)} has {len(kept)} pairs with a known word on both sides, and a pair needs others as "
            "its noise; give more text, or lower document_sentences"
        )
    left_out = len(first) - len(kept)
    if left_out:
        first, second = _kept(first, kept), _kept(second, kept)
    return Corpus(f"{text.source}-{text.target}", first, second, left_out)


def document_starts(text: ParallelText, sentences: int) -> Rows:
    """Return the rows at which pairs of so many sentences begin, or for 0 the text's own documents.

    Raises:
        TrainingError: the text has no documents of its own.
    """
    if sentences == 0:
        if not text.documents:
            raise TrainingError(
                f"{shown(text.name)} does not say where its documents begin; set document_sentences to a number of "
                "sentences"
            )
        return np.asarray(text.documents, dtype=np.int64)
    documents = text.documents if sentences > 1 and text.documents else (0,)
    ends = (*documents[1:], len(text))
    return np.concatenate([np.arange(a, b, sentences) for a, b in zip(documents, ends, strict=True)])


def _side(encoder: BicvmEncoder, texts: Sequence[str], language: str, starts: Rows) -> Side:
    sentences = encoder.token_ids(texts, [language] * len(texts))
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    ids = np.fromiter((word for sentence in sentences for word in sentence), np.int64, lengths.sum())
    at = np.concatenate([[0], np.cumsum(lengths)])
    before = np.roll(ids, 1)
    before[at[:-1][lengths > 0]] = 0
    return Side(ids, before, at[np.append(starts, len(texts))])


def _kept(side: Side, rows: Rows) -> Side:
    ids, before, offsets = side.take(rows)
    return Side(ids, before, np.append(offsets, len(ids)))


def other_rows(rows: Rows, count: int, pairs: int, rng: np.random.Generator) -> Rows:
    """Draw `count` of the other rows for each of B rows, evenly and with repeats: (B, count)."""
    return (rows[:, None] + rng.integers(1, pairs, (len(rows), count))) % pairs


def tensor(values: NDArray[Any], device: torch.device) -> Tensor:
    """Return the numbers as a tensor on a device."""
    return torch.from_numpy(values).to(device)
