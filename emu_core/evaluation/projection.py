"""Sentence vectors as points on a plane."""

import io
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from emu_core.errors import DataError
from emu_core.evaluation.arrays import (
    Vectors,
    check_dimensions,
    check_length,
    check_paired,
    codes,
    id_keys,
    turns,
    unit_vectors,
)
from emu_core.evaluation.retrieval import blocks
from emu_core.threads import one_thread_for_small_products

OnMap = Callable[[float, NDArray[np.float32]], object]  # the share done, and the map (N, 2) so far
PERPLEXITY = 30.0  # t-SNE's usual value
_NEIGHBOURS = 15  # UMAP's usual value, including the point itself
MIN_POINTS = 4  # different vectors that t-SNE and UMAP need
# Iterations of t-SNE, exaggeration, momentum. The usual 250 and 500 iterations take twice as long, and starting from
# the PCA reach the same trustworthiness.
EARLY, LATE = (100, 12.0, 0.5), (250, 1.0, 0.8)
THETA = 0.8  # Barnes-Hut's angle: a third faster than 0.5, with the same trustworthiness
EPOCHS, EPOCHS_OF_MANY, MANY = 500, 200, 10_000  # UMAP's own defaults
EVERY_S = 0.5  # between two reports of an unfinished map
PLACED_BY = 5  # neighbours that place a new sentence
TRUSTED_NEIGHBOURS, TRUSTED_POINTS = 10, 2_000


class Projection(StrEnum):
    """A method to lay out vectors on a plane."""

    PCA = "pca"
    TSNE = "tsne"
    UMAP = "umap"

    @property
    def label(self) -> str:
        """The name as its authors write it."""
        return "t-SNE" if self is Projection.TSNE else self.name


def project(
    vectors: Vectors, method: Projection | str, *, seed: int = 0, on_map: OnMap | None = None
) -> NDArray[np.float32]:
    """Lay out sentence vectors on a plane by their directions, since all measures use cosine.

    t-SNE (van der Maaten and Hinton 2008) and UMAP (McInnes et al. 2018) start from the PCA, so that layouts of similar
    vectors look similar. On the same machine the same vectors and seed give the same points.

    Args:
        vectors: (N, d).
        method: PCA takes any N; t-SNE and UMAP need `MIN_POINTS` different directions.
        seed: 0 to 2**32 - 1.
        on_map: called at least every second with the progress of t-SNE or UMAP (0 to 1) and the map (N, 2) so far, for
            UMAP where it starts from. An exception that it raises stops the work.

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
    centred = units - units.mean(axis=0, dtype=np.float64)
    points = with_a_sign(centred @ principal_axes(centred.T @ centred)).astype(np.float32)
    if method == Projection.PCA:
        return points
    if (different := len({row.tobytes() for row in (units.round(6) + 0.0)})) < MIN_POINTS:
        raise DataError(
            f"{Projection(method).label} needs {MIN_POINTS} sentences with different vectors, and these have "
            f"{different}; choose more sentences, or PCA"
        )
    # Points that start on one spot, or all on one line, would attract each other in no direction.
    jitter = np.random.default_rng(seed).normal(size=points.shape, scale=1e-3).astype(np.float32)
    start = (points / points[:, 0].std() + jitter).astype(np.float32)
    refine = _tsne if method == Projection.TSNE else _umap
    return refine(units, start, seed, on_map)


def aligned(points: NDArray[np.float32], target: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotate, mirror, scale and shift a map (N, 2) to match another map of the same sentences (N, 2) best.

    The rotation solves the orthogonal Procrustes problem (Schönemann 1966); the size becomes the target's, so that
    neither map looks denser. Neighbours remain neighbours.

    Raises:
        DataError: the two differ in length.
    """
    check_paired(points, target)
    middle = target.mean(axis=0, keepdims=True)
    turned = turned_onto(points - points.mean(axis=0, keepdims=True), target - middle)
    size = float(np.linalg.norm(turned))
    scale = float(np.linalg.norm(target - middle)) / size if size else 1.0
    return np.asarray(turned * scale + middle, dtype=np.float32)


def turned_onto(centred: Vectors, target: Vectors) -> Vectors:
    """Rotate or mirror centred points (N, d) to lie nearest to a centred target (N, d)."""
    left, _, right = np.linalg.svd(centred.T @ target)
    turned: Vectors = centred @ (left @ right)
    return turned


