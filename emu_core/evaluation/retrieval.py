"""Nearest neighbours by cosine with the tie rule of all measures, and FMDA's two retrieval tasks (section 4.3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.data.cleaning import normalised
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, check_dimensions, check_paired, codes, id_keys, unit_vectors

TIE = 1e-6
"""Cosines this close to the highest count as equal to it. float32 is no more precise, and its last digits change
with the order in which a matrix product sums, so that one of two equal sentences would win at random."""

BLOCK = 2**22
"""Cosines held in memory at once (16 MB)."""
# Groups of columns: so many for each column that is sought, so that its group seldom has another of them, and in a wide
# matrix more, since groups of few columns are quickly looked through.
_STRIDES, _MOST_STRIDES = 32, 1024


def blocks(rows: int, columns: int, *, least: int = 1) -> Iterator[slice]:
    """Yield slices of rows, each `least` rows or as many as have at most `BLOCK` numbers in all columns together."""
    step = max(1, least, BLOCK // columns)
    for start in range(0, rows, step):
        yield slice(start, start + step)


def nearest_rows(
    queries: NDArray[np.float32],
    query_keys: NDArray[np.int64],
    pool: NDArray[np.float32],
    pool_keys: NDArray[np.int64],
    k: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return each query's k nearest rows of the pool, the nearest first.

    The nearest is the row with the highest cosine; among equals (within `TIE`) the one that comes first in the
    pool. The second nearest is the nearest of the rest, and so on.

    Args:
        queries: (Q, d), unit vectors.
        query_keys: (Q,); a query never meets a pool row of its own key.
        pool: (P, d), unit vectors.
        pool_keys: (P,).
        k: neighbours a query.

    Returns:
        Row numbers of the pool (Q, k) and cosines (Q, k); -1 and NaN where the query may meet fewer than k rows.

    Raises:
        DataError: queries and pool have vectors of different lengths.
    """
    check_dimensions(queries, pool)
    rows = np.empty((len(queries), k), dtype=np.int64)
    cosines = np.empty((len(queries), k), dtype=np.float32)
    for block in blocks(len(queries), len(pool)):
        all_cosines = queries[block] @ pool.T  # (B, P)
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
        scores: (B, P).
        k: at most P.
        tolerance: scores that differ by at most this, or (B, 1) for each row, are equal; the first of them is best.
    """
    if k <= 1:
        return best_of(np.broadcast_to(np.arange(scores.shape[1]), scores.shape), scores, 1, tolerance)
    rows, columns, _ = near_columns(scores, k, tolerance)
    return best_of(*padded(len(scores), rows, columns, scores[rows, columns]), k, tolerance)


def near_columns(
    scores: NDArray[Any], k: int, slack: float | NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Find the k highest scores of each row, all that are at most `slack` below the k-th of them, and a few more.

    Args:
        scores: (B, P).
        k: at most P.
        slack: one number, or (B, 1).

    Returns:
        Row and column of each of the n scores found, (n,) each, sorted by row and then by column; and a number (B, 1)
        that the scores found reach, while all others are lower.
    """
    count, width = scores.shape
    strides = max(_STRIDES * k, min(_MOST_STRIDES, width // 8))
    depth = width // strides
    if depth < 2:
        bound = np.partition(scores, width - k, axis=1)[:, width - k, None] - slack
        rows, columns = np.nonzero(scores >= bound)
        return rows, columns, bound
    # The k-th highest of the maxima of groups of columns is at most the k-th highest score, and seldom lower. A group
    # has every `strides`-th column, so that a maximum runs over whole rows of memory.
    highest = scores[:, : strides * depth].reshape(count, depth, strides).max(axis=1)
    rest = width - strides * depth
    np.maximum(highest[:, :rest], scores[:, width - rest :], out=highest[:, :rest])
    bound = np.partition(highest, strides - k, axis=1)[:, strides - k, None] - slack
    rows, groups = np.nonzero(highest >= bound)
    columns = groups[:, None] + strides * np.arange(depth + 1)
    members = scores[rows[:, None], np.minimum(columns, width - 1)]
    is_near = (members >= bound[rows]) & (columns < width)
    rows, columns = np.repeat(rows, is_near.sum(axis=1)), columns[is_near]
    order = np.lexsort((columns, rows))
    return rows[order], columns[order], bound


def padded(
    count: int, rows: NDArray[np.int64], columns: NDArray[np.int64], scores: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the n columns and scores of `near_columns` as arrays (count, m), filled up with column 0 and -inf."""
    first = np.searchsorted(rows, np.arange(count + 1))
    places = np.arange(len(rows)) - first[rows]
    shape = count, int(np.diff(first).max(initial=0))
    table, values = np.zeros(shape, dtype=np.int64), np.full(shape, -np.inf, dtype=np.float32)
    table[rows, places], values[rows, places] = columns, scores
    return table, values


def best_of(
    columns: NDArray[np.int64], scores: NDArray[np.float32], k: int, tolerance: float | NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return what `best_columns` does, of scores (B, m) of columns (B, m) that ascend in each row; m is at least k."""
    all_rows = np.arange(len(scores))
    if k > 1:
        scores = scores.copy()
    best_columns = np.empty((len(scores), k), dtype=np.int64)
    best = np.empty((len(scores), k), dtype=np.float32)
    for rank in range(k):
        first = (scores >= scores.max(axis=1, keepdims=True) - tolerance).argmax(axis=1)  # the first True
        best_columns[:, rank], best[:, rank] = columns[all_rows, first], scores[all_rows, first]
        if rank < k - 1:
            scores[all_rows, first] = -np.inf
    return best_columns, best


def ranks_before(
    scores: NDArray[np.float32], right_columns: NDArray[np.int64], tolerance: float | NDArray[np.float32]
) -> NDArray[np.bool_]:
    """Return which columns of `scores` (B, P) rank before each row's own column (B, 1).

    These have a higher score, or an equal one (within `tolerance`, see `best_columns`) and come first.
    """
    score = np.take_along_axis(scores, right_columns, axis=1)
    return (scores > score + tolerance) | (
        (scores >= score - tolerance) & (np.arange(scores.shape[1]) < right_columns)
    )


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The rows and cosines (Q, k) of Q sentences' nearest neighbours, the nearest first; -1 and NaN for none."""

    rows: NDArray[np.int64]
    cosines: NDArray[np.float32]


def nearest(
    vectors: Vectors, query_rows: Sequence[int], k: int, ids: Sequence[str] | None = None
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
        raise DataError(f"can't find {k} neighbours; ask for 1 or more")
    keys = id_keys([""] * len(units) if ids is None else ids, len(units))
    return Neighbours(*nearest_rows(units[queries], keys[queries], units, keys, min(k, len(units) - 1)))


@dataclass(frozen=True, eq=False)
class TranslationRetrieval:
    """Acc@1 of N queries of one language among the N sentences of another.

    Attributes:
        correct: (N,) whether the query's nearest neighbour is its translation, or has its translation's text.
        nearest: (N,) row number of that neighbour.
    """

    correct: NDArray[np.bool_]
    nearest: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """Percent of queries that are right."""
        return 100 * float(self.correct.mean())


def translation_retrieval(
    queries: Vectors, pool: Vectors, pool_texts: Sequence[str] | None = None
) -> TranslationRetrieval:
    """Find each sentence's nearest neighbour by cosine among all translations; swap the two for the other direction.

    Among rows whose cosines are equal (within 1e-6), the one that comes first is the nearest: an encoder that gives all
    sentences one vector has 1 of N right.

    Args:
        queries: (N, d); row i means what row i of the pool means.
        pool: (N, d).
        pool_texts: the pool's N sentences; a neighbour with the translation's text then counts as right. None means
            that all differ.

    Raises:
        DataError: a vector is zero or not finite, or the lengths differ.
    """
    check_paired(queries, pool)
    units, pool_units = unit_vectors(queries), unit_vectors(pool)
    all_rows = np.arange(len(units))
    texts = (
        all_rows if pool_texts is None else codes(normalised(pool_texts), len(pool), "sentences of the pool")
    )
    neighbours, _ = nearest_rows(units, all_rows, pool_units, np.full(len(pool), -1))  # no row is excluded
    nearest = neighbours[:, 0]
    return TranslationRetrieval(texts[nearest] == texts, nearest)


@dataclass(frozen=True, eq=False)
class TemplateRetrieval:
    """The ranks (N, K), from 1, ascending, of the K targets of each of N sources among the targets of all."""

    ranks: NDArray[np.int64]

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(N,) whether the nearest neighbour is one of the source's targets."""
        return self.ranks[:, 0] == 1

    @property
    def average_precision(self) -> NDArray[np.float64]:
        """(N,) AP = 1/K sum over k of k / rank_k, where rank_k is the k-th of the source's ranks; 0 to 1."""
        count = self.ranks.shape[1]
        return np.asarray((np.arange(1, count + 1) / self.ranks).mean(axis=1))

    @property
    def accuracy(self) -> float:
        """Acc@1 in percent."""
        return 100 * float(self.correct.mean())

    @property
    def mean_average_precision(self) -> float:
        """MAP in percent: the mean of the average precisions."""
        return 100 * float(self.average_precision.mean())


def template_retrieval(
    sources: Vectors, targets: Vectors, target_texts: Sequence[str] | None = None
) -> TemplateRetrieval:
    """Rank each source's targets by cosine in the pool of all targets; no source is in the pool.

    The rank of a target is one more than the number of rows with a higher cosine, or an equal one (within 1e-6) and an
    earlier place in the pool.

    Args:
        sources: (N, d).
        targets: (N * K, d): the K targets of the first source, then those of the second, and so on.
        target_texts: their N * K sentences; a sentence that is a target of several sources is then in the pool
            once, where it first occurs. None means that all differ.

    Raises:
        DataError: a vector is zero or not finite, the sources have different numbers of targets, a source has two
            targets of one text, or the lengths differ.
    """
    units, target_units = unit_vectors(sources), unit_vectors(targets)
    targets_per_query, over = divmod(len(target_units), len(units))
    if over or not targets_per_query or units.shape[1] != target_units.shape[1]:
        raise DataError(
            f"{target_units.shape[0]:,} targets of {target_units.shape[1]} dimensions can't be divided among "
            f"{units.shape[0]:,} sources of {units.shape[1]}; give each source as many, by the same encoder"
        )
    texts = np.arange(len(target_units))
    if target_texts is not None:
        texts = codes(normalised(target_texts), len(target_units), "targets' sentences")
    # Texts are numbered as they first occur, so that their first rows are the pool in its order.
    _, first = np.unique(texts, return_index=True)
    target_rows = texts.reshape(len(units), targets_per_query)  # (N, K), places in the pool
    if (np.diff(np.sort(target_rows, axis=1), axis=1) == 0).any():
        raise DataError("a source has two targets of one text; give it different ones")
    pool, ranks = target_units[first], np.empty(target_rows.shape, dtype=np.int64)
    for block in blocks(len(units), len(pool)):
        cosines = units[block] @ pool.T  # (B, P)
        for k in range(targets_per_query):
            ranks[block, k] = 1 + ranks_before(cosines, target_rows[block, k, None], TIE).sum(axis=1)
    ranks.sort(axis=1)
    # Equality within a tolerance can run in a chain, along which two targets would share a rank.
    return TemplateRetrieval(np.maximum(ranks, np.arange(1, targets_per_query + 1)))
