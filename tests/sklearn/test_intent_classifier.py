"""The classifier of intents as scikit-learn's classifiers are: classes, rejections, probabilities and neighbours."""

import json
import subprocess
import sys
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError, InputError
from emu_core.intents.answers import NO_INTENT
from emu_core.intents.model import IntentModel
from emu_core.sklearn import IntentClassifier, SentenceEncoder, SpecialisedEncoder
from tests.support.small import small_set

ENCODER = SentenceEncoder(device="cpu")  # which remembers the sentences of all tests
ASKED = ["Where is the pool?", "Can I bring my dog?", "The derivative of a sine is a cosine"]


@pytest.fixture(scope="module")
def labelled() -> pd.DataFrame:
    return small_set(("en",)).select(splits=["train"]).frame


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [str, object, np.int64, bool])
def test_classes_are_of_the_type_of_the_intents(dtype: Any, labelled: pd.DataFrame) -> None:
    numbers = pd.factorize(labelled["intent"], sort=True)[0]
    y = (
        labelled["intent"].to_numpy() if dtype in (str, object) else numbers % (2 if dtype is bool else 9)
    ).astype(dtype)
    fitted = IntentClassifier(ENCODER).fit(labelled["text"], y)
    assert fitted.classes_.tolist() == sorted(set(y.tolist())) and fitted.classes_.dtype == y.dtype
    shares, labels = fitted.predict_proba(ASKED), fitted.predict(ASKED)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    is_known = np.isin(labels, fitted.classes_)
    # A truth value can't be -1, which stands for no known intent.
    kind = "i" if dtype is bool and not is_known.all() else y.dtype.kind
    assert is_known[:2].all() and labels.dtype.kind == kind
    np.testing.assert_array_equal(fitted.classes_[shares.argmax(axis=1)][is_known], labels[is_known])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "numbers", "expected"),
    [(NO_INTENT, False, NO_INTENT), ("other", False, "other"), (None, False, "pool"), (-1, True, -1)],
)
def test_what_is_rejected_is_the_option(
    option: Any, numbers: bool, expected: Any, labelled: pd.DataFrame
) -> None:
    y = pd.factorize(labelled["intent"])[0] if numbers else labelled["intent"]
    fitted = IntentClassifier(ENCODER, threshold=1, reject_option=option).fit(labelled["text"], y)
    assert fitted.predict(ASKED[:1]).tolist() == fitted.explain(ASKED[:1])["intent"].tolist() == [expected]


@pytest.mark.slow
def test_a_number_of_no_known_intent_can_not_be_an_intent(labelled: pd.DataFrame) -> None:
    y = pd.factorize(labelled["intent"])[0] - 1
    with pytest.raises(InputError, match="-1 is an intent, and stands for no known intent, too"):
        IntentClassifier(ENCODER).fit(labelled["text"], y)
    fitted = IntentClassifier(ENCODER, threshold=1, reject_option=-2).fit(labelled["text"], y)
    assert -1 in fitted.classes_ and fitted.predict(ASKED[:1]).tolist() == [-2]


FEW = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]


@pytest.mark.parametrize(
    ("labels", "option", "expected"),
    [
        (np.array([255, 255, 2, 2], dtype="uint8"), NO_INTENT, -1),
        (np.array([3, 3, 2, 2], dtype="uint64"), NO_INTENT, -1),
        (np.array([3, 3, 2, 2], dtype="int8"), 258, 258),
        (np.array([True, True, False, False]), NO_INTENT, -1),
        (np.array([3, 3, 2, 2]), -1.5, -1.5),
        (np.array([2**63, 2**63, 2, 2], dtype="uint64"), 0, 0),
        (pd.Series(["pool", "pool", "taxi", "taxi"]), -1, -1),
    ],
    ids=["uint8", "uint64", "int8", "bool", "a fraction", "large", "objects"],
)
def test_what_is_rejected_keeps_its_value_among_all_types_of_intents(
    labels: Any, option: Any, expected: Any, tmp_path: Path
) -> None:
    fitted = IntentClassifier(ENCODER, threshold=-1, reject_option=option).fit(FEW, labels)
    loaded = IntentClassifier.load(fitted.save(tmp_path / "saved"))
    for classifier in (fitted, loaded):
        assert classifier.predict([FEW[0], "12"]).tolist() == [labels[0], expected]


