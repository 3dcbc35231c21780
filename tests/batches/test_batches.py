"""Batches of a table in the forms of the engines: what is added, what is sent to workers, and what is refused."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from emu_core import IntentClassifier, predict, train
from emu_core.batches import Embed, Predict
from emu_core.encoders import remembered
from emu_core.encoders.registry import load_encoder
from emu_core.errors import DataError, InputError, RunError
from emu_core.runs.run import Run
from tests.support.raises import raises
from tests.support.small import small_set

TEXTS = ["Where is the pool?", None, "Wo ist der Pool?"]
POOL = [
    ("Where is the pool?", "pool"),
    ("Can I swim?", "pool"),
    ("Call me a taxi", "taxi"),
    ("A cab, please", "taxi"),
]
FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": lambda columns: {name: np.array(values, dtype=object) for name, values in columns.items()},
    "pandas": lambda columns: pd.DataFrame(columns, index=[5, 6, 9][: len(columns["text"])]),
    "table": lambda columns: pa.table(
        {name: pa.array(values, pa.string()) for name, values in columns.items()}
    ),
    "record batch": lambda columns: pa.RecordBatch.from_pydict(
        {name: pa.array(values, pa.string()) for name, values in columns.items()}
    ),
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pool") / "pool.csv"
    pd.DataFrame(POOL, columns=["text", "intent"]).assign(language="en").to_csv(path, index=False)
    return path


def values(batch: Any, name: str) -> list[Any]:
    column = batch[name]
    return column.to_pylist() if isinstance(column, pa.Array | pa.ChunkedArray) else list(column)


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_comes_back_as_what_it_was(form: str, pool: Path) -> None:
    batch = FORMS[form]({"text": TEXTS, "number": ["a", "b", "c"]})
    expected = load_encoder("use").encode([text or "" for text in TEXTS])
    embedded = Embed()(batch)
    assert type(embedded) is type(batch)
    assert values(embedded, "number") == ["a", "b", "c"]
    np.testing.assert_allclose(
        np.stack([np.asarray(row) for row in values(embedded, "vector")]), expected, atol=1e-6
    )
    predicted = Predict(None, pool, n_neighbors=1)(batch)
    assert type(predicted) is type(batch)
    intents = values(predicted, "intent")
    assert intents[::2] == ["pool", "pool"] and pd.isna(intents[1])
    if isinstance(batch, pd.DataFrame):
        assert embedded.index.tolist() == predicted.index.tolist() == [5, 6, 9]


def test_predictions_are_those_of_the_library_in_each_language(pool: Path) -> None:
    frame = pd.DataFrame({"text": ["Is there a taxi?", "Wo ist der Pool?"], "language": ["en", "de"]})
    expected = predict(frame, pool=pool).drop(columns="text")
    predicted = Predict(None, str(pool), prefix="predicted_")(frame)
    assert predicted.columns.tolist() == ["text", "language", *(f"predicted_{name}" for name in expected)]
    for name in expected:
        pd.testing.assert_series_equal(
            predicted[f"predicted_{name}"], expected[name], check_names=False, check_dtype=False, rtol=1e-6
        )


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_without_rows_has_the_same_columns(form: str, pool: Path) -> None:
    full, empty = FORMS[form]({"text": TEXTS}), FORMS[form]({"text": []})
    for add in (Embed(), Predict(None, pool)):
        if form in ("table", "record batch"):
            assert add(empty).schema == add(full).schema
        else:
            assert list(add(empty)) == list(add(full))


def test_settings_are_sent_and_the_encoder_is_opened_once(
    pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered.close_encoders()
    opened: list[str] = []
    load = remembered.load_encoder
    monkeypatch.setattr(
        remembered, "load_encoder", lambda spec, **options: opened.append(spec) or load(spec, **options)
    )
    frame = pd.DataFrame({"text": ["Where is the pool?"]})
    for add in (Embed(), Predict(None, pool)):
        sent = pickle.dumps(add)
        add(frame)
        assert pickle.dumps(add) == sent and len(sent) < 1000
        again = pickle.loads(sent)  # noqa: S301 - our own, two lines above
        assert again == add
        again(frame)
    assert opened == ["use"]


def test_an_iterator_of_batches_gives_one(pool: Path) -> None:
    batches = [pd.DataFrame({"text": [text]}) for text in ("Where is the pool?", "Call me a taxi")]
    embedded = Embed()(iter(batches))
    assert not isinstance(embedded, list) and [len(batch) for batch in embedded] == [1, 1]
    predicted = Predict(None, pool)(iter(batches))
    assert [batch["intent"].item() for batch in predicted] == ["pool", "taxi"]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (["Where is the pool?"], "a list is no batch; give a dict of arrays"),
        ({"question": ["Where is the pool?"]}, r"no column 'text' of sentences, only \['question'\]"),
        (pd.DataFrame({"text": [3]}), "'text' holds a int in row 0; give sentences"),
        (pd.DataFrame({"text": ["a"], "vector": [1], "intent": ["b"]}), r"already; rename or drop"),
    ],
)
def test_what_is_no_batch_is_refused(batch: Any, message: str, pool: Path) -> None:
    for add in (Embed(), Predict(None, pool)):
        with pytest.raises(InputError, match=message):
            add(batch)


def test_half_a_character_is_refused(pool: Path) -> None:
    batch = {"text": ["Where is the pool?", "\u00e9\ud800"]}
    for add in (Embed(), Predict(None, pool)):
        with pytest.raises(InputError, match=r"'text' holds half a character .* in row 1; fix it"):
            add(batch)


@pytest.mark.parametrize("language", ["klingon", 5])
def test_what_is_no_language_is_refused_as_by_a_classifier(language: Any, pool: Path) -> None:
    batch = {"text": ["Where is the pool?", "Wo ist der Pool?"], "language": ["en", language]}
    classifier = IntentClassifier().fit(*map(list, zip(*POOL, strict=True)))
    messages = []
    for asked in (
        lambda: Predict(None, pool)(batch),
        lambda: classifier.predict(batch["text"], languages=batch["language"]),
    ):
        with pytest.raises(InputError) as caught:
            asked()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_an_unknown_language_may_be_written_in_any_way(pool: Path) -> None:
    add, texts = Predict(None, pool), ["Where is the pool?"] * 5
    languages = [None, "", "und", " ", float("nan")]
    unknown = add(pd.DataFrame({"text": texts, "language": pd.Series(languages, dtype=object)}))
    pd.testing.assert_frame_equal(unknown.drop(columns="language"), add(pd.DataFrame({"text": texts})))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small_set(), out=tmp_path_factory.mktemp("runs") / "small", method="head", device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_run_needs_no_pool(form: str, run: Run) -> None:
    batch = FORMS[form]({"text": TEXTS, "language": ["en", "en", "de"]})
    add = Predict(run.folder, n_neighbors=1)
    predicted = pickle.loads(pickle.dumps(add))(batch)  # noqa: S301 - our own
    asked, languages = [TEXTS[0], TEXTS[2]], ["en", "de"]
    expected = IntentClassifier.from_run(run, n_neighbors=1).explain(asked, languages=languages)
    for name in ("intent", "nearest_1", "nearest_1_language"):
        found = values(predicted, name)
        assert found[::2] == expected[name].tolist() and pd.isna(found[1])
    np.testing.assert_allclose(
        np.array(values(predicted, "confidence"), dtype=float)[::2], expected["confidence"], atol=1e-5
    )
    assert Predict(str(run.folder), n_neighbors=1)(batch) is not None


def test_a_pool_replaces_the_intents_of_a_run(run: Run, pool: Path) -> None:
    frame = pd.DataFrame({"text": ["Can I bring my dog?"]})
    assert Predict(run)(frame)["intent"].item() == "pets"
    near = Predict(run, pool, threshold=-1)(frame)
    assert near["intent"].item() in ("pool", "taxi") and near["nearest_1"].item() in dict(POOL)


def test_without_labels_there_is_nothing_to_predict_from(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a pool, or a run that has learnt them"):
        Predict(None)
    frame = pd.DataFrame({"text": ["Can I bring my dog?"]})
    with raises(DataError, fix="pool", match="have their own threshold"):
        Predict(run, threshold=0.5)(frame)
    with pytest.raises(RunError):
        Predict(tmp_path)(frame)


def test_a_pool_is_named_by_its_file() -> None:
    with pytest.raises(
        InputError, match="the pool is a DataFrame; give the name of a file that every worker can read"
    ):
        Predict(None, pd.DataFrame(POOL, columns=["text", "intent"]))  # type: ignore[arg-type]
