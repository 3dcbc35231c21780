import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.leave_one_out import pool_accuracy
from tests.support.sentences import nearest_row, random_sentences


@pytest.mark.parametrize("with_ids", [True, False])
def test_equals_plain_loops(with_ids: bool) -> None:
    asked, pool = random_sentences(40, ("en", "ja"), seed=1), random_sentences(60, ("de", "en", "fr"), seed=2)
    result = pool_accuracy(
        asked.vectors, asked.intents, asked.languages, pool.vectors, pool.intents, pool.languages,
        query_ids=asked.ids if with_ids else None, pool_ids=pool.ids if with_ids else None,
    )  # fmt: skip
    assert list(result.accuracy) == ["en-en", "en-de", "en-fr", "ja-en", "ja-de", "ja-fr"]
    assert list(result.by_language) == ["en", "ja"]

    def plain(query: int, languages: set[str]) -> int:
        own = asked.ids[query] if with_ids else ""
        rows = [
            row for row in range(60) if pool.languages[row] in languages and (not own or pool.ids[row] != own)
        ]
        return nearest_row(asked.vectors[query], {row: pool.vectors[row] for row in rows})

    for source in ("en", "ja"):
        queries = [row for row in range(40) if asked.languages[row] == source]
        assert result.queries[source].tolist() == queries
        found = [plain(query, {"de", "en", "fr"}) for query in queries]
        assert result.best(source)[0].tolist() == found
        right = [pool.intents[row] == asked.intents[query] for row, query in zip(found, queries, strict=True)]
        assert result.best(source)[2].tolist() == right
        assert result.by_language[source] == pytest.approx(100 * sum(right) / len(right))
        for target in ("de", "en", "fr"):
            pair = f"{source}-{target}"
            found = [plain(query, {target}) for query in queries]
            assert result.nearest[pair].tolist() == found
            right = [
                pool.intents[row] == asked.intents[query] for row, query in zip(found, queries, strict=True)
            ]
            assert result.correct[pair].tolist() == right
            assert result.accuracy[pair] == pytest.approx(100 * sum(right) / len(right))
            assert result.counts[pair] == len(queries)


def test_among_equals_the_first_row_wins_in_the_whole_pool_too() -> None:
    """English is measured first, but the German row stands first in the pool."""
    result = pool_accuracy(
        np.array([[1.0, 1.0]]), ["x"], ["fr"], np.array([[0, 1], [2, 2], [1, 1]]), ["y", "x", "y"], ["de", "de", "en"]
    )  # fmt: skip
    assert result.best("fr")[0].tolist() == [1]
    assert result.by_language == {"fr": 100.0}
    assert result.accuracy == {"fr-en": 0.0, "fr-de": 100.0}


def test_a_tie_in_the_whole_pool_does_not_hang_on_rounding() -> None:
    """One direction at 99 lengths, in three languages: float32 gives cosines that differ in their last places."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=64) * rng.uniform(0.1, 9, size=(99, 1))
    result = pool_accuracy(
        rng.normal(size=(40, 64)), ["x"] * 40, ["en"] * 40, pool, ["x"] * 99, ["ja", "en", "de"] * 33
    )  # fmt: skip
    assert result.best("en")[0].tolist() == [0] * 40


def test_an_empty_id_is_no_id() -> None:
    arguments = (np.eye(2), ["x", "y"], ["en", "en"]) * 2
    assert pool_accuracy(*arguments, query_ids=["", ""], pool_ids=["", ""]).accuracy == {"en-en": 100.0}
    assert pool_accuracy(*arguments, query_ids=["1", "2"], pool_ids=["1", "2"]).accuracy == {"en-en": 0.0}
    assert pool_accuracy(*arguments, query_ids=["1", "2"]).accuracy == {"en-en": 100.0}


def test_a_pool_of_one_row() -> None:
    result = pool_accuracy(np.eye(2), ["x", "y"], ["en", "de"], np.ones((1, 2)), ["x"], ["ja"])
    assert result.accuracy == {"en-ja": 100.0, "de-ja": 0.0}


GOOD = (np.eye(2), ["x", "y"], ["en", "en"], np.ones((3, 2)), ["x", "y", "z"], ["de"] * 3)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, np.zeros((2, 2)), r"row 0 \(from 0\) is zero"),
        (3, np.full((3, 2), np.nan), r"row 0 \(from 0\) has a number that is not finite"),
        (3, np.ones((3, 5)), "2 and 5 dimensions; encode both with the same encoder"),
        (3, np.ones((0, 2)), "array of .sentences, dimensions."),
        (1, ["x"], "1 intents of queries for 2 vectors"),
        (4, ["x"], "1 intents of the pool for 3 vectors"),
        (2, ["en"], "1 languages for 2 vectors"),
        (5, ["en"], "1 languages for 3 vectors"),
    ],
)
def test_refuses(place: int, value: object, words: str) -> None:
    pool_accuracy(*GOOD)
    arguments: list[object] = list(GOOD)
    arguments[place] = value
    with pytest.raises(DataError, match=words):
        pool_accuracy(*arguments)  # type: ignore[arg-type]


def test_lengths_that_are_right_in_sum_only() -> None:
    with pytest.raises(DataError, match="3 ids of queries for 2 vectors"):
        pool_accuracy(*GOOD, query_ids=["1", "2", "3"], pool_ids=["1", "2"])


def test_a_query_with_nothing_to_meet() -> None:
    with pytest.raises(
        DataError, match=r"row 1 \(from 0\) has no other sentence in the pool's language 'de'"
    ):
        pool_accuracy(*GOOD, query_ids=["1", "2"], pool_ids=["2", "2", "2"])
