"""Cosines between chosen sentences, and semantic textual similarity (dual encoder, section 3.5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from emu_core.data.languages import ordered
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, check_length, pair_name, paired_cosines, unit_vectors
from emu_core.formats.texts.scored_pairs import ScoredPairs

MAX_SENTENCES = 5000
"""With more, a matrix takes over 100 MB and can't be read."""


def cosine_matrix(vectors: Vectors) -> NDArray[np.float32]:
    """Return the cosine of every two of N vectors (N, d): (N, N), symmetric, from -1 to 1, exactly 1 on the diagonal.

    Raises:
        DataError: a vector is zero or not finite, or there are more than `MAX_SENTENCES`.
    """
    if len(vectors) > MAX_SENTENCES:
        raise DataError(f"{len(vectors):,} sentences are too many to compare; choose up to {MAX_SENTENCES:,}")
    units = unit_vectors(vectors)
    cosines = np.clip(units @ units.T, -1, 1)
    np.fill_diagonal(cosines, 1)
    return cosines


def heat_map_order(intents: Sequence[str], languages: Sequence[str]) -> NDArray[np.int64]:
    """Return the row numbers sorted by intent, then by language (English first), then by row.

    Raises:
        DataError: the two differ in length.
    """
    check_length(languages, len(intents), "languages")
    rank = {language: at for at, language in enumerate(ordered(languages))}
    rows = sorted(range(len(intents)), key=lambda row: (intents[row], rank[languages[row]]))
    return np.array(rows, dtype=np.int64)


@dataclass(frozen=True)
class Correlation:
    """Pearson's r, which the paper reports, and Spearman's correlation of `count` similarities with human scores."""

    pearson: float
    spearman: float
    count: int


def angular_similarity(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """Return -arccos(u v / (|u| |v|)) of each row of two arrays (N, d), from -pi (opposite) to 0 (equal directions).

    Raises:
        DataError: a vector is zero or not finite, or the shapes differ.
    """
    return -np.arccos(np.clip(paired_cosines(first, second), -1, 1))


def correlation(similarities: Vectors, scores: Sequence[float]) -> Correlation:
    """Return the correlation of N similarities with N human scores.

    Raises:
        DataError: see `check_scored`.
    """
    from scipy.stats import pearsonr, spearmanr

    predicted, wanted = check_scored(similarities, scores)
    return Correlation(
        float(pearsonr(predicted, wanted)[0]), float(spearmanr(predicted, wanted)[0]), len(predicted)
    )


def check_scored(
    similarities: Vectors, scores: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return N similarities and N scores as arrays, after checking that they have a correlation.

    Raises:
        DataError: there are fewer than 3, the lengths differ, or either is not finite or all equal.
    """
    predicted, wanted = np.asarray(similarities, np.float64), np.asarray(scores, np.float64)
    if len(predicted) != len(wanted) or len(predicted) < 3:
        raise DataError(
            f"there are {len(wanted):,} scores for {len(predicted):,} pairs; give 3 or more of both, one for each"
        )
    if any(not np.isfinite(part).all() or np.ptp(part) == 0 for part in (predicted, wanted)):
        raise DataError(
            "scores or similarities that are all equal, or not finite, have no correlation; check the file"
        )
    return predicted, wanted


def sts(
    vectors: Mapping[str, tuple[Vectors, Vectors]], scores: Mapping[str, Sequence[float]]
) -> dict[str, Correlation]:
    """Return the correlation in each language, by its code.

    Args:
        vectors: language -> vectors (N, d) of its pairs' first and of their second sentences.
        scores: language -> its N scores.

    Raises:
        DataError: see `correlation`; it names the language.
    """
    return {
        language: _correlation(*vectors[language], scores[language], language)
        for language in ordered(vectors)
    }


def sts_across(
    vectors: Mapping[str, tuple[Vectors, Vectors]], scores: Mapping[str, Sequence[float]]
) -> dict[str, Correlation]:
    """Return the correlation of first sentences in language a with second sentences in language b, by "a-b".

    Row i must be the same pair in all languages, which is checked by its score.

    Args:
        vectors: see `sts`; two languages or more.
        scores: language -> its N scores.

    Raises:
        DataError: see `correlation`, or the languages' rows are not the same pairs.
    """
    languages = ordered(vectors)
    a, first = languages[0], scores[languages[0]]
    rule = "to compare across languages give the same pairs in the same order"
    for b in languages[1:]:
        if len(first) != len(second := scores[b]):
            raise DataError(
                f"there are {len(first):,} pairs in {shown(a)} and {len(second):,} in {shown(b)}; {rule}"
            )
        if unequal := np.flatnonzero(np.asarray(first) != np.asarray(second)).tolist():
            row = unequal[0]
            raise DataError(
                f"pair {row + 1} has the score {first[row]:g} in {shown(a)} and {second[row]:g} in {shown(b)}; {rule}"
            )
    return {
        pair_name(a, b): _correlation(vectors[a][0], vectors[b][1], scores[a], pair_name(a, b))
        for a, b in permutations(languages, 2)
    }


def scores_of(pairs: Mapping[str, ScoredPairs]) -> dict[str, list[float]]:
    """Return the scores by language of what `read_scored_pairs` returns."""
    return {language: part.scores for language, part in pairs.items()}


def _correlation(first: Vectors, second: Vectors, scores: Sequence[float], what: str) -> Correlation:
    try:
        return correlation(angular_similarity(first, second), scores)
    except DataError as error:
        raise DataError(f"STS of {what}: ", error) from None
