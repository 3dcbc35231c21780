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
from emu_core.bench.emu.experiment import EmuExperiment
from emu_core.bench.papers import EmuBench
from emu_core.data.reading import Reading
from emu_core.errors import DataError, InputError
from emu_core.runs.data_facts import ParallelFacts
from emu_core.runs.run import Run
from tests.support.raises import raises
from tests.support.small import small_set

ASKED = ["Where is the pool?", "Gibt es hier WLAN?"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return small_set(("en", "de")).frame.drop(columns="annotated")


@pytest.fixture(scope="module")
def run(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "held"
    return emu_core.train(pl.DataFrame(frame), out=folder, device="cpu")


@pytest.mark.slow
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
        reading=Reading(language="en"),
        unlabelled=frame.loc[frame["language"] == "de", ["text", "language"]],
        method="emu",
        config=emu_core.configure("emu", "use", epochs=1),
        out=tmp_path / "run",
        device="cpu",
    )
    assert run.config().train_languages == ("en",) and run.config().unlabelled_languages == ("de",)


@pytest.mark.slow
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
    alone = emu_core.predict(asked, run=run, device="cpu")
    assert alone["text"].tolist() == ASKED and alone["intent"].tolist() == ["pool", "wifi"]


@pytest.mark.slow
def test_predictions_of_a_run_fit_the_rows_of_the_frame(run: Run) -> None:
    mails = pd.DataFrame({"text": [ASKED[0], None, ASKED[1]], "from": list("abc")}, index=[9, 4, 7])
    table = emu_core.predict(mails, run=run, device="cpu")
    assert table.index.tolist() == [9, 7] and table["intent"].tolist() == ["pool", "wifi"]
    for asked in (ASKED, np.array(ASKED), pd.Series(ASKED), pl.Series(ASKED), pa.array(ASKED)):
        assert run.predict(asked, device="cpu") == ["pool", "wifi"]  # type: ignore[arg-type]
    with raises(InputError, fix=None, match="give one of its columns: text, from"):
        run.predict(mails, device="cpu")  # type: ignore[arg-type]


@pytest.mark.slow
def test_predictions_fit_the_rows_of_the_frame(frame: pd.DataFrame) -> None:
    mails = pd.DataFrame({"text": [ASKED[0], None, ASKED[1]], "from": list("abc")}, index=[9, 4, 7])
    table = emu_core.predict(mails, pool=frame, threshold=-1, device="cpu")
    assert table.index.tolist() == [9, 7]
    joined = mails.join(table["intent"])
    assert joined["intent"].isna().tolist() == [False, True, False] and joined["from"].tolist() == list("abc")
    series = emu_core.predict(pd.Series(ASKED, index=["x", "y"]), pool=frame, threshold=-1, device="cpu")
    assert series.index.tolist() == ["x", "y"]
    with raises(InputError, fix=None, match="2 of 2 "):
        emu_core.predict(pd.Series(["a", None]), pool=frame, device="cpu")


@pytest.mark.slow
def test_sentences_are_embedded_and_suggested_from_lists(frame: pd.DataFrame, tmp_path: Path) -> None:
    assert emu_core.embed(ASKED, out=tmp_path / "list.parquet", device="cpu") == 2
    assert emu_core.embed(pd.Series(ASKED), out=tmp_path / "series.parquet", device="cpu") == 2
    vectors = [
        pq.read_table(tmp_path / f"{name}.parquet")["vector"].to_pylist() for name in ("list", "series")
    ]
    assert vectors[0] == vectors[1]
    encoder = emu_core.load_encoder("use")
    np.testing.assert_allclose(encoder.encode(np.array(ASKED)), vectors[0], atol=1e-6)
    with raises(InputError, fix=None, match=f"a str .*{ASKED[0][:9]}"):
        encoder.encode(ASKED[0])
    pool = frame[frame["language"] == "en"]
    suggestions = emu_core.suggest_labels(ASKED, pool, reading=Reading(language="en"), device="cpu")
    assert sorted(suggestions["text"]) == sorted(ASKED)
    suggester = emu_core.Suggester(device="cpu").fit(pl.DataFrame(pool))
    assert (
        suggester.suggest(pd.DataFrame({"text": ASKED, "lang": "en"}), 2)["text"].tolist()
        == suggestions["text"].tolist()
    )
    with raises(DataError, fix="language", match="the list "):
        emu_core.suggest_labels(ASKED, pool, device="cpu")


@pytest.mark.slow
def test_a_run_is_given_as_its_folder_is(run: Run, frame: pd.DataFrame) -> None:
    for pool in (frame, None):
        given = {"pool": pool, "device": "cpu"}
        tables = [emu_core.predict(ASKED, run=of, **given) for of in (run, run.folder, str(run.folder))]
        assert tables[0].equals(tables[1]) and tables[1].equals(tables[2])
    assert emu_core.resume(run).folder == run.folder
    pairs = pd.DataFrame({"en": ["a dog", "a cat", "rain"], "de": ["ein Hund", "eine Katze", "Regen"]})
    assert emu_core.forgetting(run, translations=pairs, device="cpu")["run"] == str(run.folder)


def test_what_was_forgotten_is_measured_on_tables(run: Run) -> None:
    scored = pd.DataFrame(
        {
            "sentence1": ["a dog runs", "a cat sleeps", "he eats bread", "it rains"],
            "sentence2": ["a hound is running", "the cat is asleep", "she drives a car", "the sun shines"],
            "score": [5, 4.5, 1, 0.5],
            "language": "en",
        }
    )
    pairs = pl.DataFrame(
        {"en": scored["sentence1"].tolist(), "de": ["ein Hund", "eine Katze", "Brot", "Regen"]}
    )
    measured = emu_core.forgetting(run.folder, sts=scored, translations=pairs, device="cpu")
    assert measured["sts"]["en"]["count"] == 4 and set(measured["translations"]) == {"en-de", "de-en"}
    again = emu_core.forgetting(run.folder, translations=emu_core.read_parallel(pairs), device="cpu")
    assert again["translations"] == measured["translations"]
    with raises(InputError, fix=None, match="a dict "):
        emu_core.forgetting(run.folder, sts={"en": 1}, device="cpu")  # type: ignore[arg-type]


@pytest.mark.slow
def test_an_encoder_is_trained_from_scratch_on_tables(tmp_path: Path) -> None:
    english = [f"This is sentence {number}." for number in range(40)]
    pairs = pd.DataFrame({"en": english, "de": [f"Das ist Satz {number}." for number in range(40)]})
    run = emu_core.pretrain(
        pairs.head(30),
        dev=pl.DataFrame(pairs.tail(10)),
        dialogues=pd.DataFrame({"comment": english, "response": pairs["de"], "language": "en"}),
        running_text=pd.DataFrame({"text": english, "language": "en"}),
        nli=pd.DataFrame({"premise": english, "hypothesis": english, "label": 0}),
        method="dual-encoder",
        config=emu_core.configure("dual-encoder", epochs=1),
        out=tmp_path / "run",
        device="cpu",
    )
    facts = run.data()
    assert isinstance(facts, ParallelFacts) and (facts.pairs, facts.dev) == ({"en-de": 30}, {"en-de": 10})
    assert (facts.dialogues, facts.running_text, facts.nli) == (40, 38, 40)


def test_a_benchmark_reads_frames_and_their_machine_translations(frame: pd.DataFrame) -> None:
    translated = frame.assign(translation=frame["text"].str.upper())
    read, fields = EmuExperiment.gather(pl.DataFrame(translated), EmuBench(), train_languages=["en"])
    expected, _ = EmuExperiment.gather(small_set(("en", "de")), EmuBench(), train_languages=["en"])
    assert fields["data"] == "the DataFrame" and len(read.test) == len(expected.test)
    assert set(read.translations.values()) <= set(translated["translation"]) and read.translations
