"""The space in which sentences are compared: without what tells languages apart, and evened out within intents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import COPIED, Vectors, rows_by_language
from emu_core.intents.regression import Classes
from emu_core.intents.whitening import learn_spread

LANGUAGE_DIRECTIONS = 5  # in which the means of the built-in languages differ most
LEAST_OF_A_DIRECTION = 20  # dimensions of a part for each: a short vector would lose what its sentence says
CENTERING = 0.75  # share of their mean that is removed
WHITENING = 0.2
MOST_EVENED = 2_048  # dimensions; the axes of more take minutes
LEAST_OF_LANGUAGE = 30  # sentences whose mean is that of their language
_LEAST_LENGTH = 1e-12
Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SentenceSpace:
    """Maps from vectors (N, d), of one encoder or of several side by side, to unit vectors (N, d).

    Each part is scaled to length 1, loses the directions in which languages differ and a share of the common mean, and
    is scaled again, so that all count alike; then the variance within intents is evened out.

    Attributes:
        dims: the lengths of the parts, whose sum is d.
        directions: (n, d), orthonormal; each is 0 outside of its part.
        center: (d,), what is subtracted.
        spread: (d, d), the map of `emu_core.intents.whitening`; (0, d) for none.
    """

    dims: tuple[int, ...]
    directions: Floats
    center: Floats
    spread: Floats

    @classmethod
    def fit(
        cls, d: int, *, dims: Sequence[int] = (), reference: Mapping[str, Vectors] | None = None
    ) -> "SentenceSpace":
        """Learn what tells languages apart from parallel sentences; nothing is evened out yet.

        Args:
            d: the length of the vectors.
            dims: the lengths of the encoder's parts; none for a single one.
            reference: by language, vectors (M, d) of the same M sentences; none leaves languages as they are.
        """
        dims = tuple(dims) or (d,)
        directions, center = [np.zeros((0, d))], np.zeros(d)
        start = 0
        for dim in dims:
            columns = slice(start, start + dim)
            of_part = {code: part[:, columns] for code, part in (reference or {}).items()}
            count = max(0, min(LANGUAGE_DIRECTIONS, len(of_part) - 1, dim // LEAST_OF_A_DIRECTION))
            axes, mean = language_axes(of_part, count, CENTERING, dim)
            wide = np.zeros((len(axes), d))
            wide[:, columns], center[columns] = axes, mean
            directions.append(wide)
            start += dim
        nothing = np.zeros((0, d), dtype=np.float32)
        return cls(dims, np.concatenate(directions).astype(np.float32), center.astype(np.float32), nothing)

    def evening(self, neutral: Floats, classes: Classes, groups: Classes) -> "SentenceSpace":
        """Return the space with the variance within intents evened out, unless it has over `MOST_EVENED` dimensions.

        Args:
            neutral: (N, d), labelled sentences as `neutral` returns them.
            classes: (N,), their intents, from 0.
            groups: (N,), equal for translations and repeats.
        """
        if neutral.shape[1] > MOST_EVENED:
            return self
        spread = learn_spread(neutral.astype(np.float64), classes, groups, WHITENING).numpy()
        return replace(self, spread=as_stored(spread))

    def neutral(self, vectors: Vectors) -> Floats:
        """Return the unit vectors (N, d) of vectors (N, d), before the variance within intents is evened out."""
        out = np.empty(vectors.shape, dtype=np.float32)
        step = max(1, COPIED // vectors.shape[1])
        for start in range(0, len(vectors), step):  # each line copies what it takes
            x = self._by_part(np.asarray(vectors[start : start + step], dtype=np.float32))
            if len(self.directions):
                x -= (x @ self.directions.T) @ self.directions
            out[start : start + step] = scaled(self._by_part(x - self.center))
        return out

    def evened(self, neutral: Floats) -> Floats:
        """Even out the variance within intents of what `neutral` returns: unit vectors (N, d)."""
        return scaled(neutral @ self.spread) if len(self.spread) else neutral

    def _by_part(self, x: Floats) -> Floats:
        """Return vectors (N, d) with each part scaled to length 1."""
        ends = np.cumsum(self.dims)[:-1]
        return np.concatenate([scaled(part) for part in np.split(x, ends, axis=1)], axis=1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` takes."""
        dims = np.asarray(self.dims, dtype=np.int64)
        return {
            "dims": dims,
            "directions": self.directions,
            "center": self.center,
            "spread": self.spread.astype(np.float16),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], d: int) -> "SentenceSpace":
        """Return the space whose `arrays` these are, for vectors of length d. Raises KeyError or ValueError."""
        dims, directions, center, spread = (
            arrays[name] for name in ("dims", "directions", "center", "spread")
        )
        are_whole = (
            dims.dtype == np.int64
            and dims.ndim == 1
            and (dims > 0).all()
            and dims.sum() == d
            and directions.shape == (len(directions), d)
            and center.shape == (d,)
            and spread.shape == (d if len(spread) else 0, d)
            and all(
                array.dtype.kind == "f" and np.isfinite(array).all() for array in (directions, center, spread)
            )
        )
        if not are_whole:
            raise ValueError("no space of sentences")
        return cls(tuple(dims.tolist()), directions, center, spread.astype(np.float32))


def language_axes(
    reference: Mapping[str, Vectors], count: int, centering: float, dim: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the directions (count, dim) in which the languages' means differ most, and the share of the mean (dim,).

    Args:
        reference: by language, vectors (M, dim) of the same M sentences.
        count: fewer than there are languages.
        centering: the share of the mean that is returned, of what is orthogonal to the directions.
        dim: the length of the vectors, for no languages.
    """
    if not reference:
        return np.zeros((0, dim)), np.zeros(dim)
    means = np.stack([_unit(vectors).mean(axis=0) for vectors in reference.values()])  # (languages, dim)
    _, _, axes = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    directions = axes[:count]
    mean = means.mean(axis=0)
    return directions, centering * (mean - mean @ directions.T @ directions)


def _unit(vectors: Vectors) -> NDArray[np.float64]:
    return scaled(vectors.astype(np.float64))


def scaled(x: NDArray[Any]) -> NDArray[Any]:
    """Return vectors (N, d) with length 1; zeros stay zeros."""
    units: NDArray[Any] = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), _LEAST_LENGTH)
    return units


def as_stored(x: NDArray[Any]) -> Floats:
    """Round numbers to the two bytes in which they are stored, so that what is read again is what was fitted."""
    return x.astype(np.float16).astype(np.float32)


def centred(vectors: Floats) -> Floats:
    """Return vectors (N, d) without their mean; a single one, or equal ones, as they are."""
    away: Floats = vectors - vectors.mean(axis=0)
    return away if np.linalg.norm(away, axis=1).min() > 0 else vectors


def centred_by_language(vectors: Floats, languages: Sequence[str], counts: NDArray[np.bool_]) -> Floats:
    """Return vectors (N, d) without the mean of their language, or of all where a language has few sentences.

    The means are of the rows that count (N,), such as distinct sentences.
    """
    if counts.sum() < LEAST_OF_LANGUAGE:
        return vectors
    centred = vectors - vectors[counts].mean(axis=0)
    for _, rows in rows_by_language(languages, len(vectors)).items():
        met = rows[counts[rows]]
        if len(met) >= LEAST_OF_LANGUAGE:
            centred[rows] = vectors[rows] - vectors[met].mean(axis=0)
    is_mean = np.linalg.norm(centred, axis=1) == 0
    centred[is_mean] = vectors[is_mean]
    return centred