@pytest.mark.parametrize(
    ("labels", "option", "message"),
    [
        ([1, 1, 2, 2], 2, "2 is an intent, and stands for no known intent, too; give reject_option another"),
        ([1, 1, 2, 2], 2.0, "2.0 is an intent"),
        ([1, 1, 2, 2], np.int8(2), "2 is an intent"),
        ([1.0, 1.0, 2.0, 2.0], 2, "2 is an intent"),
        ([1, 1, 2, 2], True, "True is an intent"),
        ([1, 1, -1, -1], -1, "-1 is an intent"),
        ([1, 1, 2, 2], [3], "the intents are numbers, and the reject_option is a list; give a number"),
        (["a", "a", "b", "b"], -1, "the intents are texts, and the reject_option is an int; give a text"),
        (["a", "a", "b", "b"], float("nan"), "the reject_option is a float; give a text, or None"),
        (np.array([2**63, 2**63, 2, 2], dtype="uint64"), -1, "give reject_option a whole number, 0 or more"),
        ([2**60 + 1, 2**60 + 1, 2, 2], float("nan"), "give reject_option a whole number, 0 or more"),
    ],
    ids=str,
)
def test_what_can_not_stand_for_no_known_intent_is_refused(labels: Any, option: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        IntentClassifier(ENCODER, reject_option=option).fit(FEW, labels)


def test_a_number_does_not_stand_for_no_known_intent_among_those_of_a_table() -> None:
    table = pd.DataFrame({"text": FEW, "intent": ["pool", "pool", "taxi", "taxi"]})
    with pytest.raises(InputError, match="the intents are texts, and the reject_option is an int"):
        IntentClassifier(ENCODER, reject_option=-1).fit(table, languages="en")


def test_a_described_intent_is_not_what_stands_for_no_known_intent() -> None:
    for intents, option in (({"5": BREAKFAST}, 5.0), ({-1: BREAKFAST}, NO_INTENT)):
        with pytest.raises(InputError, match="is an intent, and stands for no known intent, too"):
            IntentClassifier(ENCODER, reject_option=option).fit(FEW, [1, 1, 2, 2], intents=intents)
    with pytest.raises(InputError, match="one of these is described that is none: 'nan'"):
        IntentClassifier(ENCODER).fit(FEW, [1.0, 1.0, 2.0, 2.0], intents={"nan": BREAKFAST})


@pytest.mark.parametrize(
    "labels",
    [
        [float("nan"), "pool", "taxi", "taxi"],
        (np.nan, "pool", "taxi", "taxi"),
        [None, "pool", "taxi", "taxi"],
        [pd.NA, "pool", "taxi", "taxi"],
        pd.Series([np.nan, "pool", "taxi", "taxi"]),
        [np.nan, 1, 2, 2],
    ],
    ids=["list", "tuple", "None", "NA", "Series", "numbers"],
)
def test_a_missing_intent_is_refused(labels: Any) -> None:
    for estimator in (IntentClassifier(ENCODER), SpecialisedEncoder()):
        with pytest.raises(InputError, match="sentence 1 has no intent; leave it out"):
            estimator.fit(FEW, labels)


HALF = "\u00e9\ud800"


def test_half_a_character_in_a_sentence_is_refused_everywhere(fitted: IntentClassifier) -> None:
    given = [*ASKED, HALF]
    functions = (fitted.predict, fitted.predict_proba, fitted.kneighbors, fitted.explain)
    for function in (*functions, ENCODER.fit, ENCODER.transform, load_encoder("use").encode):
        with pytest.raises(InputError, match="sentence 4 of 4 holds half a character"):
            function(given)
    with pytest.raises(InputError, match="sentence 4 of 4 holds half a character"):
        fitted.adapt(given, "en")
    for estimator in (IntentClassifier(ENCODER), SpecialisedEncoder()):
        with pytest.raises(
            InputError, match=r"sentence 4 of 4 holds half a character.*fix it, or leave it out"
        ):
            estimator.fit(given, ["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("labels", "given", "message"),
    [
        (["a", "a", "b", HALF], {}, "the intent of sentence 4 holds half a character"),
        (["a", "a", "b", "b"], {"groups": ["1", HALF, "", ""]}, "the group of sentence 2 holds half a char"),
        (
            ["a", "a", "b", "b"],
            {"intents": {"c": HALF}},
            "the intent 'c' or its description holds half a char",
        ),
        (["a", "a", "b", "b"], {"intents": [HALF]}, "or its description holds half a character"),
    ],
    ids=["intent", "group", "description", "name"],
)
def test_half_a_character_beside_the_sentences_is_refused(
    labels: list[str], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        IntentClassifier(ENCODER).fit(FEW, labels, **given)


@pytest.fixture(scope="module")
def fitted(labelled: pd.DataFrame) -> IntentClassifier:
    """A classifier that has a confidence, because some of its answers are wrong."""
    is_wrong = np.arange(len(labelled)) % 7 == 0
    intents = np.where(is_wrong, np.roll(labelled["intent"], 20), labelled["intent"])
    return IntentClassifier(ENCODER).fit(labelled["text"], intents, languages="en")


@pytest.mark.parametrize("languages", [(), "de", None])
def test_a_sentence_has_one_probability(fitted: IntentClassifier, languages: Any) -> None:
    asked = small_set(("de",)).frame["text"]
    fitted = copy(fitted).adapt(asked, "de")
    shares, table = (
        fitted.predict_proba(asked, languages=languages),
        fitted.explain(asked, languages=languages),
    )
    is_known = (table["intent"] != NO_INTENT).to_numpy()
    assert is_known.sum() > 20
    np.testing.assert_allclose(shares.max(axis=1)[is_known], table["confidence"][is_known], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(fitted.classes_[shares.argmax(axis=1)][is_known], table["intent"][is_known])


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=str), pd.Series([], dtype=str)])
def test_no_sentences_have_no_answers(empty: Any, fitted: IntentClassifier) -> None:
    predicted, table = fitted.predict(empty), fitted.explain(empty)
    assert predicted.shape == (0,) and predicted.dtype == fitted.classes_.dtype
    assert fitted.predict_proba(empty).shape == (0, len(fitted.classes_))
    assert [array.shape for array in fitted.kneighbors(empty)] == [(0, 3)] * 2
    assert len(table) == 0 and table.columns.equals(fitted.explain(ASKED).columns)
    assert table.attrs["facts"] == fitted.facts and fitted.adapt(empty, "de") is fitted
    assert ENCODER.transform(empty).shape == (0, 512)
    for estimator in (IntentClassifier(ENCODER), SpecialisedEncoder(), ENCODER):
        with pytest.raises(InputError):
            estimator.fit(empty, empty)


def test_a_specialised_encoder_has_no_vectors_of_no_sentences() -> None:
    specialised = SpecialisedEncoder(device="cpu").fit(ASKED * 2, ["pool", "dog", "maths"] * 2)
    assert specialised.transform([]).shape == (0, 512)


UNKNOWN = ["", None, "und", [], ["", "und", None], ["", float("nan"), pd.NA], np.array(["", "", ""])]


@pytest.mark.parametrize("languages", UNKNOWN, ids=str)
def test_unknown_languages_may_be_written_in_any_way(languages: Any, fitted: IntentClassifier) -> None:
    expected = fitted.explain(ASKED)
    pd.testing.assert_frame_equal(fitted.explain(ASKED, languages=languages), expected)
    assert fitted.predict(ASKED, languages=languages).tolist() == expected["intent"].tolist()
    shares = fitted.predict_proba(ASKED, languages=languages)
    np.testing.assert_array_equal(shares, fitted.predict_proba(ASKED))
    assert fitted.adapt(ASKED, languages) is fitted and fitted.facts["adapted"] == []


@pytest.mark.parametrize(
    "languages", ["klingon", ["en"], ["en", 1, "en"], 5, {"en": 1}, b"en", [["en"]] * 3], ids=str
)
def test_what_is_no_language_is_refused_everywhere(languages: Any, fitted: IntentClassifier) -> None:
    for function in (fitted.predict, fitted.predict_proba, fitted.explain, fitted.adapt):
        with pytest.raises(InputError):
            function(ASKED, languages=languages)
    for estimator in (SpecialisedEncoder(), IntentClassifier(ENCODER)):
        with pytest.raises(InputError):
            estimator.fit(ASKED, ["a", "b", "b"], languages=languages)


@pytest.mark.slow
def test_labelled_sentences_of_an_unknown_language_are_not_taken_for_english(labelled: pd.DataFrame) -> None:
    for languages in ("", "und", None):
        fitted = IntentClassifier(ENCODER).fit(labelled["text"], labelled["intent"], languages=languages)
        assert fitted.pool_.languages == ("und",)


@pytest.mark.parametrize(
    "sentences", ["Where is the pool?", b"pool", None, 3, {"a": 1}, [1], [None], [["a"]]], ids=str
)
def test_what_is_no_list_of_sentences_is_refused_everywhere(sentences: Any, fitted: IntentClassifier) -> None:
    functions = (fitted.predict, fitted.predict_proba, fitted.kneighbors, fitted.explain, ENCODER.transform)
    for function in functions:
        with pytest.raises(InputError):
            function(sentences)


@pytest.mark.slow
def test_a_text_without_letters_has_no_intent(labelled: pd.DataFrame) -> None:
    blank = ["", "  ", "12345", "?!", "🙂"]
    fitted = IntentClassifier(ENCODER, threshold=-1).fit(labelled["text"], labelled["intent"])
    assert fitted.predict([*blank, "pool", "プール"]).tolist()[:5] == [NO_INTENT] * 5
    assert NO_INTENT not in fitted.predict(["pool", "プール"])
    table = fitted.explain(blank)
    assert set(table["intent"]) == {NO_INTENT} and table["confidence"].isna().all()
    always = IntentClassifier(ENCODER, reject_option=None).fit(labelled["text"], labelled["intent"])
    assert set(always.predict(blank)) <= set(always.classes_)


@pytest.mark.slow
def test_the_order_of_labelled_sentences_does_not_matter(labelled: pd.DataFrame) -> None:
    is_wrong = np.arange(len(labelled)) % 7 == 0  # so that there is a confidence
    intents = np.where(is_wrong, np.roll(labelled["intent"], 20), labelled["intent"])
    order = np.random.default_rng(0).permutation(len(labelled))
    texts = labelled["text"].to_numpy()
    first = IntentClassifier(ENCODER, n_neighbors=1).fit(texts, intents)
    second = IntentClassifier(ENCODER, n_neighbors=1).fit(texts[order], intents[order])
    asked = small_set(("en", "de")).select(splits=["test"]).frame["text"].tolist()
    one, other = first.explain(asked), second.explain(asked)
    assert first.classifier_.has_confidence and one["confidence"].notna().any()
    pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.slow
def test_answers_do_not_depend_on_their_neighbours_unasked(labelled: pd.DataFrame) -> None:
    fitted = IntentClassifier(ENCODER).fit(labelled["text"], labelled["intent"], languages="en")
    german = small_set(("de",)).frame["text"].tolist()
    before = fitted.explain(german, languages="de")
    alone = pd.concat([fitted.explain([text], languages="de") for text in german[:5]], ignore_index=True)
    pd.testing.assert_frame_equal(alone, pd.DataFrame(before[:5]), check_frame_type=False, rtol=1e-4)
    assert fitted.facts["adapted"] == []
    few = fitted.adapt(german[:20] * 2, "de")  # twice the same twenty
    assert few is fitted and fitted.facts["adapted"] == []
    assert fitted.adapt(german, "de").facts["adapted"] == ["de"]
    # Those of an unknown language are answered as before.
    again = IntentClassifier(ENCODER).fit(labelled["text"], labelled["intent"], languages="en")
    pd.testing.assert_frame_equal(fitted.explain(german), again.explain(german))


BREAKFAST = "Questions about breakfast and its hours"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [str, object, np.int64, float])
def test_a_described_intent_needs_no_sentence(dtype: Any, labelled: pd.DataFrame) -> None:
    is_text = dtype in (str, object)
    names = labelled["intent"].to_numpy() if is_text else 1 + pd.factorize(labelled["intent"])[0]
    y = names.astype(dtype)
    new = "a long name of an intent" if is_text else 0
    # Whether a sentence is like those of the known intents is another question.
    fitted = IntentClassifier(ENCODER, reject_option=None).fit(labelled["text"], y, intents={new: BREAKFAST})
    assert (
        fitted.classes_.tolist() == sorted({new, *y.tolist()}) and fitted.classes_.dtype.kind == y.dtype.kind
    )
    asked = ["When is breakfast served?", "Wann gibt es Frühstück?"]
    assert fitted.predict(asked).tolist() == [new, new]
    shares = fitted.predict_proba([*asked, *labelled["text"]])
    np.testing.assert_array_equal(fitted.classes_[shares.argmax(axis=1)], np.concatenate([[new, new], y]))
    assert fitted.facts["names"] == (7 if is_text else 1), "a number says nothing of its sentences"


