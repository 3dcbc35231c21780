"""Eigen-similarity: how similarly two languages arrange the same sentences (dual encoder, equation 3)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, check_paired, unit_vectors
from emu_core.evaluation.retrieval import blocks

Distance = Literal["angular", "cosine", "euclidean"]


@dataclass(frozen=True, eq=False)
class EigenSimilarity:
    """Psi(S, T) of several samples; smaller is more similar, 0 is identical.

    Each sample has the rows of its pairs, and the Laplacian eigenvalues of the first and of the second language,
    ascending, (samples, size) each.
    """

    rows: NDArray[np.int64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]

    @property
    def values(self) -> NDArray[np.float64]:
        """(samples,) the inner sum of equation 3."""
        return np.asarray(((self.first - self.second) ** 2).sum(axis=1))

    @property
    def mean(self) -> float:
        """Psi, the mean over the samples."""
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        """Variance between samples (of N - 1)."""
        return float(self.values.var(ddof=1))

    @property
    def standard_error(self) -> float:
        """Standard error of the mean, as if the samples were independent."""
        return float(np.sqrt(self.variance / len(self.values)))


def eigen_similarity(
    sources: Vectors,
    targets: Vectors,
    *,
    size: int = 10,
    samples: int = 1_000,
    distance: Distance = "angular",
    seed: int = 0,
) -> EigenSimilarity:
    """Compare the Laplacian spectra of the same sentences in two languages (section 5, equation 3).

    Each sample has `size` different translation pairs. With W the matrix of distances between a language's sentences
    and D its row sums, the Laplacian is D - W, not normalised. All its eigenvalues are sorted, and their squared
    differences from the other language's are summed. The paper specifies neither the distance nor the Laplacian; the
    angle is the distance it uses elsewhere (section 3.5).

    Args:
        sources: (P, d); row i means what row i of the targets means.
        targets: (P, d).
        size: pairs in a sample, the paper's K.
        samples: the paper's N, 2 or more.
        distance: "angular" (the angle, 0 to pi), "cosine" (1 - cosine) or "euclidean" (of unscaled vectors).
        seed: of the random draws.

    Raises:
        DataError: a vector is zero or not finite, the lengths differ, or there are fewer pairs than `size`.
    """
    check_paired(sources, targets)
    if not 2 <= size <= len(sources):
        raise DataError(
            f"can't draw a sample of {size:,} from {len(sources):,} pairs; choose 2 to {len(sources):,}, or give "
            "more pairs"
        )
    if samples < 2:
        raise DataError(f"{samples} samples have no variance; draw 2 or more")
    draws = np.random.default_rng(seed)
    rows = np.stack([draws.choice(len(sources), size, replace=False) for _ in range(samples)])
    return EigenSimilarity(rows, _spectra(sources, rows, distance), _spectra(targets, rows, distance))


def _spectra(vectors: Vectors, rows: NDArray[np.int64], distance: Distance) -> NDArray[np.float64]:
    """Return the Laplacian eigenvalues of each sample, ascending: (samples, size)."""
    units = unit_vectors(vectors)  # also checks them
    points = np.asarray(vectors, dtype=np.float64)
    if distance != "euclidean":
        # In single precision the angle of two equal sentences would be 0.0003.
        points = units / np.linalg.norm(units.astype(np.float64), axis=1, keepdims=True)
    samples, size = rows.shape
    spectra = np.empty((samples, size))
    for block in blocks(samples, size * (points.shape[1] + size)):
        weights = _distances(points[rows[block]], distance)  # (B, size, size)
        laplacians = -weights
        np.einsum("nii->ni", laplacians)[...] = weights.sum(axis=2)
        spectra[block] = np.linalg.eigvalsh(laplacians)
    return spectra


def _distances(points: NDArray[np.float64], distance: Distance) -> NDArray[np.float64]:
    """Return the distances (B, size, size) between the points (B, size, d) of each sample."""
    products = points @ points.transpose(0, 2, 1)
    if distance == "euclidean":
        squares = np.einsum("nid,nid->ni", points, points)
        return np.asarray(np.sqrt(np.maximum(squares[:, :, None] + squares[:, None, :] - 2 * products, 0)))
    cosines = np.clip(products, -1, 1)
    return {"angular": np.arccos(cosines), "cosine": 1 - cosines}[distance]
