import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation import retrieval
from emu_core.evaluation.leave_one_out import LeaveOneOut, leave_one_out
from tests.support.sentences import Sentences, nearest_row, random_sentences

SIX = ("en", "de", "es", "fr", "ja", "zh")


def measured(data: Sentences) -> LeaveOneOut:
    return leave_one_out(data.vectors, data.intents, data.languages, data.ids)


def excluded(data: Sentences, query: int, row: int) -> bool:
    return row == query or (data.ids[query] != "" and data.ids[row] == data.ids[query])


@pytest.mark.parametrize("block", [7, 2**22])
def test_equals_a_plain_double_loop(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "BLOCK", block)  # 7: one query at a time
    data = random_sentences(90, ("fr", "en", "zh-tw"), seed=1)
    result = measured(data)
    assert result.languages == ("en", "fr", "zh-tw")
    assert list(result.accuracy)[:4] == ["en-en", "en-fr", "en-zh-tw", "fr-en"]
    right_somewhere = wrong_somewhere = 0
    for source in result.languages:
        queries = [row for row in range(90) if data.languages[row] == source]
        assert result.queries[source].tolist() == queries
        for target in result.languages:
            right = []
            for place, query in enumerate(queries):
                pool = {
                    row: data.vectors[row]
                    for row in range(90)
                    if data.languages[row] == target and not excluded(data, query, row)
                }
                nearest = nearest_row(data.vectors[query], pool)
                assert result.nearest[f"{source}-{target}"][place] == nearest
                right.append(data.intents[nearest] == data.intents[query])
            assert result.correct[f"{source}-{target}"].tolist() == right
            assert result.counts[f"{source}-{target}"] == len(queries)
            assert result.accuracy[f"{source}-{target}"] == pytest.approx(100 * sum(right) / len(right))
            right_somewhere += sum(right)
            wrong_somewhere += len(right) - sum(right)
    assert right_somewhere > 50
    assert wrong_somewhere > 50  # else the data could not tell a right measure from a wrong one


def test_a_query_meets_none_of_its_translations() -> None:
    """Each sentence's twin is its translation, and every other sentence has another intent."""
    vectors = np.tile(np.eye(3), (2, 1))
    intents, languages = ["a", "b", "c"] * 2, ["en"] * 3 + ["de"] * 3
    with_ids = leave_one_out(vectors, intents, languages, ["1", "2", "3"] * 2)
    assert set(with_ids.accuracy.values()) == {0.0}
    without = leave_one_out(vectors, intents, languages, [""] * 6)
    assert without.accuracy == {"en-en": 0.0, "en-de": 100.0, "de-en": 100.0, "de-de": 0.0}


def test_an_id_twice_in_one_language_is_excluded_there_too() -> None:
    vectors = np.array([[1, 0], [1, 0], [1, 1]])
    result = leave_one_out(vectors, ["a", "a", "b"], ["en"] * 3, ["1", "1", "2"])
    assert result.nearest["en-en"].tolist() == [2, 2, 0]


def test_no_id_excludes_the_row_itself_only() -> None:
    vectors = np.array([[1, 0], [1, 0.1], [0, 1]])
    result = leave_one_out(vectors, ["a", "a", "b"], ["en"] * 3, ["", "", ""])
    assert result.nearest["en-en"].tolist() == [1, 0, 1]


def test_among_equals_the_first_row_of_the_pool_wins() -> None:
    vectors = np.array([[1, 0], [3, 3], [1, 1], [2, 2]])
    languages, ids = ["en", "de", "de", "de"], ["1", "2", "3", "4"]
    for intents in (["x", "x", "y", "z"], ["x", "y", "x", "z"]):
        vectors_twice = np.concatenate([vectors, [[0, 1]]])
        result = leave_one_out(vectors_twice, [*intents, "x"], [*languages, "en"], [*ids, "5"])
        assert result.nearest["en-de"].tolist() == [1, 1]
        assert result.correct["en-de"].tolist() == [intents[1] == "x"] * 2