def test_a_description_stands_for_the_name_of_an_intent(labelled: pd.DataFrame) -> None:
    """Numbers say nothing, and their descriptions do, whether the numbers are texts or not."""
    numbers, names = pd.factorize(labelled["intent"])
    few = pd.Series(numbers).groupby(numbers).head(1).index  # one sentence an intent
    held_out = small_set(("en", "de")).select(splits=["test"]).frame
    right = {}
    for key in (None, int, str):
        intents = {} if key is None else {key(number): name for number, name in enumerate(names)}
        fitted = IntentClassifier(ENCODER, reject_option=None).fit(
            labelled["text"][few], numbers[few], intents=intents
        )
        assert fitted.classes_.tolist() == list(range(6))
        right[key] = (names[fitted.predict(held_out["text"])] == held_out["intent"]).mean()
    assert right[int] == right[str] > right[None] + 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("intents", "numbers", "message"),
    [
        (3, False, "the intents are an int; give a dict"),
        ({"pool": 3}, False, "the description of 'pool' is an int"),
        ({NO_INTENT: "anything"}, False, "stands for no known intent"),
        ({"breakfast": BREAKFAST}, True, "one of these is described that is none: 'breakfast'"),
    ],
)
def test_descriptions_that_are_none_are_refused(
    intents: Any, numbers: bool, message: str, labelled: pd.DataFrame
) -> None:
    y = pd.factorize(labelled["intent"])[0] if numbers else labelled["intent"]
    with pytest.raises(InputError, match=message):
        IntentClassifier(ENCODER).fit(labelled["text"], y, intents=intents)


