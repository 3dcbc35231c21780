"""Languages without labels: what built-in parallel sentences say of them, and what sentences in them are about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import Vectors, rows_by_language, unit_vectors
from emu_core.intents.regression import Classes
from emu_core.intents.space import SentenceSpace
from emu_core.intents.whitening import class_means

MOST_AXES = 30
UNLIKE, LIKE = (
    0.8,
    1.2,
)  # both signs together, of sentences on another subject at most, and on the same one at least
_LEAST_LENGTH = 1e-12
Floats = NDArray[np.float32]


def as_if_translated(
    units: Floats, languages: Sequence[str], reference: Mapping[str, Vectors], code: str
) -> Floats:
    """Return unit vectors (N, d) that translations of the sentences might have.

    To each vector, the difference is added that translation made to a built-in sentence, drawn at random.

    Args:
        units: (N, d).
        languages: N codes; a language that is none of the reference's is taken for the mean of those.
        reference: by language, vectors (M, d) of the same M sentences.
        code: the language to translate into, one of the reference's.
    """
    draws = np.random.default_rng(0)
    known = {language: unit_vectors(vectors) for language, vectors in reference.items()}
    mean: Floats = np.mean(list(known.values()), axis=0)
    moved = units.copy()
    for language, rows in rows_by_language(languages, len(units)).items():
        drawn = draws.integers(len(mean), size=len(rows))
        said = known.get(language, mean)
        moved[rows] += known[code][drawn] - said[drawn]
    return unit_vectors(moved)


@dataclass(frozen=True, eq=False)
class Subject:
    """The subject of the labelled sentences, whatever their language.

    Two signs tell sentences about the same from others. Their mean, without that of the built-in sentences in their
    language, points where that of the labelled ones does; and they differ from each other in the directions in which
    the intents differ.

    Attributes:
        languages: those of the built-in sentences, L.
        means: (L, d), the means of their neutral vectors.
        direction: (d,), of length 1; zeros where no built-in sentences are known.
        axes: (n, d), orthonormal, which span the means of the intents.
        share: how much of the variance of new labelled sentences is within the axes.
    """

    languages: tuple[str, ...]
    means: Floats
    direction: Floats
    axes: Floats
    share: float

    @classmethod
    def of(
        cls,
        neutral: Floats,
        classes: Classes,
        groups: Classes,
        languages: Sequence[str],
        space: SentenceSpace,
        reference: Mapping[str, Vectors],
    ) -> "Subject":
        """Learn it from labelled sentences.

        Args:
            neutral: (N, d), unit vectors as `SentenceSpace.neutral` returns them.
            classes: (N,), from 0.
            groups: (N,), from 0, equal for translations and repeats.
            languages: N codes.
            space: what made them.
            reference: by language, vectors (M, d) of the same M sentences.
        """
        d = neutral.shape[1]
        means = np.zeros((len(reference), d), dtype=np.float32)
        for row, vectors in enumerate(reference.values()):
            means[row] = space.neutral(vectors).mean(axis=0)
        direction = np.zeros(d)
        if len(reference):
            for code, rows in rows_by_language(languages, len(neutral)).items():
                direction += len(rows) * _away(neutral[rows], code, tuple(reference), means)
        # Sentences that the axes were not learnt from: they vary less within them.
        is_first = np.random.default_rng(0).permutation(groups.max() + 1)[groups] % 2 == 0
        shares = [
            _share(neutral[~half], _axes(neutral[half], classes[half]))
            for half in (is_first, ~is_first)
            if half.any() and not half.all()
        ]
        length = max(float(np.linalg.norm(direction)), _LEAST_LENGTH)
        return cls(
            tuple(reference),
            means,
            (direction / length).astype(np.float32),
            _axes(neutral, classes),
            float(np.mean(shares)) if shares else 0.0,
        )

    def likeness(self, neutral: Floats, code: str) -> float:
        """Return from 0 to 1 how far sentences are about the same, given their neutral vectors (M, d) and language."""
        of_variance = _share(neutral, self.axes) / self.share if self.share > 0 else 0.0
        of_mean = of_variance  # nothing else is known without built-in sentences
        if self.direction.any():
            away = _away(neutral, code, self.languages, self.means)
            of_mean = float(away @ self.direction) / max(float(np.linalg.norm(away)), _LEAST_LENGTH)
        return min(1.0, max(0.0, (of_mean + of_variance - UNLIKE) / (LIKE - UNLIKE)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` takes beside the languages."""
        return {
            "subject_means": self.means,
            "subject_direction": self.direction,
            "subject_axes": self.axes,
            "subject_share": np.array([self.share]),
        }

    @classmethod
    def from_arrays(cls, languages: Sequence[str], arrays: Mapping[str, NDArray[Any]], d: int) -> "Subject":
        """Return the subject whose `arrays` these are, for vectors of length d. Raises KeyError or ValueError."""
        means, direction, axes, share = (
            arrays[f"subject_{name}"] for name in ("means", "direction", "axes", "share")
        )
        are_whole = (
            means.shape == (len(languages), d)
            and direction.shape == (d,)
            and axes.shape == (len(axes), d)
            and share.shape == (1,)
            and all(
                array.dtype.kind == "f" and np.isfinite(array).all()
                for array in (means, direction, axes, share)
            )
            and all(isinstance(code, str) for code in languages)
        )
        if not are_whole:
            raise ValueError("no subject of sentences")
        return cls(tuple(languages), means, direction, axes, float(share[0]))


def _axes(x: Floats, classes: Classes) -> Floats:
    """Return orthonormal directions (n, d) in which the means of the classes of (N, d) differ most."""
    present, numbers = np.unique(classes, return_inverse=True)
    centres = class_means(x, numbers)
    _, lengths, axes = np.linalg.svd(centres - centres.mean(axis=0), full_matrices=False)
    count = min(len(present) - 1, MOST_AXES, int((lengths > _LEAST_LENGTH).sum()))
    found: Floats = axes[:count].astype(np.float32)
    return found


def _share(x: Floats, axes: Floats) -> float:
    """Return how much of the variance of (N, d) is within orthonormal axes (n, d), from 0 to 1."""
    away = x - x.mean(axis=0)
    return float(np.square(away @ axes.T).sum() / max(float(np.square(away).sum()), _LEAST_LENGTH))


def _away(x: Floats, code: str, languages: tuple[str, ...], means: Floats) -> NDArray[np.float64]:
    """Return how far the mean of (N, d) is away from that of the built-in sentences in a language, or in all."""
    base = means[languages.index(code)] if code in languages else means.mean(axis=0)
    away: NDArray[np.float64] = x.mean(axis=0, dtype=np.float64) - base
    return away
