"""Equation 3 against plain loops, and what eigen-similarity must not see: order, rotation, scale."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation import retrieval as module
from emu_core.evaluation.eigen_similarity import Distance, eigen_similarity

RNG = np.random.default_rng(8)
SOURCES, TARGETS = RNG.normal(size=(2, 40, 7)) * [[[1.0]], [[2.0]]]


def distance(u: NDArray[np.float64], v: NDArray[np.float64], kind: Distance) -> float:
    cosine = sum(u * v) / math.sqrt(sum(u * u) * sum(v * v))
    match kind:
        case "angular":
            return math.acos(cosine)
        case "cosine":
            return float(1 - cosine)
        case "euclidean":
            return math.sqrt(sum((u - v) ** 2))


def spectrum(points: NDArray[np.float64], kind: Distance) -> list[float]:
    k = len(points)
    laplacian = np.zeros((k, k))
    for i in range(k):
        for j in range(k):
            if i != j:
                laplacian[i, j] = -distance(points[i], points[j], kind)
                laplacian[i, i] -= laplacian[i, j]
    return sorted(np.linalg.eigvals(laplacian).real)


@pytest.mark.parametrize("kind", ["angular", "cosine", "euclidean"])
def test_one_sample_of_all_pairs_is_equation_3(kind: Distance) -> None:
    first, second = (spectrum(vectors[:10], kind) for vectors in (SOURCES, TARGETS))
    expected = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))

    # The only sample of 10 of 10 pairs; its order doesn't matter to eigenvalues.
    found = eigen_similarity(SOURCES[:10], TARGETS[:10], samples=3, distance=kind)

    assert found.values == pytest.approx([expected] * 3, rel=1e-4)
    assert found.mean == pytest.approx(expected, rel=1e-4)
    assert found.variance == pytest.approx(0, abs=1e-12)


def test_two_sentences_by_hand() -> None:
    # The Laplacian [[w, -w], [-w, w]] has the eigenvalues 0 and 2w.
    sources, targets = np.array([[1.0, 0], [0, 1]]), np.array([[1.0, 0], [1, 1]])

    found = eigen_similarity(sources, targets, size=2, samples=2)

    assert found.mean == pytest.approx((2 * math.pi / 2 - 2 * math.pi / 4) ** 2)


def test_equal_sentences_are_at_no_distance() -> None:
    # Three equal sentences have the eigenvalues 0, 0, 0, and three at right angles 0, 3w, 3w.
    same = np.repeat(RNG.normal(size=(1, 37)), 3, axis=0)

    found = eigen_similarity(same, np.eye(3, 37), size=3, samples=2)

    assert found.mean == pytest.approx(2 * (3 * math.pi / 2) ** 2, rel=1e-6)


def test_mean_variance_and_standard_error_are_those_of_the_samples() -> None:
    found = eigen_similarity(SOURCES, TARGETS, samples=50, seed=1)
    values = found.values.tolist()
    mean = sum(values) / 50
    variance = sum((value - mean) ** 2 for value in values) / 49

    assert len(set(values)) > 40
    assert found.mean == pytest.approx(mean)
    assert found.variance == pytest.approx(variance)
    assert found.standard_error == pytest.approx(math.sqrt(variance / 50))


def test_samples_are_of_the_same_pairs_in_both_languages_and_none_twice() -> None:
    # Were another draw taken for the targets, equal vectors would not give 0.
    assert eigen_similarity(SOURCES, SOURCES, samples=20).values == pytest.approx(0, abs=1e-12)
    # With all pairs drawn each time, one drawn twice would change the value.
    assert np.ptp(eigen_similarity(SOURCES[:9], TARGETS[:9], size=9, samples=30).values) < 1e-9


def test_a_rotation_and_a_scale_change_nothing_but_the_euclidean_scale() -> None:
    turn, _ = np.linalg.qr(RNG.normal(size=(7, 7)))

    assert eigen_similarity(SOURCES, 3 * SOURCES @ turn, samples=9).mean == pytest.approx(0, abs=1e-6)
    assert eigen_similarity(SOURCES, SOURCES @ turn, samples=9, distance="euclidean").mean == pytest.approx(
        0, abs=1e-6
    )
    assert eigen_similarity(SOURCES, 3 * SOURCES @ turn, samples=9, distance="euclidean").mean > 1


def test_repeated_sentences_give_no_nan_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.repeat(RNG.normal(size=(6, 33)).astype(np.float32), 5, axis=0)
    other = RNG.normal(size=(30, 33)).astype(np.float32)
    whole = eigen_similarity(vectors, other, samples=30).values
    monkeypatch.setattr(module, "BLOCK", 1)

    assert np.isfinite(whole).all()
    assert eigen_similarity(vectors, other, samples=30).values == pytest.approx(whole)


def test_a_seed_draws_the_same_again_and_another_does_not() -> None:
    values = [eigen_similarity(SOURCES, TARGETS, samples=5, seed=seed).values.tolist() for seed in (1, 1, 2)]

    assert values[0] == values[1] != values[2]


def test_what_cannot_be_sampled_is_refused() -> None:
    with pytest.raises(DataError, match="can't draw a sample of 10 from 9 pairs"):
        eigen_similarity(SOURCES[:9], TARGETS[:9])
    with pytest.raises(DataError, match="can't draw a sample of 1 from"):
        eigen_similarity(SOURCES, TARGETS, size=1)
    with pytest.raises(DataError, match="1 samples have no variance"):
        eigen_similarity(SOURCES, TARGETS, samples=1)
    with pytest.raises(DataError, match="can't be paired"):
        eigen_similarity(SOURCES, TARGETS[:20])
    with pytest.raises(DataError, match="is zero"):
        eigen_similarity(SOURCES * (np.arange(40) != 3)[:, None], TARGETS)
