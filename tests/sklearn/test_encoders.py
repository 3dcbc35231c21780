"""Encoders as scikit-learn's transformers: its conventions, its tools, and the vectors of the library."""

import doctest
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from emu_core import load_encoder, train
from emu_core.data.reading import Reading
from emu_core.encoders import remembered
from emu_core.encoders.use.encoder import UseEncoder
from emu_core.errors import EmuError, EncoderError, InputError
from emu_core.sklearn import IntentClassifier, SentenceEncoder, SpecialisedEncoder
from emu_core.sklearn import encoders as encoders_module
from tests.support.raises import raises
from tests.support.small import small_set


@pytest.fixture(scope="module")
def labelled() -> pd.DataFrame:
    """English sentences of the small set, with their intents."""
    frame = small_set(("en", "de")).frame
    return frame[frame["language"] == "en"].reset_index(drop=True)


@pytest.fixture(scope="module")
def specialised(labelled: pd.DataFrame) -> SpecialisedEncoder:
    return SpecialisedEncoder(device="cpu").fit(labelled["text"], labelled["intent"], languages="en")


@pytest.mark.parametrize(
    "kind", [list, tuple, np.array, lambda texts: np.array(texts, dtype=object), pd.Series]
)
def test_vectors_are_those_of_the_library(kind: Callable[[list[str]], Any], labelled: pd.DataFrame) -> None:
    texts = labelled["text"].tolist()[:5]
    encoder = SentenceEncoder(device="cpu")
    vectors = encoder.fit_transform(kind(texts))
    np.testing.assert_allclose(vectors, load_encoder("use").encode(texts), atol=1e-6)
    assert vectors.dtype == np.float32 and not hasattr(encoder, "n_features_in_")


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Forget all vectors, and return the list of what is encoded from now on."""
    remembered.close_encoders()
    encoded: list[str] = []
    encode = UseEncoder.encode
    monkeypatch.setattr(
        UseEncoder,
        "encode",
        lambda self, texts, **options: encoded.extend(texts) or encode(self, texts, **options),
    )
    return encoded


def test_a_sentence_is_encoded_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = recorded(monkeypatch)
    texts = ["Where is the pool?", "Call me a taxi", "Where is the pool?"]
    first = SentenceEncoder(device="cpu").transform(texts)
    again = SentenceEncoder(device="cpu").transform([*texts, "Good night"])
    assert encoded == ["Where is the pool?", "Call me a taxi", "Good night"]
    np.testing.assert_array_equal(again[:3], first)


def test_sentences_that_a_classifier_is_adapted_to_are_encoded_once(
    labelled: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = IntentClassifier("use").fit(labelled["text"], labelled["intent"], languages="en")
    german = small_set(("de",)).frame["text"].tolist()
    expected = fitted.explain(german, languages="de")
    encoded = recorded(monkeypatch)
    found = fitted.adapt(german, "de").explain([*german, "Guten Tag"], languages="de")
    assert sorted(encoded) == sorted({*german, "Guten Tag"})
    assert found["nearest_1"].tolist()[:-1] == expected["nearest_1"].tolist()


@pytest.mark.slow
def test_a_frame_comes_out_if_one_is_wanted(specialised: SpecialisedEncoder) -> None:
    for encoder, name in (
        (SentenceEncoder(device="cpu"), "sentenceencoder0"),
        (specialised, "specialisedencoder0"),
    ):
        texts = pd.Series(["Where is the pool?", "Call me a taxi"], index=[7, 9])
        names = encoder.get_feature_names_out()
        table = encoder.set_output(transform="pandas").transform(texts)
        encoder.set_output(transform="default")
        assert names[0] == name and list(table.columns) == list(names)
        assert table.index.tolist() == [7, 9]


@pytest.mark.slow
def test_a_specialised_encoder_is_the_one_that_train_makes(
    labelled: pd.DataFrame, specialised: SpecialisedEncoder, tmp_path: Path
) -> None:
    run = train(
        labelled[["text", "intent"]],
        out=tmp_path / "run",
        reading=Reading(language="en"),
        train_languages=["en"],
        device="cpu",
    )
    texts = ["Where is the pool?", *labelled["text"][:5]]
    expected = load_encoder(f"run:{run.folder}").encode(texts)
    assert specialised.transform(texts).tobytes() == expected.tobytes()
    assert specialised.classes_.tolist() == sorted(set(labelled["intent"])) and specialised.languages_ == (
        "en",
    )


def test_a_copy_has_the_settings_and_no_memory(specialised: SpecialisedEncoder) -> None:
    encoder = SpecialisedEncoder("use", share_factor=2.0)
    assert encoder.get_params()["share_factor"] == 2.0
    assert clone(encoder).set_params(share_factor=3.0, encoder="e5-small").get_params() == {
        **encoder.get_params(),
        "share_factor": 3.0,
        "encoder": "e5-small",
    }
    with pytest.raises(NotFittedError):
        clone(specialised).transform(["Where is the pool?"])
    again = pickle.loads(pickle.dumps(specialised))  # noqa: S301 - as joblib copies it to a worker
    texts = ["Where is the pool?"]
    assert again.transform(texts).tobytes() == specialised.transform(texts).tobytes()


@pytest.mark.slow
def test_a_pipeline_is_searched_and_cross_validated(labelled: pd.DataFrame) -> None:
    texts, intents = labelled["text"], labelled["intent"].to_numpy(dtype=str)
    pipeline = make_pipeline(SpecialisedEncoder(device="cpu"), LogisticRegression(C=30))
    search = GridSearchCV(
        pipeline, {"specialisedencoder__share_factor": [1.0, 2.0]}, cv=2, error_score="raise"
    )
    search.fit(texts, intents)
    assert search.best_params_["specialisedencoder__share_factor"] in (1.0, 2.0)
    assert search.predict(["Where is the pool?"])[0] in set(intents)
    plain = make_pipeline(SentenceEncoder(device="cpu"), LogisticRegression(C=30))
    scores = cross_val_score(plain, texts, intents, cv=2, error_score="raise")
    assert len(scores) == 2 and scores.min() > 1 / len(set(intents))


@pytest.mark.slow
def test_other_processes_fit_it_too(labelled: pd.DataFrame) -> None:
    texts, intents = labelled["text"], labelled["intent"].to_numpy(dtype=str)
    alone, two = (
        cross_val_score(SpecialisedClassifier(), texts, intents, cv=2, n_jobs=jobs, error_score="raise")
        for jobs in (None, 2)
    )
    np.testing.assert_array_equal(alone, two)


def SpecialisedClassifier() -> Any:  # noqa: N802 - a class to its caller
    return make_pipeline(SpecialisedEncoder(device="cpu"), LogisticRegression(C=30))


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "no sentences"),
        ([3.0, 4.0], ["a", "b"], "1 of 2 .*float"),
        (["a b", "c d"], None, "target y is None"),
        (["a b", "c d"], ["pool"], "2 sentences .* 1 intents"),
        (["a b", "c d"], ["pool", "pool"], "'pool'"),
        ("Where is the pool?", ["pool"], "a str .*'Where is the pool"),
    ],
)
def test_what_is_wrong_is_a_value_error(X: Any, y: Any, message: str) -> None:  # noqa: N803
    with raises(InputError, fix=None, match=message):
        SpecialisedEncoder(device="cpu").fit(X, y)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("emu", {}, "give fit languages=, .* and unlabelled=, sentences in another"),
        ("emu", {"languages": "en"}, r"en; .*\(unlabelled\)"),
        (
            "emu",
            {"languages": "en", "unlabelled": ["Wo ist das?", "Ein Taxi"]},
            "in unlabelled, a DataFrame with the columns text and language",
        ),
        (
            "emu-parallel",
            {"languages": "en", "unlabelled": pd.DataFrame({"text": ["Ein Taxi"], "language": ["de"]})},
            r"translations \(groups=, and a column id in unlabelled\)",
        ),
        ("head", {"unlabelled": ["Ein Taxi"]}, "labelled sentences only; leave unlabelled= out"),
        ("fmda", {"languages": "en"}, "translations with annotated slots, and fit takes none; choose one of"),
        ("bicvm", {}, "parallel text, and fit takes none"),
        ("softmax", {"languages": ["en", None, "en", "en"]}, "sentence 2 "),
    ],
)
def test_what_a_method_lacks_is_said_in_the_words_of_fit(
    method: str, given: dict[str, Any], message: str
) -> None:
    texts, intents = ["Where is it?", "A pool", "A taxi", "Call me a cab"], ["pool", "pool", "taxi", "taxi"]
    with pytest.raises(EmuError, match=message):
        SpecialisedEncoder(method=method, device="cpu").fit(texts, intents, **given)


def test_what_is_no_encoder_is_said() -> None:
    with raises(EncoderError, fix=None, match="an int .*'use'"):
        SentenceEncoder(3).transform(["Where is it?"])  # type: ignore[arg-type]


def test_a_setting_that_the_method_has_not_is_named_when_it_is_fitted() -> None:
    with pytest.raises(InputError, match="batch_size"):
        SpecialisedEncoder(batch_size=3).fit(["a b", "c d"], ["pool", "taxi"])


def test_the_examples_of_the_docstrings_run() -> None:
    failures, count = doctest.testmod(encoders_module)
    assert count > 5 and not failures
