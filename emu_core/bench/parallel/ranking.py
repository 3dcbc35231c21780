"""Ranks of translations in an encoder's space."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emu_core.data.parallel.held_out import joined_by_pivot
from emu_core.data.parallel.text import ParallelText
from emu_core.encoders.base import Encoder, EncoderByLanguage, FloatArray
from emu_core.evaluation.translation_ranking import TranslationRanking, translation_ranking

COSINE, EUCLID, DOT = "cosine", "euclid", "dot"


def encode_in(encoder: Encoder, texts: Sequence[str], language: str) -> FloatArray:
    """Vectors (N, d) of texts of a language; one that reads by language is told it, as BiCVM's vocabularies need it."""
    if isinstance(encoder, EncoderByLanguage):
        return encoder.encode(texts, languages=[language] * len(texts))
    return encoder.encode(texts)


def tested_pairs(test: Sequence[ParallelText]) -> list[ParallelText]:
    """The test pairs, and those of languages that no pair was trained of, where translations share a sentence."""
    return [*test, *joined_by_pivot(test)]


def ranking(
    measure: str,
    sources: NDArray[np.floating],
    targets: NDArray[np.floating],
    texts: Sequence[str],
    distractors: int | None = None,
) -> TranslationRanking:
    """Where each source's translation ranks.

    Args:
        measure: by the highest cosine or dot product, or by the least Euclidean distance.
        sources: (N, d); row i means what row i of the targets means.
        targets: (N, d).
        texts: the targets' sentences.
        distractors: other targets drawn for each source; None takes all.
    """
    first, second = np.asarray(sources, np.float64), np.asarray(targets, np.float64)
    if measure == COSINE:
        first, second = (_units(vectors) for vectors in (first, second))
    elif measure == EUCLID:
        # |a - b|^2 = |a|^2 - 2 (a b - |b|^2 / 2), and |a| is the same for all b; moved to the middle for precision.
        middle = second.mean(axis=0)
        first, second = first - middle, second - middle
        first = np.column_stack([first, np.ones(len(first))])
        second = np.column_stack([second, -np.square(second).sum(axis=1) / 2])
    return translation_ranking(first, second, texts, distractors=distractors)


def _units(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    # The zero vector has no direction and ranks by no score.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float64).tiny))
