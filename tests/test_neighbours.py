import numpy as np
import pytest
from sentences import cosine, nearest_row, random_sentences

from emu_core.errors import DataError
from emu_core.evaluation import retrieval
from emu_core.evaluation.neighbours import ChangeCounts, changed_neighbours, nearest

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


def test_changed_equals_plain_loops() -> None:
    noise = np.random.default_rng(1).normal(size=(50, 5))
    specialised = (DATA.vectors / np.linalg.norm(DATA.vectors, axis=1, keepdims=True) + 0.25 * noise) * 3
    result = changed_neighbours(DATA.vectors, specialised, DATA.intents, DATA.languages, DATA.ids)
    kinds = []
    for query in range(50):
        rows = met(query, by_id=True)
        old = nearest_row(DATA.vectors[query], {row: DATA.vectors[row] for row in rows})
        new = nearest_row(specialised[query], {row: specialised[row] for row in rows})
        was, now = (DATA.intents[row] == DATA.intents[query] for row in (old, new))
        assert (result.old[query], result.new[query]) == (old, new)
        assert (result.was_right[query], result.now_right[query]) == (was, now)
        assert result.mended[query] == (now and not was)
        assert result.broken[query] == (was and not now)
        assert result.old_cosine[query] == pytest.approx(
            cosine(DATA.vectors[query], DATA.vectors[old]), abs=1e-6
        )
        assert result.new_cosine[query] == pytest.approx(
            cosine(specialised[query], specialised[new]), abs=1e-6
        )
        kinds.append("mended" if now > was else "broken" if was > now else "same" if old == new else "moved")
    names = ("mended", "broken", "moved", "same")
    assert min(kinds.count(name) for name in names) > 0  # else a kind was never tried
    assert result.counts == ChangeCounts(*(kinds.count(name) for name in names))
    assert list(result.by_language) == ["en", "de", "ja"]
    for language, counts in result.by_language.items():
        here = [kind for kind, code in zip(kinds, DATA.languages, strict=True) if code == language]
        assert counts == ChangeCounts(*(here.count(name) for name in names))


def test_vectors_may_differ_in_dimensions() -> None:
    result = changed_neighbours(np.eye(4), np.eye(4, 7), ["a", "a", "b", "b"], ["en"] * 4, [""] * 4)
    assert result.counts == ChangeCounts(mended=0, broken=0, moved=0, same=4)


@pytest.mark.parametrize(
    ("specialised", "ids", "words"),
    [
        (np.eye(3), ["", "", "", ""], "4 and 3 vectors can't be paired"),
        (np.zeros((4, 4)), ["", "", "", ""], r"row 0 \(from 0\) is zero"),
        (np.eye(4), ["1", "1", "1", "1"], r"row 0 \(from 0\) has no sentence of another id in the data"),
        (np.eye(4), ["1"], "1 ids for 4 vectors"),
    ],
)
def test_changed_refuses(specialised: np.ndarray, ids: list[str], words: str) -> None:
    with pytest.raises(DataError, match=words):
        changed_neighbours(np.eye(4), specialised, ["a", "a", "b", "b"], ["en"] * 4, ids)
