import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation import triples
from emu_core.evaluation.triples import suggest_triples, triple, triple_cosines
from tests.support.sentences import Sentences, cosine, random_sentences


def test_cosines_and_the_closest() -> None:
    vectors = np.array([[1.0, 0.0], [3.0, 1.0], [2.0, 2.0]])
    result = triple(vectors)
    assert (result.s12, result.s13, result.s23) == pytest.approx((3 / 10**0.5, 1 / 2**0.5, 4 / 20**0.5))
    assert result.closest == (1, 2)
    assert triple(vectors[[0, 2, 1]]).closest == (1, 3)
    assert triple(vectors[[2, 0, 1]]).closest == (2, 3)


def test_many_triples_have_the_cosines_of_each() -> None:
    spaces = np.random.default_rng(0).normal(size=(3, 7, 5))
    found = triple_cosines(*spaces)
    assert found == pytest.approx(np.array([triple(spaces[:, row]).cosines for row in range(7)]))


def test_among_equals_the_first_pair_is_the_closest() -> None:
    for seed in range(20):  # float32 gives one direction at three lengths cosines that differ a little
        rng = np.random.default_rng(seed)
        result = triple(rng.normal(size=300) * rng.uniform(0.1, 9, size=(3, 1)))
        assert result.closest == (1, 2)
        assert max(result.s12, result.s13, result.s23) <= 1
    assert triple(np.array([[1, 0], [0, 1], [1, 1]])).closest == (1, 3)


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        (np.ones((2, 4)), "not 2; give S1, S2 and S3"),
        (np.ones(3), "array of"),
        (np.array([[1.0, 0], [0, 0], [1, 1]]), r"row 1 \(from 0\) is zero"),
        (np.full((3, 2), np.nan), "not finite"),
    ],
)
def test_refuses(vectors: np.ndarray, words: str) -> None:
    with pytest.raises(DataError, match=words):
        triple(vectors)


DATA = random_sentences(80, ("en", "de"), seed=5)
TEXTS = [f"text {row % 60}" for row in range(80)]  # the last 20 repeat the first 20


def suggested(
    k: int, seed: int = 0, *, across: bool = False, data: Sentences = DATA
) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    texts = TEXTS[: len(data.ids)]
    rows = suggest_triples(
        data.vectors, data.intents, texts, data.languages, data.ids, k, rng, across_languages=across
    )
    assert rows.shape == (len(rows), 3)
    return [tuple(row) for row in rows.tolist()]


def plain(first: int, across: bool) -> tuple[int, int, int] | None:
    """The triple of one S1 by loops."""

    def apart(a: int, b: int) -> bool:
        return TEXTS[a] != TEXTS[b] and (not DATA.ids[a] or DATA.ids[a] != DATA.ids[b])

    def nearest(rows: list[int]) -> int:
        return max(rows, key=lambda row: cosine(DATA.vectors[first], DATA.vectors[row]))

    others = [row for row in range(80) if row != first and apart(first, row)]
    second = nearest(
        [
            r
            for r in others
            if DATA.languages[r] == DATA.languages[first] and DATA.intents[r] != DATA.intents[first]
        ]
    )
    thirds = [
        row
        for row in others
        if DATA.intents[row] == DATA.intents[first]
        and (DATA.languages[row] != DATA.languages[first]) == across
        and apart(second, row)
    ]
    third = nearest(thirds)
    base = DATA.vectors[first]
    return (
        (first, second, third)
        if cosine(base, DATA.vectors[third]) < cosine(base, DATA.vectors[second])
        else None
    )


@pytest.mark.parametrize("across", [False, True])
def test_all_triples_equal_plain_loops(across: bool) -> None:
    expected = {found for first in range(80) if (found := plain(first, across))}
    assert 10 < len(expected) < 70
    assert set(suggested(1000, across=across)) == expected


def test_every_intent_gets_its_turn() -> None:
    intents = [DATA.intents[first] for first, _, _ in suggested(1000)]
    earlier = [intents[:place].count(intent) for place, intent in enumerate(intents)]
    assert earlier == sorted(earlier)
    assert earlier[-1] > 3
    assert suggested(6) == suggested(1000)[:6]


def test_seeded() -> None:
    assert suggested(5, seed=1) == suggested(5, seed=1)
    assert suggested(5, seed=1) != suggested(5, seed=2)


def test_a_large_set_is_searched_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = set(suggested(1000))
    monkeypatch.setattr(triples, "BLOCK", 30 * 80)
    part = suggested(1000)
    assert 0 < len(part) <= 30
    assert set(part) <= everything


@pytest.mark.parametrize("intents", [["a"] * 4, ["a", "b", "c", "d"], ["a", "a", "b", "b"]])
def test_nothing_to_suggest(intents: list[str]) -> None:
    """One intent, no two sentences of an intent, or an encoder without the bias."""
    vectors = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], dtype=np.float32)
    assert suggested(3, data=Sentences(vectors, intents, ["en"] * 4, [""] * 4)) == []


def test_suggest_refuses() -> None:
    with pytest.raises(DataError, match="can't select 0 triples; ask for 1 or more"):
        suggested(0)
    with pytest.raises(DataError, match="3 intents for 4 vectors"):
        suggested(1, data=Sentences(np.eye(4, dtype=np.float32), ["a"] * 3, ["en"] * 4, [""] * 4))
