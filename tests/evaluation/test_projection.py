from collections import Counter
from io import StringIO
from threading import Thread

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes
from tqdm import tqdm

from emu_core.errors import DataError
from emu_core.evaluation import projection
from emu_core.evaluation.projection import (
    Projection,
    aligned,
    place_on_map,
    project,
    stratified_sample,
    trustworthiness,
)

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


@pytest.mark.slow
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


@pytest.mark.parametrize("method", [Projection.TSNE, Projection.UMAP])
def test_a_map_in_the_making_is_shown_and_can_be_stopped(
    method: Projection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "EVERY_S", 0.0)
    vectors = clouds()
    told: list[tuple[float, NDArray[np.float32]]] = []
    points = project(vectors, method, on_map=lambda share, places: told.append((share, places)))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] >= 0
    assert 0.95 < shares[-1] <= 1
    assert all(places.shape == (60, 2) and places.dtype == np.float32 for _, places in told)
    pca = project(vectors, Projection.PCA)
    assert abs(np.corrcoef(told[0][1][:, 0], pca[:, 0])[0, 1]) > 0.99
    last, largest = told[-1][1], np.abs(points).max()
    if method == Projection.TSNE:  # each is a picture of its own, the last near the end
        assert np.abs(last - points).max() < 0.1 * largest < np.abs(told[0][1] - points).max()
    else:  # UMAP shows how far it is, and its map only at the end
        assert (last == told[0][1]).all()
        assert len({share for share in shares if share > 0.4}) > 100
    assert (points == project(vectors, method)).all()

    class StopError(Exception):
        pass

    def stop(share: float, _: NDArray[np.float32]) -> None:
        shares.append(share)
        if share > 0.5:
            raise StopError

    shares.clear()
    with pytest.raises(StopError):
        project(vectors, method, on_map=stop)
    assert sum(share > 0.5 for share in shares) == 1

    bar_of_another_thread = Thread(target=lambda: tqdm(range(1), file=StringIO()).close(), daemon=True)
    bar_of_another_thread.start()
    bar_of_another_thread.join(60)
    assert not bar_of_another_thread.is_alive()


@pytest.mark.slow
def test_tsne_of_many_points_keeps_crowds_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "MANY", 50)
    points = project(clouds(), Projection.TSNE)
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    np.fill_diagonal(distances, np.inf)
    assert (CROWDS[distances.argmin(axis=1)] == CROWDS).mean() > 0.95
    assert (points == project(clouds(), Projection.TSNE)).all()


def test_a_map_turned_mirrored_and_moved_is_turned_back() -> None:
    points = project(clouds(), Projection.PCA)
    for mirrored in (1, -1):
        turn = np.array([[np.cos(2), np.sin(2)], [-np.sin(2) * mirrored, np.cos(2) * mirrored]])
        moved = (7 * points @ turn + [3, -5]).astype(np.float32)
        np.testing.assert_allclose(aligned(moved, points), points, atol=1e-5)
    noisy = (points + np.random.default_rng(0).normal(size=points.shape, scale=0.1)).astype(np.float32)
    found = aligned(noisy, points)
    rotation, _ = orthogonal_procrustes(noisy - noisy.mean(axis=0), points - points.mean(axis=0))
    expected = (noisy - noisy.mean(axis=0)) @ rotation
    np.testing.assert_allclose(
        found - found.mean(axis=0), expected * np.linalg.norm(points) / np.linalg.norm(expected), atol=1e-4
    )
    assert np.isfinite(aligned(np.zeros((5, 2), np.float32), np.zeros((5, 2), np.float32))).all()
    with pytest.raises(DataError):
        aligned(points, points[1:])


def test_trustworthiness_counts_the_neighbours_that_the_vectors_do_not_have() -> None:
    vectors, k = clouds(), 10
    points = np.random.default_rng(1).random((60, 2))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    penalty = 0
    for row in range(60):
        by_cosine = [other for other in np.argsort(-units @ units[row]) if other != row]
        on_map = [other for other in np.argsort(np.linalg.norm(points - points[row], axis=1)) if other != row]
        penalty += sum(max(0, by_cosine.index(other) + 1 - k) for other in on_map[:k])
    expected = 1 - penalty * 2 / (60 * k * (2 * 60 - 3 * k - 1))
    assert trustworthiness(vectors, points) == pytest.approx(expected)
    assert trustworthiness(vectors, project(vectors, Projection.PCA)) > 0.8 > expected
    flat = vectors[:, :2] / np.linalg.norm(vectors[:, :2], axis=1, keepdims=True)
    assert trustworthiness(vectors[:, :2], flat) == 1
    assert 0 <= trustworthiness(vectors[:4], points[:4]) <= 1
    assert np.isnan(trustworthiness(vectors[:3], points[:3]))


def test_trustworthiness_of_many_is_that_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "TRUSTED_POINTS", 40)
    vectors, points = clouds(), np.random.default_rng(1).random((60, 2))
    drawn = np.random.default_rng(5).permutation(60)[:40]
    assert trustworthiness(vectors, points, seed=5) == pytest.approx(
        trustworthiness(vectors[drawn], points[drawn])
    )


def test_further_sentences_stand_at_their_nearest_ones() -> None:
    vectors, points = clouds(), np.random.default_rng(0).random((60, 2)).astype(np.float32)
    new = clouds(seed=0)[[0, 25, 59]] + 0.1
    units, asked = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (vectors, new))
    expected = []
    for one in asked:
        cosines = units @ one
        near = np.argsort(-cosines)[:3]
        expected.append((cosines[near, None] * points[near]).sum(axis=0) / cosines[near].sum())
    np.testing.assert_allclose(place_on_map(vectors, points, new, k=3), expected, atol=1e-5)
    np.testing.assert_allclose(place_on_map(vectors, points, vectors, k=1), points, atol=1e-6)
    assert place_on_map(vectors[:2], points[:2], -vectors[:1]).shape == (1, 2)
    with pytest.raises(DataError, match="1 neighbour or more"):
        place_on_map(vectors, points, new, k=0)


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
