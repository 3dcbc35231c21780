"""The intent model that a run stores: with its labelled sentences, or without them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from emu_core import IntentClassifier, batches, predict, train
from emu_core.api.train import plan_training
from emu_core.cli import main
from emu_core.data.demo import load_demo
from emu_core.data.sets import LabelledSet
from emu_core.errors import InputError
from emu_core.intents.answers import NO_INTENT
from emu_core.reports.prediction_notes import prediction_notes
from emu_core.runs.run import Run
from tests.support.small import small_file, small_set


@pytest.fixture(scope="module")
def data() -> LabelledSet:
    return small_set()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that keeps no labelled sentences."""
    folder = tmp_path_factory.mktemp("runs")
    file, out = small_file(folder), folder / "small"
    assert main(["train", str(file), "--out", str(out), "--no-examples", "--device", "cpu"]) == 0
    return Run(out)


def test_no_labelled_sentence_stays_in_a_run_that_keeps_none(run: Run, data: LabelledSet) -> None:
    assert not run.config().keep_examples
    learnt = data.train_part().select(languages=["en"]).frame
    tables = [pd.read_parquet(path) for path in run.folder.rglob("*.parquet")]
    cells = {str(cell) for table in tables for column in table for cell in table[column]}
    assert tables and not cells & set(learnt["text"])
    others = [
        path.read_bytes() for path in run.folder.rglob("*") if path.is_file() and path.suffix != ".parquet"
    ]
    assert not any(text.encode() in content for text in learnt["text"] for content in others)
    # It names intents as well as before, without the sentences behind them.
    asked = data.held_out_part()
    assert asked is not None
    table = IntentClassifier.from_run(run, device="cpu").explain(asked.frame["text"].tolist())
    assert (table["intent"] == asked.frame["intent"].to_numpy()).mean() > 0.5
    assert set(table["nearest_1_intent"]) <= set(data.intents) and set(table["nearest_1"]) == {"(not kept)"}


def test_known_vectors_adapt_as_encoded_ones_do(run: Run) -> None:
    # Of all intents of the demo set, most of which the run does not know.
    japanese = load_demo().select(languages=["ja"], splits=["test"]).frame["text"].tolist()
    encoded, known = (IntentClassifier.from_run(run, device="cpu") for _ in range(2))
    vectors = known._encode(japanese)
    encoded.adapt(japanese, "ja")
    known.adapt(japanese, "ja", vectors=vectors)
    shift = encoded.classifier_._calibrations.shifts["ja"]
    assert known.classifier_._calibrations.shifts["ja"] == pytest.approx(shift, abs=1e-5)
    assert shift.likeness < 1


def test_a_run_is_calibrated_by_its_sentences_without_labels(
    run: Run, data: LabelledSet, tmp_path: Path
) -> None:
    english, spoken = data.select(languages=["en"]), load_demo().select(languages=["ja"], splits=["train"])
    japanese = spoken.frame[spoken.frame["intent"].isin(data.intents)]
    mails = pd.DataFrame({"text": japanese["text"], "language": "ja"})
    given = train(english, unlabelled=mails, out=tmp_path / "given", device="cpu")
    with_them, without = (IntentClassifier.from_run(of, device="cpu") for of in (given, run))
    assert with_them.facts["adapted"] == ["ja"] and without.facts["adapted"] == []
    shift = without.adapt(mails["text"].tolist(), "ja").classifier_._calibrations.shifts["ja"]
    assert with_them.classifier_._calibrations.shifts["ja"] == pytest.approx(shift, abs=0.01)


def test_rows_calibrate_a_run_without_their_labels_if_their_language_is_named(data: LabelledSet) -> None:
    _, named = plan_training(data, unlabelled_languages=["de"])
    assert named.unlabelled is not None and named.unlabelled.languages == ("de",)
    assert plan_training(data)[1].unlabelled is None


def test_every_face_says_how_a_language_is_calibrated(run: Run, data: LabelledSet) -> None:
    classifier = IntentClassifier.from_run(run, device="cpu")
    japanese = data.select(languages=["ja"]).frame["text"].tolist()
    plain = classifier.explain(japanese, languages="ja")
    (note,) = (
        note for note in plain.attrs["facts"]["notes"] if "do not suffice to calibrate Japanese" in note
    )
    assert "30 or more unlabelled sentences" in note
    adapted = classifier.adapt(japanese, "ja").explain(japanese, languages="ja")
    notes = prediction_notes(adapted.attrs["facts"])
    assert any(note.endswith("calibrated by the unlabelled sentences in Japanese.") for note in notes)
    assert not any("do not suffice" in note for note in notes)
    # Sentences of other intents of the demo set are about something else.
    others = load_demo().select(languages=["de"])
    german = others.frame["text"][~others.frame["intent"].isin(data.intents)].tolist()
    facts = classifier.adapt(german, "de").explain(german, languages="de").attrs["facts"]
    assert facts["adapted"] == ["ja"]
    assert any("in German may be about something else" in note for note in prediction_notes(facts))


def test_all_intents_that_a_sentence_may_have_are_named(
    run: Run, data: LabelledSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    english = data.select(languages=["en"], splits=["test"]).frame
    table = predict(english, run=run, coverage=0.9, device="cpu")
    assert list(table)[:4] == ["text", "intent", "confidence", "intents"]
    known = table[table["intent"] != NO_INTENT]
    assert (known["intents"].str.split(" | ", regex=False).str[0] == known["intent"]).all()
    assert set(" | ".join(known["intents"]).split(" | ")) <= set(data.intents)
    assert table["intents"][table["intent"] == NO_INTENT].isna().all()
    assert "intents" not in predict(english, run=run, device="cpu")
    # In a file, in a batch and in the shell, too.
    out = tmp_path / "answers.csv"
    IntentClassifier.from_run(run, coverage=0.9, device="cpu").predict_file(english, out)
    written = pd.read_csv(out, dtype=str, keep_default_na=False)["intents"].tolist()
    assert written == table["intents"].fillna("").tolist()
    batch = batches.Predict(run.folder, coverage=0.9, device="cpu")({"text": english["text"].tolist()})
    alone = predict(english["text"], run=run, coverage=0.9, device="cpu")["intents"].fillna("")
    assert [intents or "" for intents in batch["intents"]] == alone.tolist()
    sentence = known["text"].iloc[0]
    assert main(["predict", sentence, "--run", str(run.folder), "--coverage", ".9", "--language", "en"]) == 0
    assert "may be" in capsys.readouterr().out


@pytest.mark.parametrize("coverage", [0, 1, 1.5, "most"])
def test_a_coverage_that_is_no_share_is_refused(run: Run, coverage: Any) -> None:
    with pytest.raises(InputError):
        IntentClassifier.from_run(run, coverage=coverage)
