"""STS by angular distance against plain arithmetic, in one language and across two."""

import math

import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.similarity import angular_similarity, correlation, scores_of, sts, sts_across
from emu_core.formats.texts.scored_pairs import ScoredPairs

RNG = np.random.default_rng(1)


def pearson(a: list[float], b: list[float]) -> float:
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    top = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    return top / math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))


def test_the_score_is_minus_the_angle() -> None:
    first = np.array([[1, 0], [2, 0], [1, 0], [3, 3], [1e-3, 0]])
    second = np.array([[5, 0], [0, 1], [-1, 0], [1, 0], [1, math.sqrt(3)]])

    expected = [0, -math.pi / 2, -math.pi, -math.pi / 4, -math.pi / 3]
    assert angular_similarity(first, second) == pytest.approx(expected, abs=1e-5)


def test_equal_vectors_are_at_no_angle_whatever_rounding_says() -> None:
    vectors = RNG.normal(size=(200, 37)).astype(np.float32)

    assert (angular_similarity(vectors, vectors * 3) == 0).all()
    assert np.isfinite(angular_similarity(vectors, -vectors)).all()


def test_correlations_are_those_of_plain_arithmetic() -> None:
    found, wanted = [-0.1, -0.9, -0.4, -2.0, -1.1], [5.0, 3.0, 3.5, 0.5, 1.0]
    ranks = ([5.0, 3.0, 4.0, 1.0, 2.0], [5.0, 3.0, 4.0, 1.0, 2.0])

    result = correlation(np.array(found), wanted)

    assert result.pearson == pytest.approx(pearson(found, wanted))
    assert result.spearman == pytest.approx(pearson(*ranks)) == pytest.approx(1)
    assert result.pearson < 1
    assert result.count == 5
    # Ties share their rank: 1, 2.5, 2.5, 4.
    tied = correlation(np.array([1.0, 2, 3, 4]), [1, 2, 2, 0])
    assert tied.spearman == pytest.approx(pearson([1, 2, 3, 4], [2, 3.5, 3.5, 1]))


def test_each_language_and_each_two() -> None:
    vectors = {code: (RNG.normal(size=(9, 4)), RNG.normal(size=(9, 4))) for code in ("de", "en", "fr")}
    scores = [float(i % 6) for i in range(9)]
    pairs = {code: ScoredPairs([], [], scores) for code in vectors}

    alone, across = sts(vectors, scores_of(pairs)), sts_across(vectors, scores_of(pairs))

    assert list(alone) == ["en", "de", "fr"]
    assert list(across) == ["en-de", "en-fr", "de-en", "de-fr", "fr-en", "fr-de"]
    for name, result in (alone | across).items():
        a, b = name.split("-") if "-" in name else (name, name)
        angles = [
            -math.acos(float(u @ v) / math.sqrt(float(u @ u) * float(v @ v)))
            for u, v in zip(vectors[a][0], vectors[b][1], strict=True)
        ]
        assert result.pearson == pytest.approx(pearson(angles, scores), abs=1e-4)


def test_languages_whose_rows_differ_are_not_compared() -> None:
    vectors = {code: (RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))) for code in ("en", "de")}

    with pytest.raises(DataError, match=r"pair 3 has the score 2 in en and 2\.5 in de"):
        sts_across(vectors, {"en": [0, 1, 2, 3], "de": [0, 1, 2.5, 3]})
    with pytest.raises(DataError, match="there are 4 pairs in en and 3 in de"):
        sts_across(vectors, {"en": [0, 1, 2, 3], "de": [0, 1, 2]})


def test_what_has_no_correlation_is_refused() -> None:
    with pytest.raises(DataError, match="all equal"):
        correlation(np.array([1.0, 1, 1]), [1, 2, 3])
    with pytest.raises(DataError, match="not finite"):
        correlation(np.array([1.0, 2, 3]), [1, 2, math.nan])
    with pytest.raises(DataError, match="3 scores for 2 pairs"):
        correlation(np.array([1.0, 2]), [1, 2, 3])
    with pytest.raises(DataError, match="2 scores for 2 pairs; give 3 or more"):
        correlation(np.array([1.0, 2]), [1, 2])
    with pytest.raises(DataError, match="can't be paired"):
        angular_similarity(np.ones((3, 2)), np.ones((2, 2)))
    zero = {"de": (np.array([[1.0, 0], [0, 0], [1, 1]]), np.ones((3, 2)))}
    with pytest.raises(DataError, match="STS of de: the vector of row 1"):
        sts(zero, {"de": [1, 2, 3]})
