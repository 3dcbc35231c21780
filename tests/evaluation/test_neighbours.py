import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation import retrieval
from emu_core.evaluation.retrieval import nearest
from tests.support.sentences import cosine, random_sentences

DATA = random_sentences(50, ("en", "de", "ja"), seed=6)


def met(query: int, *, by_id: bool) -> list[int]:
    own = DATA.ids[query] if by_id else ""
    return [row for row in range(50) if row != query and (not own or DATA.ids[row] != own)]


@pytest.mark.parametrize("by_id", [True, False])
@pytest.mark.parametrize("block", [60, 2**22])
def test_nearest_equals_a_sort(by_id: bool, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "BLOCK", block)
    queries = [49, 0, 7, 7]
    result = nearest(DATA.vectors, queries, 5, DATA.ids if by_id else None)
    for place, query in enumerate(queries):
        cosines = {row: cosine(DATA.vectors[query], DATA.vectors[row]) for row in met(query, by_id=by_id)}
        rows = sorted(cosines, key=lambda row: -cosines[row])[:5]
        assert result.rows[place].tolist() == rows
        assert result.cosines[place].tolist() == pytest.approx([cosines[row] for row in rows], abs=1e-6)


def test_equals_come_in_their_order() -> None:
    vectors = np.random.default_rng(0).normal(size=64) * np.arange(1, 40)[:, None]
    result = nearest(vectors, [20], 38)
    assert result.rows[0].tolist() == [row for row in range(39) if row != 20]
    assert result.cosines.max() <= 1


def test_fewer_others_than_asked_for() -> None:
    result = nearest(np.eye(4), [0, 3], 10, ["1", "1", "1", ""])
    assert result.rows.tolist() == [[3, -1, -1], [0, 1, 2]]
    assert np.isnan(result.cosines).tolist() == [[False, True, True], [False] * 3]
    assert nearest(np.ones((1, 2)), [0], 5).rows.shape == (1, 0)
    assert nearest(np.eye(4), [], 2).rows.shape == (0, 2)


@pytest.mark.parametrize(
    ("rows", "k", "words"),
    [([4], 1, "rows 0 to 3 only"), ([0, -1], 1, "rows 0 to 3 only"), ([0], 0, "ask for 1 or more")],
)
def test_nearest_refuses(rows: list[int], k: int, words: str) -> None:
    with pytest.raises(DataError, match=words):
        nearest(np.eye(4), rows, k)
