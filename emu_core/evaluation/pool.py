"""Queries against a labelled pool from elsewhere: nearest-neighbour Acc@1."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import check_length, codes, id_keys, rows_by_language, unit_vectors
from emu_core.evaluation.leave_one_out import Labelled, NeighbourAccuracy, neighbour_accuracy


class PoolAccuracy(NeighbourAccuracy):
    """Acc@1 of queries against a pool, by pair and against the whole pool."""

    @property
    def by_language(self) -> dict[str, float]:
        """Percent of each language's queries that are right against the whole pool."""
        return {source: 100 * float(self.best(source)[2].mean()) for source in self.queries}

    def outcomes(self, source: str) -> list[NDArray[np.bool_]]:
        """Return whether each query of a language is right against the whole pool, which is one pool."""
        return [self.best(source)[2]]


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
    asked = Labelled(units, labels[:q], keys[:q], rows_by_language(query_languages, q))
    pool = Labelled(pool_units, labels[q:], keys[q:], rows_by_language(pool_languages, p))
    return neighbour_accuracy(PoolAccuracy, asked, pool, "the pool's language")


def _joined(
    of_queries: Sequence[str] | None, q: int, of_pool: Sequence[str] | None, p: int, what: str
) -> list[str]:
    """Return the queries' strings and then the pool's; None gives empty ones."""
    first = [""] * q if of_queries is None else of_queries
    second = [""] * p if of_pool is None else of_pool
    check_length(first, q, f"{what} of queries")
    check_length(second, p, f"{what} of the pool")
    return [*first, *second]
