"""Predictions from a labelled pool: the command and the library."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from emu_core import IntentClassifier, Reading, predict, train
from emu_core.cli import main
from emu_core.data.demo import load_demo
from emu_core.data.sets import LabelledSet
from emu_core.errors import DataError
from emu_core.intents.answers import NO_INTENT
from emu_core.reports.prediction_notes import prediction_notes
from emu_core.runs.run import Run
from tests.support.raises import raises
from tests.support.small import small_file, small_set
from tests.support.small_run import small_run


@pytest.fixture(scope="module")
def pool() -> LabelledSet:
    return small_set()


@pytest.fixture(scope="module")
def classifier(pool: LabelledSet) -> IntentClassifier:
    return IntentClassifier(device="cpu").fit(pool)


def test_rows_without_a_sentence_are_counted_and_the_input_is_not_overwritten(
    classifier: IntentClassifier, tmp_path: Path
) -> None:
    mails, notes = tmp_path / "mails.csv", list[str]()
    mails.write_text("id,text\n1,Where is the pool?\n2,\n3,  \n")
    assert classifier.predict_file(mails, tmp_path / "out.csv", on_note=notes.append) == 1
    assert "2 rows without a sentence left out" in notes
    for data in (mails, [str(mails)]):
        with pytest.raises(DataError, match="would be overwritten"):
            classifier.predict_file(data, tmp_path / "." / "mails.csv")


def test_a_sentence_of_the_pool_is_its_own_reason(classifier: IntentClassifier, pool: LabelledSet) -> None:
    texts = pool.frame["text"].iloc[[0, 50]].tolist()
    table = classifier.explain(texts)
    assert table["text"].tolist() == texts
    assert table["nearest_1"].tolist() == texts
    assert table["nearest_1_cosine"].to_numpy() == pytest.approx(1, abs=1e-5)
    assert table["confidence"].between(0, 1).all()
    assert list(table.columns[4:8]) == [
        "nearest_1",
        "nearest_1_intent",
        "nearest_1_language",
        "nearest_1_cosine",
    ]
    assert "nearest_3" in table and "nearest_4" not in table


@pytest.mark.slow
def test_the_threshold_can_be_set(pool: LabelledSet) -> None:
    asked = ["Can I bring my dog?"]
    never, always = (
        IntentClassifier(threshold=cut, device="cpu").fit(pool).explain(asked) for cut in (-1, 1)
    )
    assert never["intent"].item() == "pets"
    assert always["intent"].item() == NO_INTENT and math.isnan(always["confidence"].item())
    with pytest.raises(DataError, match="no cosine"):
        IntentClassifier(threshold=60).fit(pool)


@pytest.mark.slow
@pytest.mark.parametrize(
    "empty", [[], (), np.array([]), pd.Series([], dtype=str), pd.DataFrame({"text": []})]
)
def test_nothing_has_no_answers(empty: Any) -> None:
    pool = (["Where is the pool?", "Call me a taxi"], ["pool", "taxi"])
    asked = {"pool": pool, "reading": Reading(language="en"), "device": "cpu"}
    none = predict(empty, **asked)
    assert len(none) == 0 and list(none.columns) == list(predict(["a taxi"], **asked).columns)


@pytest.mark.slow
def test_rows_that_a_run_was_trained_on_calibrate_nothing(tmp_path: Path) -> None:
    run, labelled, _ = small_run(tmp_path / "runs")
    spec = f"run:{run.folder}"
    whole = IntentClassifier(spec, device="cpu").fit(labelled)
    assert whole.facts["accuracy"] is not None
    assert "trained on 216 of the 324 labelled sentences" in whole.notes_[-1]
    # The same sentences in another file, without ids and splits, in another case and order.
    frame = labelled.select(splits=["train"], languages=["en"]).frame.iloc[::-1].reset_index(drop=True)
    again = LabelledSet(frame.assign(text=" " + frame["text"].str.upper(), id="", split=""), "again")
    alone = IntentClassifier(spec, device="cpu").fit(again)
    assert alone.facts["accuracy"] is None and alone.facts["threshold"] is None
    assert "trained on these labelled sentences" in alone.notes_[0]
    base = IntentClassifier(device="cpu").fit(again)
    assert base.facts["accuracy"] is not None and not any("trained on" in note for note in base.notes_)
    found = predict(["Where can I swim?"], pool=labelled, run=run.folder, device="cpu")
    assert found["nearest_1_intent"].item() in labelled.intents


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    path = tmp_path / "mails.csv"
    rows = ["Where is the pool?", "=1+1", "Wo ist das Schwimmbad?", "", "Can I bring my dog?"]
    pd.DataFrame({"text": rows, "id": [f"m{n}" for n in range(5)]}).to_csv(path, index=False)
    return path


def test_files_are_written_a_part_at_a_time(
    classifier: IntentClassifier, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.api.embed.PART", 3)
    for ending in ("csv", "tsv", "jsonl", "parquet"):
        assert classifier.predict_file(mails, tmp_path / f"out.{ending}") == 4
    separated = {
        ending: list(csv.DictReader((tmp_path / f"out.{ending}").open(encoding="utf-8-sig"), delimiter=mark))
        for ending, mark in (("csv", ","), ("tsv", "\t"))
    }
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    expected = classifier.explain([row["text"] for row in rows])
    assert [row["id"] for row in rows] == ["m0", "m1", "m2", "m4"]
    assert [row["text"] for row in lines] == [row["text"] for row in rows]
    for found in (*separated.values(), lines, rows):
        assert [row["intent"] for row in found] == expected["intent"].tolist()
        margins = [float(row["margin"]) for row in found]
        assert margins == pytest.approx(expected["margin"].tolist(), abs=1e-5)
    assert separated["csv"] == separated["tsv"] and separated["csv"][1]["text"] == "'=1+1"
    with pytest.raises(DataError, match="end its name in"):
        classifier.predict_file(mails, tmp_path / "out.xlsx")


def test_a_file_that_fails_half_way_is_absent(
    classifier: IntentClassifier, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emu_core.api.embed.PART", 3)

    def stop(done: int, total: int) -> None:
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        classifier.predict_file(mails, tmp_path / "out.csv", on_progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mails.csv"]


@pytest.mark.slow
def test_the_command_predicts_sentences_and_files(
    mails: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = small_file(tmp_path)
    given = ["--pool", str(pool), "--device", "cpu", "--threshold", "-1"]
    assert main(["predict", "Can I bring my dog?", *given, "-k", "2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (one,) = told["predictions"]
    assert one["intent"] == "pets" and "nearest_2" in one and "nearest_3" not in one
    assert told["threshold"] == -1 and told["pool"] == len(small_set())
    assert main(["predict", str(mails), *given]) == 0
    shown = capsys.readouterr().out
    assert (
        "Wo ist das Schwimmbad?" in shown
        and "% of held-out labelled sentences are predicted correctly, by" in shown
    )
    out = tmp_path / "deep" / "out.jsonl"
    assert main(["predict", str(mails), *given, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sentences"] == 4 == len(out.read_text("utf-8").splitlines())
    assert main(["predict", "missing.csv", *given]) == 2
    assert "missing.csv" in capsys.readouterr().err


def test_many_sentences_need_a_file(mails: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.cli.predict.MOST_PRINTED", 3)
    assert main(["predict", str(mails), "--pool", "demo"]) == 2


@pytest.fixture(scope="module")
def with_none() -> LabelledSet:
    """Six intents, and 36 sentences of two others as those with none of them."""
    whole = small_set()
    demo = load_demo().select(languages=whole.languages)
    strange = demo.frame[demo.frame["intent"].isin(("airport", "breakfast", "checkout", "parking"))]
    of_none = strange.assign(intent="oos").reset_index(drop=True)
    assert len(of_none) > 30
    return replace(whole, none_of_these=of_none)


@pytest.mark.slow
def test_sentences_with_none_of_the_intents_are_never_shown_and_are_measured(with_none: LabelledSet) -> None:
    classifier = IntentClassifier(device="cpu").fit(with_none)
    facts = classifier.facts
    assert facts["none_of_these"] == len(with_none.none_of_these) and facts["none_found"] is not None
    texts = with_none.none_of_these["text"].tolist()
    table = classifier.explain(texts, languages=with_none.none_of_these["language"].tolist())
    assert set(table["intent"]) <= {*with_none.intents, NO_INTENT}
    assert not set(table["nearest_1"]) & set(texts)
    # Each of these is among those that are known to have no intent.
    assert (table["intent"] == NO_INTENT).mean() >= facts["none_found"] / 100 > 0.5
    line = next(line for line in prediction_notes(facts) if line.startswith("No known intent below a score"))
    assert f"% of {facts['none_of_these']:,} sentences labelled as none of the intents" in line
    assert "rejects at most 5 % of the right intents" in line


@pytest.mark.slow
def test_what_the_threshold_finds_is_beside_every_table(
    with_none: LabelledSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = predict(["Can I bring my dog?"], pool=with_none, device="cpu")
    html = table[["text", "intent"]]._repr_html_()
    assert "Can I bring my dog?" in html and "labelled as none of the intents" in html
    assert (
        "labelled as none" in IntentClassifier(device="cpu").fit(with_none)._repr_mimebundle_()["text/html"]
    )
    pool = tmp_path / "pool.csv"
    with_none.all_rows().to_csv(pool, index=False)
    assert main(["predict", "Can I bring my dog?", "--pool", str(pool), "--device", "cpu"]) == 0
    assert "sentences labelled as none of the intents" in capsys.readouterr().out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small_set(), out=tmp_path_factory.mktemp("runs") / "small", method="head", device="cpu")


@pytest.mark.slow
def test_the_command_adapts_to_the_languages_of_its_sentences(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mails = small_set(("de", "ja")).select(splits=["test"]).frame
    mails = pd.concat([mails[mails["language"] == "ja"], mails[mails["language"] == "de"].head(20)])
    texts, languages = mails["text"].tolist(), mails["language"].tolist()
    file, given = tmp_path / "mails.csv", ["--run", str(run.folder), "--device", "cpu", "--json"]
    mails[["text", "language"]].to_csv(file, index=False)
    classifier = IntentClassifier.from_run(run, device="cpu")
    plain = classifier.explain(texts, languages=languages)
    adapted = classifier.adapt(texts, languages).explain(texts, languages=languages)
    for options, expected in (((), adapted), (("--no-adapt",), plain)):
        out = tmp_path / f"out{len(options)}.csv"
        assert main(["predict", str(file), *given, *options]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert main(["predict", str(file), *given, *options, "--out", str(out)]) == 0
        written = json.loads(capsys.readouterr().out)
        assert [row["intent"] for row in printed["predictions"]] == expected["intent"].tolist()
        assert pd.read_csv(out)["intent"].tolist() == expected["intent"].tolist()
        # Twenty sentences are too few to calibrate German, and it is said.
        assert printed["adapted"] == written["adapted"] == ([] if options else ["ja"])
        for told in (printed, written):
            (note,) = (note for note in told["notes"] if "do not suffice to calibrate" in note)
            assert "German" in note and ("Japanese" in note) is bool(options)


def test_the_languages_of_a_file_without_a_column_of_them_are_detected_where_the_model_is_adapted(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mails = small_set(("de", "ja")).select(splits=["test"]).frame
    texts, languages = mails["text"].tolist(), mails["language"].tolist()
    stated, plain = tmp_path / "stated.csv", tmp_path / "plain.csv"
    mails[["text", "language"]].to_csv(stated, index=False)
    mails[["text"]].to_csv(plain, index=False)
    answers = []
    for file, options in ((stated, ()), (plain, ()), (plain, ("--no-adapt",))):
        given = ["--run", str(run.folder), "--device", "cpu", "--json", *options]
        assert main(["predict", str(file), *given]) == 0
        printed = json.loads(capsys.readouterr().out)
        out = tmp_path / f"out{len(answers)}.csv"
        assert main(["predict", str(file), *given, "--out", str(out)]) == 0
        written, table = json.loads(capsys.readouterr().out), pd.read_csv(out, keep_default_na=False)
        notes = [note for note in printed["notes"] if "is not stated" in note]
        assert notes == [note for note in written["notes"] if "is not stated" in note]
        answers.append((printed["adapted"], table["language"].tolist(), notes))
    assert [of[0] for of in answers] == [["de", "ja"], ["de", "ja"], []]
    assert answers[0][2] == [] and answers[2][1] == [""] * len(texts)
    right = [one == other for one, other in zip(answers[1][1], languages, strict=True)]
    assert np.mean(right) > 0.9
    (detected,), (unstated,) = answers[1][2], answers[2][2]
    assert "German" in detected and "Japanese" in detected and "that of the labels" in unstated
    # In Python, too, where it is asked for.
    table = predict(texts, run=run, adapt=True, device="cpu")
    assert table.attrs["facts"]["adapted"] == ["de", "ja"] and detected in table.attrs["facts"]["notes"]
    by_run = run.predict(texts, adapt=True, device="cpu")
    assert by_run == table["intent"].tolist() != run.predict(texts, device="cpu")


def test_the_library_adapts_when_it_is_asked(run: Run) -> None:
    texts = small_set().select(languages=["ja"], splits=["test"]).frame["text"].tolist()
    given = {"run": run, "reading": Reading(language="ja"), "device": "cpu"}
    plain, adapted = (predict(texts, adapt=adapt, **given) for adapt in (False, True))
    assert plain.attrs["facts"]["adapted"] == [] and adapted.attrs["facts"]["adapted"] == ["ja"]
    pd.testing.assert_frame_equal(plain, predict(texts, **given))
    # Sentences about something else lower no threshold, and it is said.
    others = load_demo().select(languages=["ja"]).frame
    strange = others["text"][~others["intent"].isin(small_set().intents)].tolist()
    facts = predict(strange, adapt=True, **given).attrs["facts"]
    assert facts["adapted"] == [] and any("about something else" in note for note in facts["notes"])


def test_what_there_is_to_predict_from_is_said(
    run: Run, mails: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with raises(DataError, fix="pool", match="no labels to predict from"):
        predict(["Where is the pool?"])
    with raises(DataError, fix="pool", match="have their own threshold"):
        predict(["Where is the pool?"], run=run, threshold=0.5)
    with raises(DataError, fix="pool", match="have their own threshold"):
        IntentClassifier.from_run(run, threshold=0.5)
    for options, message in (([], "no labels to predict from"), (["--threshold", "0.5"], "own threshold")):
        named = ["--run", str(run.folder)] if options else []
        assert main(["predict", str(mails), *named, *options, "--device", "cpu"]) == 2
        told = capsys.readouterr().err
        assert message in told and "--pool" in told


def test_languages_without_a_calibration_of_their_own_are_named(pool: LabelledSet) -> None:
    english = pool.select(languages=["en"])
    classifier = IntentClassifier(device="cpu").fit(english)
    assert classifier.language_notes(["en", "", "en"]) == ()
    (note,) = classifier.language_notes(["ja", "en", "de"])
    assert "do not suffice to calibrate German, Japanese" in note
    table = classifier.explain(["犬を連れて行けますか？"], languages=["ja"])
    assert any("Japanese" in note for note in table.attrs["facts"]["notes"])
