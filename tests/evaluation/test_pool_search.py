"""The search of a pool against plain loops in float64, in float32 and rounded first, among repeated sentences."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from emu_core.evaluation import pool_search, retrieval
from emu_core.evaluation.pool_search import Pool, multiplies_bfloat16
from emu_core.evaluation.retrieval import TIE, best_columns

Units = NDArray[np.float32]
needs_bfloat16 = pytest.mark.skipif(
    not multiplies_bfloat16(), reason="the processor can't multiply bfloat16 quickly"
)


def ranked(scores: list[float], k: int, tolerance: float) -> list[int]:
    """The k best places; among those that are equal to the best of the rest, the first."""
    rest = [place for place, score in enumerate(scores) if score > -math.inf]
    chosen: list[int] = []
    while rest and len(chosen) < k:
        highest = max(scores[place] for place in rest)
        chosen.append(next(place for place in rest if scores[place] >= highest - tolerance))
        rest.remove(chosen[-1])
    return chosen


def sentences(rows: int, seed: int) -> Units:
    """Unit vectors in a few directions, so that many are close; every third is a repeat of an earlier one."""
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(8, 40))[draw.integers(8, size=rows)] + 0.3 * draw.normal(size=(rows, 40))
    for row in range(3, rows, 3):
        vectors[row] = vectors[draw.integers(row)]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("width", [1, 40, 700, 5000])
@pytest.mark.parametrize("k", [1, 3, 10, 40])
def test_the_best_columns_are_those_of_plain_loops(width: int, k: int) -> None:
    draw, k = np.random.default_rng(width), min(k, width)
    scores = draw.normal(size=(4, width)).astype(np.float32)
    scores[1] = scores[1].round(1)
    scores[2, draw.random(width) < 0.95] = -np.inf
    scores[3] = 0.5
    before, tolerance = scores.copy(), np.array([[1e-6], [1e-6], [0.05], [0]], dtype=np.float32)
    columns, best = best_columns(scores, k, tolerance)
    assert (scores == before).all()
    for row in range(4):
        expected = ranked(scores[row].tolist(), k, float(tolerance[row, 0]))
        assert columns[row, : len(expected)].tolist() == expected
        assert best[row].tolist() == [*scores[row, expected], *[-np.inf] * (k - len(expected))]


@pytest.mark.parametrize("is_rounded", [False, pytest.param(True, marks=needs_bfloat16)])
@pytest.mark.parametrize(("size", "labels", "k"), [(600, 5, 10), (600, 1, 3), (600, 200, 1), (90, 4, 90)])
def test_nearest_and_margins_are_those_of_plain_loops(
    is_rounded: bool, size: int, labels: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_search, "ROUNDED_FROM", 1 if is_rounded else size + 1)
    monkeypatch.setattr(retrieval, "BLOCK", 11 * size)
    monkeypatch.setattr(pool_search, "_PRODUCT_ROWS", 30)
    draw = np.random.default_rng(size + labels)
    pool, numbers = sentences(size, 1), draw.integers(labels, size=size)
    queries = np.concatenate([pool[:40], sentences(40, 2)])  # more than one product
    wanted, done = draw.integers(labels, size=80), 0
    numbers[:labels] = np.arange(labels)
    for block, cosines in Pool(pool, numbers).parts(queries):
        assert (block.start, hasattr(cosines, "error")) == (done, is_rounded)
        rows, values = cosines.nearest(k)
        margins = cosines.margins(wanted[block], rows, values)
        for query, number, *answer in zip(queries[block], wanted[block], rows, values, margins, strict=True):
            right = query.astype(np.float64) @ pool.T.astype(np.float64)
            assert answer[0].tolist() == ranked(right.tolist(), k, TIE)
            assert answer[1] == pytest.approx(right[answer[0]], abs=1e-6)
            other = right[numbers != number].max(initial=-math.inf)
            margin = right[numbers == number].max() - other if labels > 1 else math.nan
            assert answer[2] == pytest.approx(margin, abs=2e-6, nan_ok=True)
        done = block.stop
    assert done == 80


@needs_bfloat16
def test_a_pool_of_one_sentence_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_search, "ROUNDED_FROM", 1)
    pool = np.repeat(sentences(2, 3), 2000, axis=0)  # more equals than are looked at one by one
    numbers = np.arange(len(pool)) % 2
    ((_, cosines),) = Pool(pool, numbers).parts(np.repeat(pool[2000:2001], 70, axis=0))
    assert hasattr(cosines, "error")
    rows, values = cosines.nearest(3)
    assert (rows == [2000, 2001, 2002]).all()
    assert values == pytest.approx(1)
    assert cosines.margins(np.zeros(70, dtype=np.int64), rows, values) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("shown", [0, 2, 50])
def test_hidden_rows_are_not_met(shown: int) -> None:
    pool, is_hidden = sentences(300, 4), np.arange(300) >= shown
    ((_, cosines),) = Pool(pool, np.arange(300) % 3).parts(pool[:70], is_hidden)
    rows, values = cosines.nearest(5)
    for query in range(70):
        right = pool[query].astype(np.float64) @ pool[:shown].T.astype(np.float64)
        expected = ranked(right.tolist(), 5, TIE)
        assert rows[query, : len(expected)].tolist() == expected
        assert np.isneginf(values[query, len(expected) :]).all()
