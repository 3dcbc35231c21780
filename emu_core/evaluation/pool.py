"""Queries against a labelled pool from elsewhere: nearest-neighbour Acc@1."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import check_length, codes, id_keys, pair_name, rows_by_language, unit_vectors
from emu_core.evaluation.retrieval import TIE, met_rows, nearest_rows


@dataclass(frozen=True, eq=False)
class PoolAccuracy:
    """Acc@1 of queries against a pool.

    By pair means by "s-t": queries in s, pool rows in t. By language means queries in s against the whole pool.

    Attributes:
        accuracy: percent, by pair.
        correct: whether each query's nearest neighbour has its intent, by pair, in the order of `queries[s]`.
        nearest: row number in the pool of that neighbour, by pair.
        counts: number of queries, by pair.
        by_language: percent, by language.
        correct_by_language: as `correct`, by language.
        nearest_by_language: as `nearest`, by language.
        queries: row numbers of each language's queries, in their order.
    """

    accuracy: dict[str, float]
    correct: dict[str, NDArray[np.bool_]]
    nearest: dict[str, NDArray[np.int64]]
    counts: dict[str, int]
    by_language: dict[str, float]
    correct_by_language: dict[str, NDArray[np.bool_]]
    nearest_by_language: dict[str, NDArray[np.int64]]
    queries: dict[str, NDArray[np.int64]]


def pool_accuracy(
    query_vectors: NDArray[np.floating],
    query_intents: Sequence[str],
    query_languages: Sequence[str],
    pool_vectors: NDArray[np.floating],
    pool_intents: Sequence[str],
    pool_languages: Sequence[str],
    *,
    query_ids: Sequence[str] | None = None,
    pool_ids: Sequence[str] | None = None,
) -> PoolAccuracy:
    """Measure how often a query's nearest neighbour in a labelled pool has its intent.

    A query never meets a pool row of its own id; "" is no id. Among pool rows whose cosines are equal (within
    1e-6), the one that comes first is the nearest. An intent that the pool does not have counts as wrong.

    Args:
        query_vectors: (Q, d).
        query_intents: Q intents.
        query_languages: Q language codes.
        pool_vectors: (P, d).
        pool_intents: P intents.
        pool_languages: P language codes.
        query_ids: Q ids; None says that no query has one.
        pool_ids: P ids; None says that no pool row has one.

    Raises:
        DataError: a vector is zero or not finite, a query may meet no pool row of a language, or the lengths
            differ.
    """
    units, pool_units = unit_vectors(query_vectors), unit_vectors(pool_vectors)
    q, p = len(units), len(pool_units)
    labels = codes(_joined(query_intents, q, pool_intents, p, "intents"), q + p, "intents")
    keys = id_keys(_joined(query_ids, q, pool_ids, p, "ids"), q + p)
    queries, pools = rows_by_language(query_languages, q), rows_by_language(pool_languages, p)
    nearest: dict[str, NDArray[np.int64]] = {}
    correct: dict[str, NDArray[np.bool_]] = {}
    nearest_by_language: dict[str, NDArray[np.int64]] = {}
    correct_by_language: dict[str, NDArray[np.bool_]] = {}
    pool_parts = {language: pool_units[rows] for language, rows in pools.items()}
    for source, of_source in queries.items():
        part = units[of_source]
        cosines = np.empty((len(pools), len(of_source)), dtype=np.float32)
        for place, (target, of_target) in enumerate(pools.items()):
            found, cosine = nearest_rows(part, keys[of_source], pool_parts[target], keys[q + of_target])
            pair = pair_name(source, target)
            nearest[pair] = of_target[met_rows(found[:, 0], of_source, f"the pool's language '{target}'")]
            correct[pair] = labels[q + nearest[pair]] == labels[of_source]
            cosines[place] = cosine[:, 0]
        rows = np.stack([nearest[pair_name(source, target)] for target in pools])
        nearest_by_language[source] = _best(rows, cosines)
        correct_by_language[source] = labels[q + nearest_by_language[source]] == labels[of_source]
    return PoolAccuracy(
        accuracy=_percent(correct),
        correct=correct,
        nearest=nearest,
        counts={pair: len(right) for pair, right in correct.items()},
        by_language=_percent(correct_by_language),
        correct_by_language=correct_by_language,
        nearest_by_language=nearest_by_language,
        queries=queries,
    )


def _best(rows: NDArray[np.int64], cosines: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the best of each query's neighbours (languages, Q): by cosine, then by place in the pool."""
    equal = cosines >= cosines.max(axis=0) - TIE
    return np.where(equal, rows, np.iinfo(np.int64).max).min(axis=0)


def _joined(
    of_queries: Sequence[str] | None, q: int, of_pool: Sequence[str] | None, p: int, what: str
) -> list[str]:
    """Return the queries' strings and then the pool's; None gives empty ones."""
    first = [""] * q if of_queries is None else of_queries
    second = [""] * p if of_pool is None else of_pool
    check_length(first, q, f"{what} of queries")
    check_length(second, p, f"{what} of the pool")
    return [*first, *second]


def _percent(correct: dict[str, NDArray[np.bool_]]) -> dict[str, float]:
    return {name: 100 * float(right.mean()) for name, right in correct.items()}
