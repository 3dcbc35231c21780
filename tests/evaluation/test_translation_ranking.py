"""Translation ranking by plain loops: ranks among all and among drawn targets, ties, equal texts."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation import retrieval as module
from emu_core.evaluation.retrieval import translation_retrieval
from emu_core.evaluation.translation_ranking import (
    both_ways,
    nearest_translations,
    ranked,
    translation_ranking,
)

RNG = np.random.default_rng(5)
# Lengths differ, so that a ranking by cosine is another one.
SOURCES = (RNG.normal(size=(23, 6)) * RNG.uniform(0.2, 5, size=(23, 1))).astype(np.float32)
TARGETS = ((SOURCES + RNG.normal(size=(23, 6)) * 1.5) * RNG.uniform(0.5, 2, size=(23, 1))).astype(np.float32)


def dot(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return sum(float(x) * float(y) for x, y in zip(a, b, strict=True))


def test_ranks_and_precision_are_those_of_plain_loops() -> None:
    ranks = []
    for i in range(23):
        scores = [dot(SOURCES[i], target) for target in TARGETS]
        ranks.append(sorted(scores, reverse=True).index(scores[i]) + 1)

    found = translation_ranking(SOURCES, TARGETS)

    assert found.ranks.tolist() == ranks
    assert found.candidates == 23
    assert len(set(ranks)) > 3
    for n in (1, 3, 10):
        assert found.precision(n) == pytest.approx(100 * sum(rank <= n for rank in ranks) / 23)
    assert found.interval(1).low < found.precision(1) < found.interval(1).high


def test_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = translation_ranking(SOURCES, TARGETS).ranks
    drawn = translation_ranking(SOURCES, TARGETS, distractors=5, seed=2).ranks
    order, scores = ranked(SOURCES, TARGETS, 4)
    monkeypatch.setattr(module, "BLOCK", 50)

    assert (translation_ranking(SOURCES, TARGETS).ranks == whole).all()
    assert (translation_ranking(SOURCES, TARGETS, distractors=5, seed=2).ranks == drawn).all()
    assert (ranked(SOURCES, TARGETS, 4)[0] == order).all()
    assert ranked(SOURCES, TARGETS, 4)[1] == pytest.approx(scores)


def test_as_many_distractors_as_there_are_others_is_all_of_them() -> None:
    every = translation_ranking(SOURCES, TARGETS)
    drawn = translation_ranking(SOURCES, TARGETS, distractors=22, seed=9)

    assert (drawn.ranks == every.ranks).all()
    assert drawn.candidates == 23


def test_distractors_are_drawn_evenly_and_never_twice() -> None:
    # Of n - 1 others, b are better: among k drawn the expected rank is 1 + k b / (n - 1), and at most b + 1.
    every = translation_ranking(SOURCES, TARGETS).ranks
    draws = np.stack([translation_ranking(SOURCES, TARGETS, distractors=7, seed=s).ranks for s in range(400)])

    assert draws.mean(axis=0) == pytest.approx(1 + 7 * (every - 1) / 22, abs=0.35)
    assert (draws <= every).all()
    assert draws.max() <= 8
    # Seven drawn leave fifteen out: with b better ones at least b - 15 are drawn, had none come twice.
    assert (draws >= every - 15).all()
    assert len({tuple(row) for row in draws.tolist()}) > 100


def test_a_seed_draws_the_same_again() -> None:
    first, second = (translation_ranking(SOURCES, TARGETS, distractors=7, seed=3) for _ in range(2))

    assert (first.ranks == second.ranks).all()


def test_an_encoder_that_says_the_same_of_all_has_one_right() -> None:
    same = np.tile(RNG.normal(size=8), (30, 1))
    noise = 1e-8 * RNG.normal(size=(30, 8))

    assert translation_ranking(1e3 * same, 1e3 * (same + noise)).ranks.tolist() == list(range(1, 31))


def test_a_target_of_the_same_text_is_as_right() -> None:
    sources = np.eye(3)
    targets = np.eye(3)[[1, 1, 2]]  # the first source's target is another's, too

    assert translation_ranking(sources[[1, 1, 2]], targets).ranks.tolist() == [1, 2, 1]
    assert translation_ranking(sources[[1, 1, 2]], targets, ["a", "a", "b"]).ranks.tolist() == [1, 1, 1]


def test_both_ways_are_the_two_one_way() -> None:
    texts = [f"t{i % 20}" for i in range(23)]
    there, back = both_ways((SOURCES, texts), (TARGETS, None), distractors=9, seed=4)

    assert (there.ranks == translation_ranking(SOURCES, TARGETS, distractors=9, seed=4).ranks).all()
    assert (back.ranks == translation_ranking(TARGETS, SOURCES, texts, distractors=9, seed=4).ranks).all()
    assert (there.ranks != back.ranks).any()


def test_a_ranked_list_is_sorted_by_dot_product() -> None:
    rows, scores = ranked(SOURCES[:4], TARGETS, 5)

    for i in range(4):
        best = sorted(range(23), key=lambda j: -dot(SOURCES[i], TARGETS[j]))[:5]
        assert rows[i].tolist() == best
        assert scores[i] == pytest.approx([dot(SOURCES[i], TARGETS[j]) for j in best], rel=1e-4)


def test_a_ranked_list_is_as_long_as_the_targets_and_puts_the_first_of_equals_first() -> None:
    rows, scores = ranked(np.ones((1, 2)), np.array([[1, 0], [2, 0], [0, 1], [1, 1]]), 9)

    assert rows.tolist() == [[1, 3, 0, 2]]
    assert scores.tolist() == [[2, 2, 1, 1]]


@pytest.mark.parametrize("distractors", [0, -1, 23, 999])
def test_distractors_that_are_not_there_are_refused(distractors: int) -> None:
    with pytest.raises(DataError, match="other targets for a sentence of 23; choose 1 to 22"):
        translation_ranking(SOURCES, TARGETS, distractors=distractors)


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="23 and 22 sentences can't be paired"):
        translation_ranking(SOURCES, TARGETS[:22])
    with pytest.raises(DataError, match="6 and 5 dimensions"):
        translation_ranking(SOURCES, TARGETS[:, :5])
    with pytest.raises(DataError, match="22 target sentences for 23"):
        translation_ranking(SOURCES, TARGETS, ["x"] * 22)
    with pytest.raises(DataError, match="0 results"):
        ranked(SOURCES, TARGETS, 0)
    for bad in (np.nan, np.inf, 1e30):
        with pytest.raises(DataError, match="not finite or too large"):
            translation_ranking(np.where(np.arange(23)[:, None] == 4, bad, SOURCES), TARGETS)
    for empty, other in combinations((np.zeros((0, 3)), np.zeros(3), np.zeros((3, 0))), 2):
        with pytest.raises(DataError, match="vectors are an array"):
            ranked(empty, other, 1)


def test_a_translation_in_another_spelling_is_right_in_every_measure() -> None:
    queries, pool = np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[[1, 0, 2]]
    texts = ["Where is it?", "where  is it?\u200b", "here"]
    assert translation_ranking(queries, pool, texts).precision() == 100
    assert translation_retrieval(queries, pool, texts).accuracy == 100
    assert translation_ranking(queries, pool, ["a", "b", "c"]).precision() == pytest.approx(100 / 3)
    near = nearest_translations(queries[0], pool, texts, 1, row=0, rank=2)
    assert near["is_translation"].tolist() == [True]
