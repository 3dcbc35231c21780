"""The evaluation of an encoder on parallel text: translation retrieval and eigen-similarity."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.data.parallel.held_out import joined_by_pivot
from emu_core.data.parallel.text import ParallelText
from emu_core.evaluation.arrays import DistinctTexts, Encode, pair_name, unit_vectors
from emu_core.evaluation.eigen_similarity import eigen_similarity
from emu_core.evaluation.translation_ranking import NS, TranslationRanking, both_ways

LEAST_FOR_EIGEN = 10  # pairs: the paper's sample


def parallel_metrics(encode: Encode, held_out: Sequence[ParallelText]) -> dict[str, Any]:
    """Return translation ranking by cosine, both ways, and eigen-similarity, of each language pair.

    Languages whose translations share a sentence of a third are measured too: an encoder may align them though it was
    trained on no pair of theirs.

    Args:
        encode: N texts -> (N, d).
        held_out: pairs that were not trained on.

    Returns:
        {"translation": {"en-de": {"p_at_1", "p_at_3", "p_at_10", "candidates", "low", "high", "trained"}, ...},
        "eigen_similarity": {"en-de": {"mean", "variance", "standard_error", "trained"}, ...}}.
    """
    distinct, units = _units(encode, held_out)
    translation: dict[str, Any] = {}
    eigen: dict[str, Any] = {}
    joined = joined_by_pivot(held_out)
    for text in [*held_out, *joined]:
        trained = text not in joined
        sides = units[distinct.rows(text.first)], units[distinct.rows(text.second)]
        there, back = both_ways((sides[0], text.first), (sides[1], text.second))
        translation[pair_name(*text.languages)] = _ranking(there, trained)
        translation[pair_name(*text.turned().languages)] = _ranking(back, trained)
        if len(text) >= LEAST_FOR_EIGEN:
            found = eigen_similarity(*sides)
            eigen[pair_name(*text.languages)] = {
                "mean": found.mean,
                "variance": found.variance,
                "standard_error": found.standard_error,
                "trained": trained,
            }
    return {"translation": translation, "eigen_similarity": eigen}


def mean_p_at_1(encode: Encode, held_out: Sequence[ParallelText]) -> float:
    """Return P@1 of translation ranking by cosine, percent, averaged over all language pairs and both ways."""
    distinct, units = _units(encode, held_out)
    found = [
        both_ways(*((units[distinct.rows(side)], side) for side in (text.first, text.second)))
        for text in held_out
    ]
    return float(np.mean([ranking.precision() for ways in found for ranking in ways]))


def _units(encode: Encode, texts: Sequence[ParallelText]) -> tuple[DistinctTexts, NDArray[np.float32]]:
    """Return every distinct sentence and its unit vector."""
    distinct = DistinctTexts(
        sentence for text in texts for side in (text.first, text.second) for sentence in side
    )
    return distinct, unit_vectors(encode(distinct.texts))


def _ranking(found: TranslationRanking, trained: bool) -> dict[str, Any]:
    interval = found.interval()
    return {
        **{f"p_at_{n}": found.precision(n) for n in NS},
        "low": interval.low,
        "high": interval.high,
        "candidates": found.candidates,
        "trained": trained,
    }
