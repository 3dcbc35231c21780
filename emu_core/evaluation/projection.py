"""Sentence vectors as points on a plane."""

import warnings
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import check_length, codes, id_keys, turns, unit_vectors

PERPLEXITY = 30.0  # t-SNE's usual value
NEIGHBOURS = 15  # UMAP's usual value, the point itself included
FEWEST = 4  # different vectors that t-SNE and UMAP need to have neighbours to tell apart


class Projection(StrEnum):
    """How to lay out vectors on a plane."""

    PCA = "pca"
    TSNE = "tsne"
    UMAP = "umap"

    @property
    def label(self) -> str:
        """The name as its authors write it."""
        return "t-SNE" if self is Projection.TSNE else self.name


def project(vectors: NDArray[np.floating], method: Projection | str, *, seed: int = 0) -> NDArray[np.float32]:
    """Lay out sentence vectors on a plane by their directions, since cosine is what every measure uses.

    t-SNE and UMAP start from the PCA, so that two layouts of like vectors look alike. On the same machine the
    same vectors and seed give the same points. With 2 cores, 3,000 sentences of 512 dimensions take PCA a
    moment, UMAP some 4 seconds (and 10 more at its first call in a process) and t-SNE some 9.

    Args:
        vectors: (N, d).
        method: PCA takes any N; t-SNE and UMAP need `FEWEST` different directions.
        seed: 0 to 2**32 - 1.

    Returns:
        Points (N, 2), float32, in the order of `vectors`.

    Raises:
        DataError: a vector is zero or not finite, too few of them differ, or the method or seed is unknown.
    """
    if method not in list(Projection):
        raise DataError(f"no projection '{method}'; there are: {', '.join(Projection)}")
    if not 0 <= seed < 2**32:
        raise DataError(f"the seed must be from 0 to {2**32 - 1}, not {seed}")
    units = unit_vectors(vectors)
    points = _pca(units)
    if method == Projection.PCA:
        return points
    if (different := len({row.tobytes() for row in (units.round(6) + 0.0)})) < FEWEST:
        raise DataError(
            f"{Projection(method).label} needs {FEWEST} sentences with different vectors, and these have "
            f"{different}; choose more sentences, or PCA"
        )
    # Points that start on one spot, or all on one line, would pull on each other in no direction.
    jitter = np.random.default_rng(seed).normal(size=points.shape, scale=1e-3)
    start = (points / points[:, 0].std() + jitter).astype(np.float32)
    return (_tsne if method == Projection.TSNE else _umap)(units, start, seed)


def stratified_sample(
    languages: Sequence[str], intents: Sequence[str], cap: int, seed: int = 0
) -> NDArray[np.int64]:
    """Draw up to `cap` sentences, from each intent in each language in proportion, yet at least one.

    Args:
        languages: N language codes.
        intents: N intents.
        cap: sentences at most, at least 1. With more intents x languages than that, so many of them are drawn
            and give one sentence each.
        seed: what they are drawn with.

    Returns:
        Row numbers, sorted; all where N is within the cap.

    Raises:
        DataError: the two differ in length, or a number is out of range.
    """
    if cap < 1 or seed < 0:
        raise DataError(
            f"can't draw {cap} sentences with seed {seed}; give 1 or more, and a seed of 0 or more"
        )
    n = len(intents)
    check_length(languages, n, "languages")
    cells = codes(list(zip(languages, intents, strict=True)), n, "cells")
    drawn = np.random.default_rng(seed).permutation(n)
    # How far through its cell a sentence comes: 0 for the first of every cell, then even in all of them.
    shares = turns(cells[drawn]) / np.bincount(cells)[cells[drawn]]
    return np.sort(drawn[np.argsort(shares, kind="stable")[:cap]])


def sample_together(
    languages: Sequence[str], intents: Sequence[str], ids: Sequence[str], cap: int, seed: int = 0
) -> NDArray[np.int64]:
    """Draw up to `cap` sentences as `stratified_sample` does, but each with all of its translations.

    Args:
        languages: N language codes.
        intents: N intents.
        ids: N; the same id means translations of each other, "" is no id.
        cap: sentences at most, at least 1; fewer are drawn where the next one has more translations than fit.
        seed: what they are drawn with.

    Returns:
        Row numbers, sorted; all where N is within the cap.

    Raises:
        DataError: the arguments differ in length, or a number is out of range.
    """
    n = len(intents)
    _, first, group = np.unique(id_keys(ids, n), return_index=True, return_inverse=True)
    sizes = np.bincount(group, minlength=len(first))
    if n <= cap:
        return np.arange(n)
    there: list[set[str]] = [set() for _ in first]
    for number, language in zip(group.tolist(), languages, strict=True):
        there[number].add(language)
    kinds, meanings = [" ".join(sorted(one)) for one in there], [intents[row] for row in first]
    most = len(first)
    while most > 1 and sizes[(drawn := stratified_sample(kinds, meanings, most, seed))].sum() > cap:
        most = min(most - 1, int(most * cap / sizes[drawn].sum()))
    return np.flatnonzero(np.isin(group, stratified_sample(kinds, meanings, most, seed)))[:cap]


def principal_axes(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two directions (d, 2) of the most variance, of a covariance (d, d); a second one may be zero."""
    _, axes = np.linalg.eigh(covariance)  # columns, the least variance first
    found = np.zeros((len(covariance), 2))
    found[:, : axes.shape[1]] = axes[:, :-3:-1]
    return found


def with_a_sign(points: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return points (..., 2) whose largest number in each direction is positive: else the sign is an accident."""
    flat = points.reshape(-1, 2)
    largest = np.abs(flat).argmax(axis=0)
    return points * np.where(flat[largest, [0, 1]] < 0, -1, 1).astype(points.dtype)


def _pca(units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the first two principal components (N, 2), each with its largest number positive."""
    centred = units - units.mean(axis=0, dtype=np.float64)
    return with_a_sign(centred @ principal_axes(centred.T @ centred)).astype(np.float32)


def _tsne(units: NDArray[np.float32], start: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from sklearn.manifold import TSNE

    # The squared distance of unit vectors is 2 - 2 cosine, so Euclid's metric is cosine here, and the faster.
    tsne = TSNE(
        perplexity=min(PERPLEXITY, (len(units) - 1) / 3),
        init=start / start[:, 0].std() * 1e-4,
        random_state=seed,
    )
    return np.asarray(tsne.fit_transform(units), dtype=np.float32)


def _umap(units: NDArray[np.float32], start: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from sklearn.neighbors import NearestNeighbors
    from umap import UMAP  # takes 3 to 15 seconds

    # Exact neighbours found here spare UMAP a minute of compiling its own search, and are the same every time.
    n = len(units)
    k = min(NEIGHBOURS, n - 1)
    distances, rows = NearestNeighbors(n_neighbors=k - 1, algorithm="brute").fit(units).kneighbors()
    rows = np.hstack([np.arange(n)[:, None], rows])
    distances = np.hstack([np.zeros((n, 1)), distances**2 / 2]).astype(np.float32)  # 1 - cosine
    with warnings.catch_warnings():
        # UMAP warns that it can't place new points later, which nobody asks of it.
        warnings.filterwarnings("ignore", message=".*knn_search_index.*")
        layout = UMAP(
            n_neighbors=k,
            metric="cosine",
            init=start,
            random_state=seed,
            n_jobs=1,
            precomputed_knn=(rows, distances),
            force_approximation_algorithm=True,
        )
        return np.asarray(layout.fit_transform(units), dtype=np.float32)