def test_a_tie_does_not_hang_on_how_a_matrix_product_rounds() -> None:
    """The same direction at 301 lengths: float32 gives cosines that differ in their last places."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=64) * rng.uniform(0.1, 9, size=(301, 1))
    vectors = np.concatenate([rng.normal(size=(40, 64)), pool])
    languages, ids = ["en"] * 40 + ["de"] * 301, [str(row) for row in range(341)]
    result = leave_one_out(vectors, ["x"] * 341, languages, ids)
    assert result.nearest["en-de"].tolist() == [40] * 40


def test_a_vector_of_any_length_counts_by_its_direction() -> None:
    data = random_sentences(40, ("en", "de"), seed=2)
    scale = np.float64(10) ** np.random.default_rng(0).integers(-37, 37, size=(40, 1))
    plain = measured(data).nearest
    for scaled in (
        data.vectors * scale.astype(np.float32),
        data.vectors.astype(np.float64) * scale,
    ):
        result = leave_one_out(scaled, data.intents, data.languages, data.ids)
        assert {pair: rows.tolist() for pair, rows in result.nearest.items()} == {
            pair: rows.tolist() for pair, rows in plain.items()
        }


def test_means() -> None:
    result = measured(random_sentences(200, SIX, seed=3))
    assert len(result.accuracy) == 36
    assert result.mean == pytest.approx(sum(result.accuracy.values()) / 36)
    for language in SIX:
        pairs = [pair for pair in result.accuracy if language in pair.split("-")]
        assert len(pairs) == 11
        mean = sum(result.accuracy[pair] for pair in pairs) / 11
        assert result.mean_with(language) == pytest.approx(mean)
    assert len({result.mean_with(language) for language in SIX}) > 1
    with pytest.raises(DataError, match="no language 'it' was measured; there is: en, de, es, fr, ja, zh"):
        result.mean_with("it")


def test_languages_asked() -> None:
    data = random_sentences(90, SIX, seed=4)
    some = leave_one_out(
        data.vectors, data.intents, data.languages, data.ids, languages_asked=["ja", "en", "ja"]
    )
    assert list(some.accuracy) == ["ja-ja", "ja-en", "en-ja", "en-en"]
    assert some.accuracy.items() <= measured(data).accuracy.items()


def test_an_intent_that_the_pool_lacks_is_wrong() -> None:
    result = leave_one_out(np.eye(4), ["a", "b", "c", "c"], ["en", "en", "de", "de"], ["", "", "", ""])
    assert result.accuracy["en-de"] == 0


GOOD = (np.eye(4), ["a", "a", "b", "b"], ["en", "en", "de", "de"], ["1", "2", "1", "2"])


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, np.diag([1, 0, 1, 1]), r"row 1 \(from 0\) is zero .* leave the sentence out"),
        (0, np.diag([1, 1, np.nan, 1]), r"row 2 \(from 0\) has a number that is not finite"),
        (0, np.diag([1, 1, 1, np.inf]), r"row 3 \(from 0\) has a number that is not finite"),
        (0, np.diag([1, 1, 1, 1e300]), r"row 3 \(from 0\) has a number that is not finite"),
        (0, np.ones(4), "array of .sentences, dimensions."),
        (0, np.ones((0, 4)), "array of .sentences, dimensions."),
        (0, np.ones((4, 0)), "array of .sentences, dimensions."),
        (1, ["a"], "1 intents for 4 vectors"),
        (2, ["en"] * 5, "5 languages for 4 vectors"),
        (3, ["1"] * 3, "3 ids for 4 vectors"),
        (2, ["en", "en", "de", "en"], "language 'de' has one sentence, .* add some, or leave"),
        (
            3,
            ["1", "2", "2", "2"],
            r"row 1 \(from 0\) has no other sentence in language 'de'.* add some, or",
        ),
    ],
)
def test_refuses(place: int, value: object, words: str) -> None:
    leave_one_out(*GOOD)
    arguments: list[object] = list(GOOD)
    arguments[place] = value
    with pytest.raises(DataError, match=words):
        leave_one_out(*arguments)  # type: ignore[arg-type]


def test_refuses_languages_that_are_not_there() -> None:
    with pytest.raises(DataError, match="no language 'fr' in the data; there is: en, de"):
        leave_one_out(*GOOD, languages_asked=["en", "fr"])
    with pytest.raises(DataError, match="name one or more"):
        leave_one_out(*GOOD, languages_asked=[])


def test_a_language_not_asked_for_may_be_thin() -> None:
    intents, languages, ids = ["a", "a", "b"], ["en", "en", "de"], ["1", "2", "1"]
    result = leave_one_out(np.eye(3), intents, languages, ids, languages_asked=["en"])
    assert result.accuracy == {"en-en": 100.0}
