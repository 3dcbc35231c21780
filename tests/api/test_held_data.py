"""Every function takes data as people hold it: frames, data sets, lists."""

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import emu_core
from emu_core.errors import DataError
from emu_core.runs.run import Run
from tests.support.small import small_set

ASKED = ["Where is the pool?", "Gibt es hier WLAN?"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return small_set(("en", "de")).frame.drop(columns="annotated")


@pytest.fixture(scope="module")
def run(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "held"
    return emu_core.train(pl.DataFrame(frame), out=folder, device="cpu")


def test_a_run_learns_and_is_compared_and_evaluated_on_frames(run: Run, frame: pd.DataFrame) -> None:
    assert run.config().data == "the DataFrame" and run.metrics().mean_specialised is not None
    parts = datasets.DatasetDict(
        {name: datasets.Dataset.from_pandas(part) for name, part in frame.groupby("split")}
    )
    by_name = {"frame": frame, "data set": parts, "arrow": pa.Table.from_pandas(frame)}
    means = [emu_core.compare(data, run, device="cpu").means for data in by_name.values()]
    assert all(mean.equals(means[0]) for mean in means[1:])
    accuracies = [
        emu_core.evaluate(data, encoder=f"run:{run.folder}", device="cpu")["accuracy"]
        for data in (small_set(("en", "de")), *by_name.values())
    ]
    assert all(accuracy == accuracies[0] for accuracy in accuracies[1:])


def test_texts_with_their_intents_are_learnt_from(frame: pd.DataFrame, tmp_path: Path) -> None:
    english = frame[frame["language"] == "en"]
    run = emu_core.train(
        (english["text"].tolist(), english["intent"].to_numpy()),
        language="en",
        unlabelled=frame.loc[frame["language"] == "de", ["text", "language"]],
        method="emu",
        config=emu_core.configure("emu", "use", epochs=1),
        out=tmp_path / "run",
        device="cpu",
    )
    assert run.config().train_languages == ("en",) and run.config().unlabelled_languages == ("de",)


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        tuple(ASKED),
        np.array(ASKED),
        pd.Series(ASKED),
        pl.Series(ASKED),
        pl.DataFrame({"text": ASKED}),
        datasets.Dataset.from_dict({"text": ASKED}),
        datasets.Dataset.from_dict({"text": ASKED})["text"],
    ],
    ids=lambda asked: f"{type(asked).__module__}.{type(asked).__name__}",
)
def test_sentences_are_predicted_from_anything(asked: Any, run: Run, frame: pd.DataFrame) -> None:
    table = emu_core.predict(asked, pool=frame, run=run.folder, threshold=-1, device="cpu")
    assert table["text"].tolist() == ASKED and table["intent"].tolist() == ["pool", "wifi"]


def test_predictions_fit_the_rows_of_the_frame(frame: pd.DataFrame) -> None:
    mails = pd.DataFrame({"text": [ASKED[0], None, ASKED[1]], "from": list("abc")}, index=[9, 4, 7])
    table = emu_core.predict(mails, pool=frame, threshold=-1, device="cpu")
    assert table.index.tolist() == [9, 7]
    joined = mails.join(table["intent"])
    assert joined["intent"].isna().tolist() == [False, True, False] and joined["from"].tolist() == list("abc")
    series = emu_core.predict(pd.Series(ASKED, index=["x", "y"]), pool=frame, threshold=-1, device="cpu")
    assert series.index.tolist() == ["x", "y"]
    with pytest.raises(DataError, match="sentence 2 of 2 is missing"):
        emu_core.predict(pd.Series(["a", None]), pool=frame, device="cpu")


def test_sentences_are_embedded_and_suggested_from_lists(frame: pd.DataFrame, tmp_path: Path) -> None:
    assert emu_core.embed(ASKED, out=tmp_path / "list.parquet", device="cpu") == 2
    assert emu_core.embed(pd.Series(ASKED), out=tmp_path / "series.parquet", device="cpu") == 2
    vectors = [
        pq.read_table(tmp_path / f"{name}.parquet")["vector"].to_pylist() for name in ("list", "series")
    ]
    assert vectors[0] == vectors[1]
    encoder = emu_core.load_encoder("use")
    np.testing.assert_allclose(encoder.encode(np.array(ASKED)), vectors[0], atol=1e-6)
    with pytest.raises(DataError, match="a str is a single sentence"):
        encoder.encode(ASKED[0])
    pool = frame[frame["language"] == "en"]
    suggestions = emu_core.suggest_labels(ASKED, pool, language="en", device="cpu")
    assert sorted(suggestions["text"]) == sorted(ASKED)
    with pytest.raises(DataError, match="the list does not say its language"):
        emu_core.suggest_labels(ASKED, pool, device="cpu")
