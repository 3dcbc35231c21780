"""The classifier of intents as scikit-learn's classifiers are: classes, rejections, probabilities and neighbours."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from emu_core.errors import DataError
from emu_core.evaluation.vector_classifier import NO_INTENT, VectorClassifier
from emu_core.sklearn import IntentClassifier, SentenceEncoder
from tests.support.small import small_set

ENCODER = SentenceEncoder(device="cpu")  # which remembers the sentences of all tests
ASKED = ["Where is the pool?", "Can I bring my dog?", "The derivative of a sine is a cosine"]


@pytest.fixture(scope="module")
def labelled() -> pd.DataFrame:
    return small_set(("en",)).select(splits=["train"]).frame


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
    assert is_known[:2].all() and labels.dtype.kind == y.dtype.kind
    np.testing.assert_array_equal(fitted.classes_[shares.argmax(axis=1)][is_known], labels[is_known])


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


def test_a_classifier_of_vectors_is_its_state(labelled: pd.DataFrame) -> None:
    vectors = ENCODER.transform(labelled["text"])
    fitted = VectorClassifier().fit(vectors, labelled["intent"].tolist(), [""] * len(labelled))
    facts, arrays = fitted.state()
    again = VectorClassifier.from_state(json.loads(json.dumps(facts)), arrays)
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