def test_neighbours_are_positions_in_what_was_given(labelled: pd.DataFrame) -> None:
    """An empty sentence, a repeat and those of no intent, which the audit takes out, are counted."""
    given = ["  ", *labelled["text"], labelled["text"].iloc[0], ASKED[2], "Who are you?"]
    intents = ["pool", *labelled["intent"], labelled["intent"].iloc[0], "oos", "oos"]
    fitted = IntentClassifier(ENCODER, n_neighbors=2).fit(given, intents)
    distances, rows = fitted.kneighbors(labelled["text"])
    assert distances.shape == rows.shape == (len(labelled), 2)
    np.testing.assert_array_equal(rows[:, 0], np.arange(1, len(labelled) + 1))
    np.testing.assert_allclose(distances[:, 0], 0, atol=1e-5)
    assert "oos" not in fitted.classes_ and len(fitted.pool_.none_of_these) == 2
    np.testing.assert_array_equal(fitted.kneighbors(labelled["text"], 1, return_distance=False), rows[:, :1])


@pytest.mark.slow
def test_a_sentence_of_weight_0_is_left_out(labelled: pd.DataFrame) -> None:
    texts, intents = labelled["text"].to_numpy(), labelled["intent"].to_numpy()
    weights = np.arange(len(labelled)) % 3 != 1
    rows = np.flatnonzero(weights)
    weighted = IntentClassifier(ENCODER).fit(texts, intents, sample_weight=weights, languages="en")
    others = IntentClassifier(ENCODER).fit(texts[rows], intents[rows], languages="en")
    np.testing.assert_array_equal(weighted.predict_proba(ASKED), others.predict_proba(ASKED))
    np.testing.assert_array_equal(weighted.kneighbors(ASKED, 2)[1], rows[others.kneighbors(ASKED, 2)[1]])


