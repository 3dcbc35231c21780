import numpy as np
import pytest
from scipy import stats

from emu_core.errors import DataError
from emu_core.evaluation import retrieval as module
from emu_core.evaluation.retrieval import template_retrieval, translation_retrieval
from emu_core.evaluation.significance import accuracy_interval, binomial_interval, mean_interval


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def vectors(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape) * np.random.default_rng(seed + 1).uniform(
        1, 9, (shape[0], 1)
    )


@pytest.mark.parametrize("block", [2**22, 100])
def test_ranks_and_map_by_plain_loops(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    n, each = 17, 5
    sources = vectors(n, 6)
    targets = np.repeat(sources, each, axis=0) + 2.0 * vectors(n * each, 6, seed=8)
    found = template_retrieval(sources, targets)
    precisions = []
    for i in range(n):
        order = sorted(range(n * each), key=lambda j: -cosine(sources[i], targets[j]))
        ranks = [place for place, j in enumerate(order, 1) if j // each == i]
        assert found.ranks[i].tolist() == ranks
        total = 0.0
        for k in range(each):
            total += (k + 1) / ranks[k]
        precisions.append(total / each)
    assert found.average_precision == pytest.approx(precisions)
    assert found.mean_average_precision == pytest.approx(100 * sum(precisions) / n)
    assert 0 < found.mean_average_precision < 100
    right = sum(ranks[0] == 1 for ranks in found.ranks.tolist())
    assert found.accuracy == pytest.approx(100 * right / n) and 0 < right < n
    assert accuracy_interval(found.correct) == binomial_interval(right, n)


def test_one_target() -> None:
    sources = np.array([[1.0, 0], [0, 2], [1, 1]])
    targets = np.array(
        [[3.0, 0.1], [1, 0.9], [0.1, 1]]
    )  # the second's nearest is the third's, and the other way round
    found = template_retrieval(sources, targets)
    assert found.ranks.tolist() == [[1], [2], [2]]
    assert found.correct.tolist() == [True, False, False]
    assert found.average_precision.tolist() == [1.0, 0.5, 0.5]


def test_among_equals_the_first_is_the_nearest() -> None:
    same = np.ones((4, 3))
    assert template_retrieval(same, same).ranks[:, 0].tolist() == [1, 2, 3, 4]
    nearly = np.ones((8, 3)) + np.random.default_rng(0).normal(size=(8, 3)) * 1e-5
    assert template_retrieval(same, nearly).ranks.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_targets_of_a_chain_of_near_equals_have_places_of_their_own() -> None:
    angles = np.arccos(np.array([0.5, 0.5 + 8e-7, 0.5 + 16e-7]))
    targets = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = template_retrieval(np.array([[1.0, 0]]), targets)
    assert (found.ranks >= [1, 2, 3]).all() and found.average_precision[0] <= 1


def test_a_text_stands_in_the_pool_once() -> None:
    sources = np.eye(3)
    targets = np.array([[1.0, 0, 0], [1, 0, 0], [1, 1, 1]])
    texts = ["play jazz", "play jazz", "stop"]
    assert template_retrieval(sources, targets, texts).ranks[:, 0].tolist() == [1, 2, 1]
    assert template_retrieval(sources[:2], targets[:2]).ranks[:, 0].tolist() == [1, 2]
    assert template_retrieval(sources[:2], targets[:2], texts[:2]).ranks[:, 0].tolist() == [1, 1]


def test_wrong_arrays() -> None:
    with pytest.raises(DataError, match="give each source as many"):
        template_retrieval(np.eye(2), np.ones((3, 2)))
    with pytest.raises(DataError, match="by the same encoder"):
        template_retrieval(np.eye(2), np.eye(2, 3) + 1)
    with pytest.raises(DataError, match="two targets of one text"):
        template_retrieval(np.eye(2), np.ones((4, 2)), ["a", "a", "b", "c"])
    with pytest.raises(DataError, match="is zero"):
        template_retrieval(np.eye(2), np.zeros((2, 2)))


def test_translations_by_plain_loops() -> None:
    first = vectors(25, 4)
    second = first + 1.5 * vectors(25, 4, seed=5)
    for queries, pool in ((first, second), (second, first)):
        found = translation_retrieval(queries, pool)
        nearest = [max(range(25), key=lambda j: cosine(queries[i], pool[j])) for i in range(25)]
        assert found.nearest.tolist() == nearest
        assert found.correct.tolist() == [i == j for i, j in enumerate(nearest)]
        right = sum(found.correct.tolist())
        assert 0 < right < 25 and found.accuracy == pytest.approx(4.0 * right)
        assert accuracy_interval(found.correct) == binomial_interval(right, 25)


def test_a_neighbour_of_the_translations_text_is_right() -> None:
    queries, pool = np.eye(3), np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert translation_retrieval(queries, pool).correct.tolist() == [False, False, True]
    assert translation_retrieval(queries, pool, ["an", "an", "aus"]).correct.tolist() == [True, True, True]
    assert translation_retrieval(queries, pool, ["an", "ab", "aus"]).accuracy == pytest.approx(100 / 3)


def test_one_vector_for_all_sentences_has_one_right() -> None:
    assert translation_retrieval(np.ones((5, 3)), np.ones((5, 3))).correct.sum() == 1
    with pytest.raises(DataError, match="5 and 4 sentences can't be paired"):
        translation_retrieval(np.ones((5, 3)), np.ones((4, 3)))


def test_the_interval_of_a_mean() -> None:
    scores = np.array([0.2, 0.9, 1.0, 0.4])
    widened = [*scores, 0.0, 1.0]
    mean = sum(widened) / 6
    deviation = (sum((value - mean) ** 2 for value in widened) / 5) ** 0.5
    margin = stats.t.ppf(0.975, 5) * deviation / 6**0.5
    interval = mean_interval(scores)
    assert interval.low == pytest.approx(100 * (mean - margin))
    assert interval.high == pytest.approx(100 * min(1, mean + margin))
    assert (
        mean_interval(np.ones(500)).low < 100
        and mean_interval(np.ones(3)).low < mean_interval(np.ones(500)).low
    )
    for wrong in (np.array([]), np.array([1.2]), np.array([np.nan]), np.ones((2, 2))):
        with pytest.raises(DataError, match="scores from 0 to 1"):
            mean_interval(wrong)
