from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.projection import Projection, project, stratified_sample

CROWDS = np.repeat(np.arange(3), 20)


def clouds(seed: int = 0) -> NDArray[np.float32]:
    """Three crowds of 20 directions, at random lengths."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(3, 16))[CROWDS] + 0.3 * rng.normal(size=(60, 16))
    return (vectors * rng.uniform(0.2, 5, size=(60, 1))).astype(np.float32)


def test_pca_equals_a_singular_value_decomposition() -> None:
    vectors = clouds()
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    left, sizes, _ = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    points = project(vectors, Projection.PCA)
    assert points.dtype == np.float32
    np.testing.assert_allclose(np.abs(points), np.abs(left[:, :2] * sizes[:2]), atol=1e-5)
    for axis in (0, 1):
        assert points[np.abs(points[:, axis]).argmax(), axis] > 0


def test_only_directions_count() -> None:
    vectors = clouds()
    np.testing.assert_allclose(
        project(vectors, Projection.PCA),
        project(vectors * np.arange(1, 61)[:, None], Projection.PCA),
        atol=1e-5,
    )


@pytest.mark.parametrize("method", list(Projection))
def test_crowds_stay_together_and_a_seed_repeats(method: Projection) -> None:
    vectors = clouds()
    points = project(vectors, method, seed=3)
    assert points.shape == (60, 2)
    assert points.dtype == np.float32
    assert np.isfinite(points).all()
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    np.fill_diagonal(distances, np.inf)
    assert (CROWDS[distances.argmin(axis=1)] == CROWDS).mean() > 0.95
    assert (points == project(vectors, method, seed=3)).all()
    if method != Projection.PCA:
        assert (points != project(vectors, method, seed=4)).any()


@pytest.mark.parametrize("method", list(Projection))
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 17])
def test_few_points(method: Projection, n: int) -> None:
    vectors = clouds()[::3][:n]
    if method == Projection.PCA or n >= 4:
        points = project(vectors, method)
        assert points.shape == (n, 2)
        assert np.isfinite(points).all()
    else:
        with pytest.raises(
            DataError, match=f"{method.label} needs 4 .* and these have {n}; choose more sentences, or"
        ):
            project(vectors, method)


@pytest.mark.parametrize("method", list(Projection))
def test_repeats_and_lines(method: Projection) -> None:
    repeats = np.repeat(clouds()[::15], [30, 1, 5, 1], axis=0)
    line = np.stack([np.ones(30), np.linspace(0, 1, 30)], axis=1)
    twins = np.repeat(clouds(), 2, axis=0)
    for vectors in (repeats, line, twins):
        points = project(vectors, method)
        assert np.isfinite(points).all()
        assert points.std(axis=0).min() > 0


def test_vectors_that_are_all_the_same() -> None:
    same = np.full((30, 8), -0.7) * np.linspace(1, 31, 30)[:, None]
    assert np.abs(project(same, Projection.PCA)).max() < 1e-6
    for method in (Projection.TSNE, Projection.UMAP):
        with pytest.raises(DataError, match="these have 1; choose more sentences, or PCA"):
            project(same, method)
        with pytest.raises(DataError, match="these have 2"):
            project(np.array([[1.0, -0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 1.0]]), method)


def test_one_dimension() -> None:
    points = project(np.array([[1.0], [-2.0], [3.0]]), Projection.PCA)
    assert points[:, 1].tolist() == [0, 0, 0]
    assert points[:, 0].tolist() == pytest.approx([-2 / 3, 4 / 3, -2 / 3])


def test_project_refuses() -> None:
    with pytest.raises(DataError, match="no projection 'isomap'; there are: pca, tsne, umap"):
        project(clouds(), "isomap")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="seed must be from 0"):
        project(clouds(), Projection.TSNE, seed=-1)
    with pytest.raises(DataError, match="not finite"):
        project(np.full((5, 5), np.nan), Projection.PCA)
    with pytest.raises(DataError, match=r"row 0 \(from 0\) is zero"):
        project(np.zeros((5, 5)), Projection.UMAP)


def cells() -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(0)
    sizes = {("en", "a"): 600, ("en", "b"): 300, ("de", "a"): 97, ("de", "c"): 2, ("ja", "b"): 1}
    pairs = [pair for pair, size in sizes.items() for _ in range(size)]
    shuffled = [pairs[i] for i in rng.permutation(len(pairs))]
    return [language for language, _ in shuffled], [intent for _, intent in shuffled]


@pytest.mark.parametrize("cap", [5, 6, 50, 999])
def test_sample_keeps_every_cell_in_proportion(cap: int) -> None:
    languages, intents = cells()
    rows = stratified_sample(languages, intents, cap)
    assert len(rows) == cap
    assert rows.tolist() == sorted(set(rows.tolist()))
    drawn = Counter((languages[row], intents[row]) for row in rows)
    for cell, size in Counter(zip(languages, intents, strict=True)).items():
        assert drawn[cell] >= 1
        if cap >= 50:
            assert abs(drawn[cell] - size * cap / 1000) <= 2


def test_sample_of_all_and_of_too_many_cells() -> None:
    languages, intents = cells()
    assert stratified_sample(languages, intents, 1000).tolist() == list(range(1000))
    assert stratified_sample(languages, intents, 10**9).tolist() == list(range(1000))
    few = stratified_sample(languages, intents, 3)
    assert len({(languages[row], intents[row]) for row in few}) == 3
    assert stratified_sample([], [], 5).shape == (0,)


def test_sample_is_seeded_and_draws_from_all_rows() -> None:
    languages, intents = cells()
    draws = [stratified_sample(languages, intents, 100, seed=seed).tolist() for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    seen = {
        row for seed in range(60) for row in stratified_sample(languages, intents, 300, seed=seed).tolist()
    }
    assert seen == set(range(1000))


def test_sample_refuses() -> None:
    with pytest.raises(DataError, match="can't draw 0 sentences"):
        stratified_sample(["en"], ["a"], 0)
    with pytest.raises(DataError, match="seed of 0 or more"):
        stratified_sample(["en"], ["a"], 1, seed=-1)
    with pytest.raises(DataError, match="2 languages for 1 vectors"):
        stratified_sample(["en", "de"], ["a"], 1)
