"""Ranks of translations in an encoder's space."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.results import Key
from emu_core.data.parallel.text import ParallelText
from emu_core.encoders.base import Encoder, EncoderByLanguage, FloatArray
from emu_core.evaluation.arrays import pair_name
from emu_core.evaluation.translation_ranking import TranslationRanking, translation_ranking

COSINE, EUCLID, DOT = "cosine", "euclid", "dot"


def encode_in(encoder: Encoder, texts: Sequence[str], language: str) -> FloatArray:
    """Vectors (N, d) of texts of a language; one that reads by language is told it, as BiCVM's vocabularies need it."""
    if isinstance(encoder, EncoderByLanguage):
        return encoder.encode(texts, languages=[language] * len(texts))
    return encoder.encode(texts)


def encode_pairs(encoder: Encoder, text: ParallelText) -> tuple[FloatArray, FloatArray]:
    """Vectors of both sides, (N, d) each."""
    return encode_in(encoder, text.first, text.source), encode_in(encoder, text.second, text.target)


def rank_values(
    text: ParallelText,
    first: FloatArray,
    second: FloatArray,
    measures: Sequence[str],
    distractors: int | None = None,
) -> dict[Key, Any]:
    """Return the ranks of translations and the numbers of candidates, both ways; the arguments are `ranking`'s."""
    values: dict[Key, Any] = {}
    for source, own, target, other, found in (
        (text.source, first, text.target, second, text.second),
        (text.target, second, text.source, first, text.first),
    ):
        for by in measures:
            ranked = ranking(by, own, other, found, distractors)
            values["rank", by, pair_name(source, target)] = ranked.ranks
            values["candidates", "", pair_name(source, target)] = ranked.candidates
    return values


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
        # The zero vector has no direction and ranks by no score.
        tiny = np.finfo(np.float64).tiny
        first, second = (
            side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), tiny) for side in (first, second)
        )
    elif measure == EUCLID:
        # |a - b|^2 = |a|^2 - 2 (a b - |b|^2 / 2), and |a| is the same for all b; moved to the middle for precision.
        middle = second.mean(axis=0)
        first, second = first - middle, second - middle
        first = np.column_stack([first, np.ones(len(first))])
        second = np.column_stack([second, -np.square(second).sum(axis=1) / 2])
    return translation_ranking(first, second, texts, distractors=distractors)