@pytest.mark.slow
def test_a_sentence_counts_by_its_weight(labelled: pd.DataFrame) -> None:
    texts, intents = labelled["text"], labelled["intent"].to_numpy()
    is_first = intents == np.unique(intents)[0]
    probability = {
        weight: IntentClassifier(ENCODER)
        .fit(texts, intents, sample_weight=np.where(is_first, weight, 1.0))
        .classifier_.probabilities(ENCODER.transform(ASKED))
        for weight in (0.1, 1.0, 10.0)
    }
    first = IntentClassifier(ENCODER).fit(texts, intents).classifier_.intents_.index(np.unique(intents)[0])
    assert (probability[0.1][:, first] < probability[1.0][:, first]).all()
    assert (probability[1.0][:, first] < probability[10.0][:, first]).all()


@pytest.mark.parametrize(
    "weights",
    [[1.0, 2.0], [[1.0]] * 4, [0.0] * 4, [1, 1, 1, -1], [1, 1, 1, float("nan")], ["a"] * 4],
    ids=["too few", "a column", "zeros", "negative", "missing", "words"],
)
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(InputError, match="weight"):
        IntentClassifier(ENCODER).fit(
            ["a b", "c d", "e f", "g h"], ["x", "x", "y", "y"], sample_weight=weights
        )


