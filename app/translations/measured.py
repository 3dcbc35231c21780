"""What the Translations page measures beside the page, on vectors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.encoders.base import FloatArray
from emu_core.evaluation.eigen_similarity import Spectra, sample_spectra
from emu_core.evaluation.translation_ranking import TranslationRanking, ranked, translation_ranking


@dataclass(frozen=True, eq=False)
class Found:
    """What N sentences find in another language.

    Attributes:
        ranking: where their translations rank.
        nearest: (N,) the row of each one's nearest sentence.
        cosines: (N,) the cosine to it.
        own: (N,) the cosine to the translation.
    """

    ranking: TranslationRanking
    nearest: NDArray[np.int64]
    cosines: NDArray[np.float32]
    own: NDArray[np.float32]


def find_all(queries: FloatArray, targets: FloatArray, target_texts: tuple[str, ...]) -> Found:
    """Rank all translations by cosine.

    Args:
        queries: (N, d).
        targets: (N, d), row by row the translations' vectors.
        target_texts: the N translations.
    """
    sources, others = units(queries), units(targets)
    rows, cosines = ranked(sources, others, 1)
    own = np.einsum("nd,nd->n", sources, others)
    return Found(translation_ranking(sources, others, target_texts), rows[:, 0], cosines[:, 0], own)


def units(vectors: FloatArray) -> FloatArray:
    """Return vectors (N, d) at length 1; a zero vector stays one and has cosine 0 to all."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), dtype=np.float32)


def spectra(sources: FloatArray, targets: FloatArray, size: int) -> Spectra:
    """Draw the samples of an eigen-similarity, of `size` pairs each."""
    return sample_spectra(sources, targets, size=size)
