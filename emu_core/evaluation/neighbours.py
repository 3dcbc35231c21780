"""Nearest neighbours of chosen sentences, and which sentences changed theirs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import codes, directions, id_keys, rows_by_language
from emu_core.evaluation.retrieval import met_rows, nearest_rows


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest neighbours of Q sentences, the nearest first.

    Attributes:
        rows: (Q, k) row numbers; -1 where a sentence has fewer than k.
        cosines: (Q, k), NaN there.
    """

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]


@dataclass(frozen=True)
class ChangeCounts:
    """How many sentences changed their nearest neighbour, and how; the four add up to all sentences.

    Attributes:
        mended: the old neighbour had another intent, the new one has the sentence's own.
        broken: the other way round.
        moved: another neighbour, as right or as wrong as the old one.
        same: the same neighbour.
    """

    mended: int
    broken: int
    moved: int
    same: int


@dataclass(frozen=True, eq=False)
class ChangedNeighbours:
    """Each of N sentences' nearest neighbour by the base and by the specialised encoder.

    Attributes:
        old: (N,) row number of the neighbour by the base encoder.
        new: (N,) the same by the specialised encoder.
        old_cosine: (N,) cosine of the sentence and its old neighbour by the base encoder.
        new_cosine: (N,) cosine of the sentence and its new neighbour by the specialised encoder.
        was_right: (N,) whether the old neighbour has the sentence's intent.
        now_right: (N,) whether the new one has.
        counts: over all sentences.
        by_language: over each language's sentences, English first.
    """

    old: NDArray[np.int64]
    new: NDArray[np.int64]
    old_cosine: NDArray[np.float32]
    new_cosine: NDArray[np.float32]
    was_right: NDArray[np.bool_]
    now_right: NDArray[np.bool_]
    counts: ChangeCounts
    by_language: dict[str, ChangeCounts]

    @property
    def mended(self) -> NDArray[np.bool_]:
        """(N,) whether the neighbour was wrong and is right now."""
        return ~self.was_right & self.now_right

    @property
    def broken(self) -> NDArray[np.bool_]:
        """(N,) whether the neighbour was right and is wrong now."""
        return self.was_right & ~self.now_right


def nearest(
    vectors: NDArray[np.floating], query_rows: Sequence[int], k: int, ids: Sequence[str] | None = None
) -> Neighbours:
    """Find the k nearest sentences by cosine of each of Q sentences.

    Args:
        vectors: (N, d), the queries among them.
        query_rows: Q row numbers.
        k: neighbours a query, at least 1; N - 1 are returned where there are fewer than k others.
        ids: N ids; a sentence then never meets its own id, so no translation of it. It never meets itself.

    Raises:
        DataError: a vector is zero or not finite, a row number or k is out of range, or the lengths differ.
    """
    units = directions(vectors)
    queries = np.asarray(query_rows, dtype=np.int64).reshape(-1)
    if len(queries) and not 0 <= queries.min() <= queries.max() < len(units):
        raise DataError(f"there are rows 0 to {len(units) - 1:,} only; choose the sentences again")
    if k < 1:
        raise DataError(f"{k} neighbours can't be looked for; ask for 1 or more")
    keys = id_keys([""] * len(units) if ids is None else ids, len(units))
    return Neighbours(*nearest_rows(units[queries], keys[queries], units, keys, min(k, len(units) - 1)))


def changed_neighbours(
    base: NDArray[np.floating],
    specialised: NDArray[np.floating],
    intents: Sequence[str],
    languages: Sequence[str],
    ids: Sequence[str],
) -> ChangedNeighbours:
    """Compare each sentence's nearest neighbour, over all languages at once, by two encoders.

    A sentence never meets its own id; ties are broken as in `leave_one_out`.

    Args:
        base: (N, d), by the base encoder.
        specialised: (N, e), by the specialised encoder.
        intents: N intents.
        languages: N language codes.
        ids: N ids; "" is no id.

    Raises:
        DataError: a vector is zero or not finite, a sentence has no other to be compared with, or the lengths
            differ.
    """
    if len(base) != len(specialised):
        raise DataError(
            f"{len(base):,} and {len(specialised):,} vectors can't be paired; encode the same sentences"
        )
    labels = codes(intents, len(base), "intents")
    of_language = rows_by_language(languages, len(base))
    keys = id_keys(ids, len(base))
    (old, old_cosine), (new, new_cosine) = (_nearest_other(vectors, keys) for vectors in (base, specialised))
    was_right, now_right = labels[old] == labels, labels[new] == labels
    kinds = np.where(
        was_right != now_right, now_right, 2 + (old == new)
    )  # 1 mended, 0 broken, 2 moved, 3 same
    return ChangedNeighbours(
        old,
        new,
        old_cosine,
        new_cosine,
        was_right,
        now_right,
        counts=_counts(kinds),
        by_language={language: _counts(kinds[rows]) for language, rows in of_language.items()},
    )


def _nearest_other(
    vectors: NDArray[np.floating], keys: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    units = directions(vectors)
    rows, cosines = nearest_rows(units, keys, units, keys)
    return met_rows(rows[:, 0], np.arange(len(units)), "the data"), cosines[:, 0]


def _counts(kinds: NDArray[np.int64]) -> ChangeCounts:
    broken, mended, moved, same = np.bincount(kinds, minlength=4).tolist()
    return ChangeCounts(mended, broken, moved, same)