def test_what_takes_no_weights_says_so(labelled: pd.DataFrame) -> None:
    weights = np.ones(len(labelled))
    for estimator in (SpecialisedEncoder("use"), IntentClassifier(SpecialisedEncoder("use"))):
        with pytest.raises(InputError, match="SpecialisedEncoder takes no sample_weight"):
            estimator.fit(labelled["text"], labelled["intent"], sample_weight=weights)
    with pytest.raises(InputError, match="y"):
        IntentClassifier(ENCODER).fit(labelled, sample_weight=weights)


def test_a_classifier_of_vectors_is_its_state(labelled: pd.DataFrame) -> None:
    vectors = ENCODER.transform(labelled["text"])
    fitted = IntentModel().fit(vectors, labelled["intent"].tolist(), [""] * len(labelled))
    facts, arrays = fitted.state()
    again = IntentModel.from_state(json.loads(json.dumps(facts)), arrays)
    asked = ENCODER.transform(ASKED)
    for first, second in zip(*(vars(each.predict(asked)).values() for each in (fitted, again)), strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(fitted.probabilities(asked), again.probabilities(asked))
    assert again.threshold_ == fitted.threshold_ and again.rule_ is fitted.rule_


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({}, {}, r"name it \(languages='en'\)"),
        ({}, {"languages": ["en", "en"]}, "groups.* columns of X"),
        ({"n_neighbors": "3"}, {"languages": "en"}, "'3' neighbours"),
        ({"threshold": "high"}, {"languages": "en"}, "threshold 'high'"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_fit(
    parameters: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    table = pd.DataFrame({"text": ASKED[:2], "intent": ["pool", "pets"]})
    with pytest.raises(DataError, match=message):
        IntentClassifier(ENCODER, **parameters).fit(table, **given)


def test_a_table_may_be_given_with_its_language() -> None:
    table = pd.DataFrame({"text": ASKED[:2], "intent": ["pool", "pets"]})
    fitted = IntentClassifier(ENCODER).fit(table, languages="en")
    assert fitted.pool_.languages == ("en",) and fitted.classes_.tolist() == ["pets", "pool"]
    with pytest.raises(DataError, match=r"Name the column of intents \(rename it to intent\)"):
        IntentClassifier(ENCODER).fit(table[["text"]], languages="en")
    with pytest.raises(NotFittedError):
        _ = clone(fitted).facts


@pytest.mark.slow
def test_nobody_else_imports_scikit_learn() -> None:
    code = (
        "import sys, emu_core; emu_core.train; from emu_core.cli.parser import command_parser; "
        "command_parser(['predict', 'a', '--pool', 'demo']); print('sklearn' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "False"
