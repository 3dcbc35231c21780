"""The nearest sentences of a labelled pool, and the margin between intents: exact, also where bfloat16 is multiplied.

A product of float32 vectors with a large pool takes longer than it takes to encode them. Processors with instructions
for bfloat16 multiply rounded vectors twice as fast. Rounding changes no cosine by more than a bound, so that the
rounded product tells which few rows can be the nearest; the cosines of these are computed in float32.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import COPIED
from emu_core.evaluation.retrieval import TIE, best_columns, best_of, blocks, near_columns, padded

ROUNDED_FROM = 4_096
"""Rows of a pool from which rounded vectors are multiplied first."""
_LEAST_QUERIES = 64  # that are rounded
_PRODUCT_ROWS, _PRODUCT = 256, 2**26  # fewer rows make a product slow; cosines in memory at once (256 MB)
_CANDIDATES = 512  # of a query, on average: cosines of more are faster computed with the whole pool
_ROUNDING = 2.0**-8  # of a cosine in bfloat16, which is at most half of it, and of the sums of its product


@dataclass(frozen=True, eq=False)
class Cosines:
    """The cosines `scores` (B, P) of queries `units` (B, d) with a pool (P, d), whose intents are `labels` (P,)."""

    units: NDArray[np.float32]
    pool: NDArray[np.float32]
    labels: NDArray[np.int32]
    scores: NDArray[Any]

    def part(self, rows: slice) -> Self:
        """Return those of some of the queries."""
        return replace(self, units=self.units[rows], scores=self.scores[rows])

    def nearest(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return each query's k nearest rows and their cosines, as `best_columns` does."""
        return best_columns(self.scores, k, TIE)

    def margins(
        self, labels: NDArray[np.int64], rows: NDArray[np.int64], cosines: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return the highest cosine to a row with each query's label, minus the highest to another; NaN without one.

        Args:
            labels: (B,).
            rows: (B, k), the nearest rows, as `nearest` returns them with
            cosines: (B, k).
        """
        is_own = self.labels[rows] == labels[:, None]
        rest = cosines.min(axis=1) + 2 * TIE  # no other row is as near
        highest = []
        for is_kind in (True, False):
            known = np.where(is_own == is_kind, cosines, -np.inf).max(axis=1)
            queries = np.flatnonzero(known < rest)
            if len(queries):
                known[queries] = np.maximum(known[queries], self._highest(queries, labels[queries], is_kind))
            highest.append(known)
        with np.errstate(invalid="ignore"):  # -inf - -inf where there is no neighbour
            margins: NDArray[np.float32] = highest[0] - highest[1]
        margins[~np.isfinite(margins)] = np.nan
        return margins

    def _highest(
        self, queries: NDArray[np.int64], labels: NDArray[np.int64], is_kind: bool
    ) -> NDArray[np.float32]:
        """Return the highest cosine of n queries to rows with (n,) labels, or to all others; -inf for none."""
        is_met = (self.labels == labels[:, None].astype(np.int32)) == is_kind
        highest: NDArray[np.float32] = np.where(is_met, self.scores[queries], np.float32(-np.inf)).max(axis=1)
        return highest


@dataclass(frozen=True, eq=False)
class _RoundedCosines(Cosines):
    """The same with scores that are off by at most `error` (B, 1); `rows_of` has the rows with each label."""

    error: NDArray[np.float32]
    rows_of: Sequence[NDArray[np.int64]]

    def part(self, rows: slice) -> Self:
        return replace(super().part(rows), error=self.error[rows])

    def nearest(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return best_of(*self._candidates(np.arange(len(self.units)), self.scores, k), k, TIE)

    def _highest(
        self, queries: NDArray[np.int64], labels: NDArray[np.int64], is_kind: bool
    ) -> NDArray[np.float32]:
        if not is_kind and len(self.rows_of) == 1:
            return np.full(len(queries), -np.inf, dtype=np.float32)
        scores = self.scores[queries]
        met = np.full_like(scores, -np.inf) if is_kind else scores
        for query, label in enumerate(labels.tolist()):
            rows = self.rows_of[label]
            met[query, rows] = scores[query, rows] if is_kind else -np.inf
        highest: NDArray[np.float32] = self._candidates(queries, met, 1)[1].max(axis=1)
        return highest

    def _candidates(
        self, queries: NDArray[np.int64], scores: NDArray[np.float32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return what may be the k nearest rows of n queries by scores (n, P), and their cosines, as `padded` does."""
        units = self.units[queries]
        # The k-th nearest may be rated too high by the error, and a nearer one too low; float32 is not exact either.
        rows, columns, _ = near_columns(scores, k, 2 * (self.error[queries] + TIE))
        is_met = scores[rows, columns] > -np.inf
        rows, columns = rows[is_met], columns[is_met]
        if len(rows) > _CANDIDATES * len(units):
            cosines = np.where(scores > -np.inf, units @ self.pool.T, np.float32(-np.inf))
            rows, columns, _ = near_columns(cosines, k, TIE)
            return padded(len(units), rows, columns, cosines[rows, columns])
        return padded(
            len(units),
            rows,
            columns,
            np.einsum("nd,nd->n", units[rows], self.pool[columns], dtype=np.float32),
        )


@dataclass(frozen=True, eq=False)
class _Memory:
    """Room for the products of B queries with P rows, and for those in bfloat16 that become these."""

    products: NDArray[np.float32]
    rounded: Any = None

    @classmethod
    def of(cls, queries: int, rows: int, is_rounded: bool) -> "_Memory":
        products = np.empty((queries, rows), dtype=np.float32)
        if not is_rounded:
            return cls(products)
        import torch

        return cls(products, torch.empty(products.shape, dtype=torch.bfloat16))


class Pool:
    """Labelled unit vectors, to be searched."""

    def __init__(self, units: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
        """Take unit vectors (P, d) and the numbers of their intents (P,)."""
        self._units, self._labels = units, labels.astype(np.int32)
        self._rounded: tuple[Any, NDArray[np.float32]] | None = None  # made when it is needed
        self._rows_of: list[NDArray[np.int64]] = []

    def parts(
        self, units: NDArray[np.float32], is_hidden: NDArray[np.bool_] | None = None
    ) -> Iterator[tuple[slice, Cosines]]:
        """Yield the rows of some queries at a time, and their cosines with the pool.

        Args:
            units: (Q, d), unit vectors.
            is_hidden: (P,) rows of the pool that are not met.
        """
        size = len(self._units)
        is_rounded = is_hidden is None and size >= ROUNDED_FROM and len(units) >= _LEAST_QUERIES
        is_rounded = is_rounded and multiplies_bfloat16()
        memory: _Memory | None = None  # is used again, since the system takes long to hand it out
        for many in blocks(len(units), size, least=min(_PRODUCT_ROWS, _PRODUCT // size)):
            queries = units[many]
            if memory is None:
                memory = _Memory.of(len(queries), size, is_rounded)
            cosines = (self._near if is_rounded else self._exact)(queries, memory)
            if is_hidden is not None:
                cosines.scores[:, is_hidden] = -np.inf
            # What follows takes several passes, which are faster over few rows that stay in the cache.
            for few in blocks(len(queries), size):
                part = cosines.part(few)
                start = many.start + few.start
                yield slice(start, start + len(part.units)), part

    def _exact(self, queries: NDArray[np.float32], memory: _Memory) -> Cosines:
        products = memory.products[: len(queries)]
        np.matmul(queries, self._units.T, out=products)
        return Cosines(queries, self._units, self._labels, products)

    def _near(self, queries: NDArray[np.float32], memory: _Memory) -> Cosines:
        import torch

        if self._rounded is None:
            self._rounded = _rounded(self._units)
            ends = np.cumsum(np.bincount(self._labels))[:-1]
            self._rows_of = np.split(np.argsort(self._labels, kind="stable"), ends)
        (pool, pool_error), (asked, asked_error) = self._rounded, _rounded(queries)
        products, rounded = memory.products[: len(queries)], memory.rounded[: len(queries)]
        torch.from_numpy(products).copy_(torch.mm(asked, pool.T, out=rounded))
        # |qp - q'p'| <= |q - q'| |p| + |q'| |p - p'|, where q' and p' are the rounded ones, and |q| = |p| = 1.
        error = asked_error + (1 + asked_error) * pool_error.max() + np.float32(_ROUNDING)
        return _RoundedCosines(queries, self._units, self._labels, products, error, self._rows_of)


def _rounded(units: NDArray[np.float32]) -> tuple[Any, NDArray[np.float32]]:
    """Return vectors (N, d) as a tensor in bfloat16, and how far that is from each, (N, 1)."""
    import torch

    rounded, errors = torch.empty(units.shape, dtype=torch.bfloat16), np.empty((len(units), 1), np.float32)
    step = max(1, COPIED // units.shape[1])
    for start in range(0, len(units), step):
        part = units[start : start + step]
        rounded[start : start + step] = torch.tensor(part)
        away = part - rounded[start : start + step].float().numpy()
        errors[start : start + step] = np.linalg.norm(away, axis=1, keepdims=True)
    return rounded, errors


@cache
def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for products in bfloat16, without which these are slow."""
    import torch

    has = torch.cpu.get_capabilities()
    return bool(has.get("avx512_bf16") or has.get("amx_bf16"))