def trustworthiness(vectors: Vectors, points: Vectors, seed: int = 0) -> float:
    """Return the trustworthiness of a map: 1 if neighbours on it are neighbours by cosine, 0.5 by chance.

    Venna and Kaski 2001, with `TRUSTED_NEIGHBOURS` neighbours, on at most `TRUSTED_POINTS` sentences drawn at random.

    Args:
        vectors: (N, d).
        points: (N, 2).
        seed: of the draw.

    Returns:
        From 0 to 1; NaN for fewer than 4 sentences, which are all neighbours.

    Raises:
        DataError: a vector is zero or not finite, or the two differ in length.
    """
    from sklearn.manifold import trustworthiness as measure

    check_paired(vectors, points)
    if len(points) < MIN_POINTS:
        return float("nan")
    drawn = np.sort(np.random.default_rng(seed).permutation(len(points))[:TRUSTED_POINTS])
    # Fewer than half of the points, or else every point is a neighbour.
    k = min(TRUSTED_NEIGHBOURS, (len(drawn) - 1) // 2)
    return float(measure(unit_vectors(vectors)[drawn], points[drawn], n_neighbors=k))


def place_on_map(
    vectors: Vectors, points: NDArray[np.float32], new_vectors: Vectors, k: int = PLACED_BY
) -> NDArray[np.float32]:
    """Place new sentences on a map, each at the mean of its k nearest sentences, weighted by cosine.

    This is approximate: a sentence whose neighbours are in several clusters is placed between them.

    Args:
        vectors: (N, d) of the sentences on the map.
        points: (N, 2), their places.
        new_vectors: (M, d) of the new sentences.
        k: neighbours, at least 1; all N where there are fewer.

    Returns:
        (M, 2), float32.

    Raises:
        DataError: a vector is zero or not finite, lengths or dimensions differ, or k is below 1.
    """
    check_paired(vectors, points)
    check_dimensions(new_vectors, vectors)
    if k < 1 or not len(points):
        raise DataError(
            "a sentence is placed by 1 neighbour or more; give the map's sentences, and a k of 1 or more"
        )
    units, others, k = unit_vectors(vectors), unit_vectors(new_vectors), min(k, len(points))
    nearest_blocks = [_highest(others[block] @ units.T, k) for block in blocks(len(others), len(units))]
    rows, cosines = map(np.concatenate, zip(*nearest_blocks, strict=True))
    # A cosine below 0 would push away; if none is above, all count alike.
    weights = np.maximum(cosines, 1e-6)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("mkd,mk->md", np.asarray(points, dtype=np.float32)[rows], weights)


def stratified_sample(
    languages: Sequence[str], intents: Sequence[str], cap: int, seed: int = 0
) -> NDArray[np.int64]:
    """Draw up to `cap` sentences, from each intent in each language in proportion, but at least one.

    Args:
        languages: N language codes.
        intents: N intents.
        cap: the largest number of sentences, at least 1. If there are more intents x languages than that, as many of
            them are drawn, and one sentence of each.
        seed: of the draw.

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
    # The place of a sentence in its cell, from 0 to 1; the first of each cell come first.
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
        cap: the largest number of sentences, at least 1; fewer where a sentence has more translations than fit.
        seed: of the draw.

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
    languages_of_group: list[set[str]] = [set() for _ in first]
    for number, language in zip(group.tolist(), languages, strict=True):
        languages_of_group[number].add(language)
    kinds, meanings = (
        [" ".join(sorted(group_languages)) for group_languages in languages_of_group],
        [intents[row] for row in first],
    )
    most = len(first)
    while most > 1 and sizes[(drawn := stratified_sample(kinds, meanings, most, seed))].sum() > cap:
        most = min(most - 1, int(most * cap / sizes[drawn].sum()))
    return np.flatnonzero(np.isin(group, stratified_sample(kinds, meanings, most, seed)))[:cap]


def principal_axes(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two directions (d, 2) of the largest variance of a covariance (d, d); the second may be zero."""
    d = len(covariance)
    with one_thread_for_small_products():
        _, axes = eigh(covariance, subset_by_index=(max(0, d - 2), d - 1))  # columns, the less variance first
    coordinates = np.zeros((d, 2))
    coordinates[:, : axes.shape[1]] = axes[:, ::-1]
    return coordinates


def with_a_sign(points: Vectors) -> Vectors:
    """Mirror points (..., 2) so that the largest number in each direction is positive: a PCA leaves the sign open."""
    flat = points.reshape(-1, 2)
    largest = np.abs(flat).argmax(axis=0)
    return points * np.where(flat[largest, [0, 1]] < 0, -1, 1).astype(points.dtype)


class _Progress:
    """Report an unfinished map, rarely enough to cost nothing."""

    def __init__(self, tell: OnMap | None, start: NDArray[np.float32]) -> None:
        self._tell, self._places, self._told = tell, start, -np.inf
        self(0.0)

    def __call__(self, share: float, places: Vectors | None = None) -> None:
        """Report the share done and the map; without `places` the map is unchanged."""
        if self._tell is not None and time.monotonic() - self._told >= EVERY_S:
            if places is not None:
                self._places = np.array(places, dtype=np.float32)
            self._tell(share, self._places)
            self._told = time.monotonic()


def _neighbours(
    units: NDArray[np.float32], k: int, on_share: Callable[[float], None]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return each vector's exact k nearest others (N, k), the nearest first, and 1 - cosine to them (N, k)."""
    n = len(units)
    rows, far = np.empty((n, k), dtype=np.int64), np.empty((n, k), dtype=np.float32)
    for block in blocks(n, n):
        cosines = units[block] @ units.T  # (B, N)
        np.fill_diagonal(cosines[:, block.start :], -np.inf)
        rows[block], far[block] = _highest(cosines, k)
        on_share(min(block.stop, n) / n)
    return rows, np.clip(1 - far, 0, 2)


def _highest(cosines: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the columns and values of the k highest of each row (B, N), the highest first, (B, k) each."""
    columns = np.argpartition(cosines, -k, axis=1)[:, -k:]
    highest = np.take_along_axis(cosines, columns, axis=1)
    order = np.argsort(-highest, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(highest, order, axis=1)


def _tsne(
    units: NDArray[np.float32], start: NDArray[np.float32], seed: int, tell: OnMap | None
) -> NDArray[np.float32]:
    """Optimise t-SNE from `start` (N, 2)."""
    progress = _Progress(tell, start)
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PerplexityBasedNN
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    n = len(units)
    perplexity = min(PERPLEXITY, (n - 1) / 3)
    rows, far = _neighbours(units, min(n - 1, int(3 * perplexity)), lambda share: progress(0.2 * share))
    # The squared distance of unit vectors is 2 - 2 cosine, so the Euclidean metric is equivalent to cosine.
    known = PrecomputedNeighbors(rows, np.sqrt(2 * far.astype(np.float64)))
    embedding = TSNEEmbedding(
        (start / start[:, 0].std() * 1e-4).astype(np.float64),
        PerplexityBasedNN(perplexity=perplexity, knn_index=known),
        negative_gradient_method="bh" if n <= MANY else "fft",  # the faster one
        theta=THETA,
        random_state=seed,
    )
    total, done = EARLY[0] + LATE[0], 0
    for iterations, exaggeration, momentum in (EARLY, LATE):

        def step(iteration: int, _: float, places: Any, done: int = done) -> None:
            progress(0.2 + 0.8 * (done + iteration) / total, places)

        embedding.optimize(
            iterations, exaggeration=exaggeration, momentum=momentum, inplace=True,
            callbacks=step, callbacks_every_iters=2, use_callbacks=True,
        )  # fmt: skip
        done += iterations
    return np.array(embedding, dtype=np.float32)


def _umap(
    units: NDArray[np.float32], start: NDArray[np.float32], seed: int, tell: OnMap | None
) -> NDArray[np.float32]:
    """Optimise UMAP from `start` (N, 2)."""
    progress = _Progress(tell, start)
    n = len(units)
    k, epochs = min(_NEIGHBOURS, n - 1), EPOCHS if n <= MANY else EPOCHS_OF_MANY
    rows, far = _neighbours(units, k - 1, lambda share: progress(0.4 * share))
    itself = np.arange(n)[:, None]

    class Bar(io.StringIO):
        """The stream that UMAP's progress bar is written to, a number of epochs at a time."""

        def write(self, text: str) -> int:
            if text.strip().isdigit():
                try:
                    progress(0.4 + 0.6 * int(text) / epochs)
                except BaseException:
                    # A bar whose stream raises keeps the lock of all bars, for which those of other threads would wait.
                    tqdm.get_lock().release()
                    raise
            return len(text)

    from tqdm import tqdm
    from umap import UMAP  # takes 3 to 15 seconds
    from umap.umap_ import compute_membership_strengths, smooth_knn_dist

    with suppress(RuntimeError):  # no folder to write to
        for compiled in (smooth_knn_dist, compute_membership_strengths):
            compiled.enable_caching()  # their compilation is most of ten seconds in each process

    mapper = UMAP(
        n_neighbors=k,
        metric="cosine",
        n_epochs=epochs,
        init=start,
        random_state=seed,
        n_jobs=1,
        disconnection_distance=np.inf,  # opposite vectors are neighbours if there are no others
        precomputed_knn=(np.hstack([itself, rows]), np.hstack([np.zeros((n, 1), dtype=np.float32), far])),
        tqdm_kwds={
            "disable": tell is None, "file": Bar(), "bar_format": "{n}", "mininterval": EVERY_S / 2, "leave": False,
        },
    )  # fmt: skip
    with warnings.catch_warnings():
        # It can't add sentences without a search index; `place_on_map` does.
        warnings.filterwarnings("ignore", r"precomputed_knn\[2\]", UserWarning)
        points: NDArray[np.float32] = mapper.fit_transform(units)
    return points
