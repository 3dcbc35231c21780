"""Nearest neighbours by cosine, and the one tie rule that every measure shares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import check_dimensions, id_keys, unit_vectors

TIE = 1e-6
"""Cosines this close to the highest are equal to it: float32 has no more places, and the last of them change
with the order in which a matrix product sums, so that two equal sentences would win at random."""

BLOCK = 2**22
"""Cosines held in memory at once (16 MB)."""


def nearest_rows(
    queries: NDArray[np.float32],
    query_keys: NDArray[np.int64],
    pool: NDArray[np.float32],
    pool_keys: NDArray[np.int64],
    k: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return each query's k nearest rows of the pool, the nearest first.

    The nearest is the row with the highest cosine; among equals (within `TIE`) the one that comes first in the
    pool. The second nearest is the nearest of what is left, and so on.

    Args:
        queries: (Q, d), unit vectors.
        query_keys: (Q,); a query never meets a pool row of its own key.
        pool: (P, d), unit vectors.
        pool_keys: (P,).
        k: neighbours a query.

    Returns:
        Row numbers of the pool (Q, k) and cosines (Q, k); -1 and NaN where the pool has fewer than k rows that
        the query may meet.

    Raises:
        DataError: queries and pool have vectors of different lengths.
    """
    check_dimensions(queries, pool)
    rows = np.empty((len(queries), k), dtype=np.int64)
    cosines = np.empty((len(queries), k), dtype=np.float32)
    step = max(1, BLOCK // len(pool))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        all_cosines = queries[block] @ pool.T  # (step, P)
        all_cosines[query_keys[block, None] == pool_keys] = -np.inf
        rows[block], cosines[block] = best_columns(all_cosines, k, TIE)
    none = np.isneginf(cosines)
    rows[none], cosines[none] = -1, np.nan
    return rows, np.clip(cosines, -1, 1, out=cosines)


def best_columns(
    scores: NDArray[np.float32], k: int, tolerance: float | NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the columns of the k best scores of each row, and those scores, (B, k) each, the best first.

    Args:
        scores: (B, P); it is overwritten.
        k: at most P.
        tolerance: scores that differ by no more than this, or (B, 1) for each row, are equal; the first is then best.
    """
    columns = np.empty((len(scores), k), dtype=np.int64)
    best = np.empty((len(scores), k), dtype=np.float32)
    each = np.arange(len(scores))
    for place in range(k):
        first = (scores >= scores.max(axis=1, keepdims=True) - tolerance).argmax(axis=1)  # the first True
        columns[:, place], best[:, place] = first, scores[each, first]
        scores[each, first] = -np.inf
    return columns, best


def ranks_before(
    scores: NDArray[np.float32], own: NDArray[np.int64], tolerance: float | NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Return which columns (B, P) rank before each row's own: a higher score, or an equal one that comes first.

    Args:
        scores: (B, P).
        own: (B, 1) the column of each row.
        tolerance: see `best_columns`.
    """
    score = np.take_along_axis(scores, own, axis=1)
    return (scores > score + tolerance) | ((scores >= score - tolerance) & (np.arange(scores.shape[1]) < own))


def met_rows(found: NDArray[np.int64], queries: NDArray[np.int64], pool: str) -> NDArray[np.int64]:
    """Return `found` (Q,), the nearest row of each query in `pool`, after checking that each query has one.

    Args:
        found: row numbers of the pool, -1 for none.
        queries: the queries' own row numbers.
        pool: what the pool is, for the error.

    Raises:
        DataError: a query has nothing to be compared with.
    """
    if len(alone := queries[found < 0]):
        raise DataError(
            f"the sentence of row {alone[0]} (from 0) has no sentence of another id in {pool} to be compared with; "
            "add some, or leave that language out"
        )
    return found


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest neighbours of Q sentences, the nearest first.

    Attributes:
        rows: (Q, k) row numbers; -1 where a sentence has fewer than k.
        cosines: (Q, k), NaN there.
    """

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]


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
    units = unit_vectors(vectors)
    queries = np.asarray(query_rows, dtype=np.int64).reshape(-1)
    if len(queries) and not 0 <= queries.min() <= queries.max() < len(units):
        raise DataError(f"there are rows 0 to {len(units) - 1:,} only; choose the sentences again")
    if k < 1:
        raise DataError(f"{k} neighbours can't be looked for; ask for 1 or more")
    keys = id_keys([""] * len(units) if ids is None else ids, len(units))
    return Neighbours(*nearest_rows(units[queries], keys[queries], units, keys, min(k, len(units) - 1)))
