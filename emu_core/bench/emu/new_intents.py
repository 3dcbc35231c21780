"""Halves of the intents: one has labels, the other is measured as intents that nobody has labelled yet."""

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np

from emu_core.data.sets import LabelledSet

LEAST_INTENTS = 4  # two with labels, and two to tell apart


def halves_of_intents(intents: Sequence[str], count: int | None = None) -> Iterator[frozenset[str]]:
    """Yield so many different random halves of the intents, or as many as there are; None yields all of them.

    The smaller half of an odd number is the one with labels.
    """
    names = np.unique(np.asarray(intents, dtype=str))
    size, seen, seed = len(names) // 2, set[frozenset[str]](), 0
    possible = comb(len(names), size)
    while len(seen) < min(possible, possible if count is None else count):
        half = frozenset(np.random.default_rng(seed).permutation(names)[:size].tolist())
        seed += 1
        if half not in seen:
            seen.add(half)
            yield half


def with_intents(labelled: LabelledSet, intents: frozenset[str]) -> LabelledSet:
    """Return the rows that have one of some intents."""
    rows = labelled.frame["intent"].isin(intents)
    return LabelledSet(labelled.frame[rows].reset_index(drop=True), labelled.name)
