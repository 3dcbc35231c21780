"""The nearest sentences of a labelled pool, and the margin between intents: exact, also where bytes are multiplied.

A product of float32 vectors with a large pool takes longer than it takes to encode them. Processors with instructions
for bytes (VNNI) multiply rounded vectors more than twice as fast. Rounding changes no cosine by more than a bound, so
that the rounded product tells which few rows can be the nearest; the cosines of these are computed in float32.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import COPIED
from emu_core.evaluation.retrieval import TIE, best_columns, best_of, blocks, near_columns, padded

BYTES_FROM = 4_096
"""Rows of a pool from which vectors are multiplied as bytes."""
_LEAST_QUERIES = 64  # that are multiplied as bytes
_PRODUCT_ROWS, _PRODUCT = 256, 2**26  # fewer rows make a product slow; cosines in memory at once (256 MB)
_CANDIDATES = 512  # of a query, on average: cosines of more are faster computed with the whole pool
_LARGEST = 127
_LOWEST = np.iinfo(np.int32).min


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
class _ByteCosines(Cosines):
    """The same with integers as `scores`: a cosine is `unit` (B, 1) times that, to within `error` (B, 1).

    `rows_of` has the rows of the pool with each label.
    """

    unit: NDArray[np.float64]
    error: NDArray[np.float64]
    rows_of: Sequence[NDArray[np.int64]]

    def part(self, rows: slice) -> Self:
        return replace(super().part(rows), unit=self.unit[rows], error=self.error[rows])

    def nearest(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return best_of(*self._candidates(np.arange(len(self.units)), self.scores, k), k, TIE)

    def _highest(
        self, queries: NDArray[np.int64], labels: NDArray[np.int64], is_kind: bool
    ) -> NDArray[np.float32]:
        if not is_kind and len(self.rows_of) == 1:
            return np.full(len(queries), -np.inf, dtype=np.float32)
        scores = self.scores[queries]
        met = np.full_like(scores, _LOWEST) if is_kind else scores
        for query, label in enumerate(labels.tolist()):
            rows = self.rows_of[label]
            met[query, rows] = scores[query, rows] if is_kind else _LOWEST
        highest: NDArray[np.float32] = self._candidates(queries, met, 1)[1].max(axis=1)
        return highest

    def _candidates(
        self, queries: NDArray[np.int64], scores: NDArray[np.int32], k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return what may be the k nearest rows of n queries by scores (n, P), and their cosines, as `padded` does."""
        units = self.units[queries]
        # The k-th nearest may be rated too high by the error, and a nearer one too low; float32 is not exact either.
        slack = 2 * (self.error[queries] + TIE) / self.unit[queries]
        rows, columns, _ = near_columns(scores, k, slack)
        is_met = scores[rows, columns] > _LOWEST
        rows, columns = rows[is_met], columns[is_met]
        if len(rows) > _CANDIDATES * len(units):
            cosines = np.where(scores > _LOWEST, units @ self.pool.T, np.float32(-np.inf))
            rows, columns, _ = near_columns(cosines, k, TIE)
            return padded(len(units), rows, columns, cosines[rows, columns])
        return padded(
            len(units),
            rows,
            columns,
            np.einsum("nd,nd->n", units[rows], self.pool[columns], dtype=np.float32),
        )


@dataclass(frozen=True, eq=False)
class _Bytes:
    """Unit vectors (N, d), rounded: `numbers`, int8, times `scale` (N, 1), are at most `errors` (N, 1) away."""

    numbers: Any  # a tensor
    scale: NDArray[np.float32]
    errors: NDArray[np.float32]

    @classmethod
    def of(cls, units: NDArray[np.float32], largest: NDArray[np.float32]) -> "_Bytes":
        """Round vectors; no absolute number in them is larger than `largest` (N, 1)."""
        import torch

        scale = largest / np.float32(_LARGEST)
        numbers, errors = np.empty(units.shape, dtype=np.int8), np.empty_like(scale)
        step = max(1, COPIED // units.shape[1])
        for start in range(0, len(units), step):
            part = slice(start, start + step)
            rounded = np.rint(units[part] / scale[part])
            numbers[part] = rounded
            errors[part] = np.linalg.norm(units[part] - rounded * scale[part], axis=1, keepdims=True)
        return cls(torch.from_numpy(numbers), scale, errors)


class Pool:
    """Labelled unit vectors, to be searched."""

    def __init__(self, units: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
        """Take unit vectors (P, d) and the numbers of their intents (P,)."""
        self._units, self._labels = units, labels.astype(np.int32)
        self._bytes: _Bytes | None = None  # made when it is needed
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
        in_bytes = is_hidden is None and size >= BYTES_FROM and len(units) >= _LEAST_QUERIES
        in_bytes = in_bytes and multiplies_bytes()
        memory: NDArray[Any] | None = None  # is used again, since the system takes long to hand it out
        for many in blocks(len(units), size, least=min(_PRODUCT_ROWS, _PRODUCT // size)):
            queries = units[many]
            if memory is None:
                memory = np.empty((len(queries), size), dtype=np.int32 if in_bytes else np.float32)
            cosines = (self._rounded if in_bytes else self._exact)(queries, memory[: len(queries)])
            if is_hidden is not None:
                cosines.scores[:, is_hidden] = -np.inf
            # What follows takes several passes, which are faster over few rows that stay in the cache.
            for few in blocks(len(queries), size):
                part = cosines.part(few)
                start = many.start + few.start
                yield slice(start, start + len(part.units)), part

    def _exact(self, queries: NDArray[np.float32], products: NDArray[np.float32]) -> Cosines:
        np.matmul(queries, self._units.T, out=products)
        return Cosines(queries, self._units, self._labels, products)

    def _rounded(self, queries: NDArray[np.float32], products: NDArray[np.int32]) -> Cosines:
        import torch

        if self._bytes is None:
            # With one scale for all rows, the products of a query compare as its cosines do.
            largest = max(self._units.max(), -self._units.min())
            self._bytes = _Bytes.of(self._units, np.full((len(self._units), 1), largest, dtype=np.float32))
            ends = np.cumsum(np.bincount(self._labels))[:-1]
            self._rows_of = np.split(np.argsort(self._labels, kind="stable"), ends)
        pool, asked = self._bytes, _Bytes.of(queries, np.abs(queries).max(axis=1, keepdims=True))
        torch._int_mm(asked.numbers, pool.numbers.T, out=torch.from_numpy(products))
        unit = asked.scale.astype(np.float64) * pool.scale[0]
        # |qp - q'p'| <= |q - q'| |p| + |q'| |p - p'|, where q' and p' are the rounded ones, and |q| = |p| = 1.
        error = asked.errors + (1 + asked.errors.astype(np.float64)) * pool.errors.max()
        return _ByteCosines(queries, self._units, self._labels, products, unit, error, self._rows_of)


@cache
def multiplies_bytes() -> bool:
    """Whether the processor has the instructions for products of bytes, without which these are slow."""
    import torch

    return torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.cpu._is_vnni_supported()
