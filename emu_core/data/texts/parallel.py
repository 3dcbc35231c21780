"""Parallel text: sentences in one language and, row by row, their translations into another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import cleaned, normalised
from emu_core.data.texts.text import TrainingText
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError


@dataclass(frozen=True)
class ParallelText(TrainingText):
    """Sentence pairs of two languages.

    Attributes:
        source: the first language's code, such as en.
        target: the second language's; another one.
        first: N sentences of the first language, none of them blank.
        second: their N translations, in the same order.
        documents: the rows (from 0, rising, the first is 0) at which documents begin; empty if the text has none.
    """

    kind: ClassVar = "parallel"
    columns: ClassVar = {"first": "first", "second": "second"}
    source: str
    target: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    name: str
    documents: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise DataError(
                f"{shown(self.name)}: both sides are '{shown(self.source)}'; a text and its translation "
                "are of two languages"
            )
        if len(self.first) != len(self.second) or not self.first:
            raise DataError(
                f"{shown(self.name)} has {counted(len(self.first), 'sentence')} in {self.source} and "
                f"{len(self.second):,} in {self.target}; give each sentence its translation"
            )
        for code, side in ((self.source, self.first), (self.target, self.second)):
            if (blank := next((row for row, text in enumerate(side) if not cleaned(text)), None)) is not None:
                raise DataError(
                    f"{shown(self.name)}: sentence {blank + 1} in {code} is empty; remove the pair"
                )
        starts = (*self.documents, len(self.first))
        if self.documents and (starts[0] != 0 or any(a >= b for a, b in pairwise(starts))):
            raise DataError(
                f"{shown(self.name)}: documents begin at row 0 and at later rows of the text, each after the one before"
            )

    @property
    def languages(self) -> tuple[str, str]:
        """The two codes, source first."""
        return self.source, self.target

    def turned(self) -> "ParallelText":
        """Return the same pairs with source and target exchanged."""
        return replace(self, source=self.target, target=self.source, first=self.second, second=self.first)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "ParallelText":
        """Return the pairs of the given rows (rising, one or more), in the documents that they belong to."""
        chosen = np.asarray(rows, dtype=np.int64)
        starts: tuple[int, ...] = ()
        if self.documents:
            document_numbers = np.searchsorted(self.documents, chosen, side="right")
            starts = tuple(np.flatnonzero(np.diff(document_numbers, prepend=0)).tolist())
        first, second = (tuple(side[row] for row in chosen) for side in (self.first, self.second))
        return replace(self, first=first, second=second, documents=starts)

    def split(self, held_out: int | float, seed: int = 0) -> tuple["ParallelText", "ParallelText"]:
        """Return the pairs to train on and pairs held out, which have no sentence in common, each in the text's order.

        Pairs that share a sentence (whatever its case, width and spaces), directly or through others, stay together.

        Args:
            held_out: number of pairs, or share of them (a float between 0 and 1), to hold out at most; fewer are held
                out if groups of pairs with a sentence in common don't fit.
            seed: of the draw.

        Raises:
            DataError: nothing would be left on one of the sides.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        is_share = isinstance(held_out, float) and 0 < held_out < 1
        wanted = int(held_out * len(self)) if is_share else held_out
        if isinstance(wanted, float) or not 0 < wanted < len(self):
            raise DataError(
                f"{shown(self.name)}: {held_out} of {counted(len(self), 'pair')} can't be held out; choose a number "
                "of pairs, or a share between 0 and 1, that leaves some on both sides"
            )
        texts = np.array(normalised((*self.first, *self.second)), dtype=object)
        keys, distinct = pd.factorize(texts)
        ones, ends = np.ones(len(self), dtype=bool), (keys[: len(self)], keys[len(self) :])
        edges = coo_array((ones, ends), shape=(len(distinct), len(distinct)))
        # Pairs that share a sentence, directly or through others, are a connected component of the sentences.
        groups = connected_components(edges, directed=False)[1][ends[0]]
        sizes = np.bincount(groups)
        chosen, left = np.zeros(len(sizes), dtype=bool), wanted
        for group in np.random.default_rng(seed).permutation(len(sizes)):
            if sizes[group] <= left:
                chosen[group] = True
                left -= sizes[group]
                if not left:
                    break
        is_out = chosen[groups]
        if not is_out.any():
            raise DataError(
                f"{shown(self.name)}: no {counted(wanted, 'pair')} can be held out, because they share sentences with "
                "the others; remove repeated sentences"
            )
        return self.take(np.flatnonzero(~is_out)), self.take(np.flatnonzero(is_out))


def languages_of(texts: Sequence[ParallelText]) -> tuple[str, ...]:
    """Return the languages of parallel texts, each once."""
    return tuple(dict.fromkeys(code for text in texts for code in text.languages))


def names_of(texts: Sequence[ParallelText]) -> str:
    """Return the distinct names of the texts' files."""
    return ", ".join(dict.fromkeys(name for text in texts for name in text.name.split(", ")))
