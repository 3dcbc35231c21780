"""Descriptions of intents: from a column, a table or lines to the labelled set, and to what a run names."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from emu_core import IntentClassifier, predict, train
from emu_core.api.train import on_descriptions
from emu_core.cli import main
from emu_core.data.audit import Audit
from emu_core.data.demo import load_demo
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.data.sets import LabelledSet
from emu_core.errors import DataError, Fix, InputError, TrainingError
from emu_core.formats.descriptions import intents_of_lines, read_intents
from emu_core.formats.labelled import read_labelled
from emu_core.formats.tables.columns import guess_columns
from emu_core.runs.run import Run
from tests.support.small import small_file

TEXTS = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab", "Good morning to you"]
INTENTS = ["pool", "pool", "taxi", "taxi", "out_of_scope"]
ABOUT = {"pool": "where to swim", "taxi": "order a car", "out_of_scope": "anything else"}
ENGLISH = Reading(language="en")


def tickets(**columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({"text": TEXTS, "intent": INTENTS} | columns)


def read(frame: pd.DataFrame, reading: Reading = ENGLISH) -> tuple[LabelledSet, Audit]:
    return read_labelled(frame, reading=reading)


@pytest.mark.parametrize("name", ["description", "Intent description", "Beschreibung", "descripción", "描述"])
def test_a_column_with_a_single_text_for_each_intent_describes_it(name: str) -> None:
    labelled, audit = read(tickets(**{name: [ABOUT[intent] for intent in INTENTS]}))
    assert labelled.descriptions == {"pool": "where to swim", "taxi": "order a car"}, (
        "none of these is no intent"
    )
    assert "Described in words: 2 intents." in audit.summary()
    assert not any("guessed" in line for line in audit.summary())
    assert labelled.select(languages=["en"]).descriptions == labelled.descriptions


def test_a_column_of_that_name_may_hold_the_sentences_or_something_else() -> None:
    sentences = tickets().rename(columns={"text": "description"})
    assert guess_columns(sentences) == ColumnMapping(text="description", intent="intent")
    once = tickets(description=[f"ticket {number}" for number in range(len(TEXTS))])
    assert guess_columns(once).description is None
    alone = once.drop_duplicates("intent")
    assert guess_columns(alone).description is None, (
        "that each has one is no sign where each has one sentence"
    )
    assert read(once)[0].descriptions == {}


def test_a_column_that_is_named_is_taken_and_the_first_of_several_counts() -> None:
    frame = tickets(note=["", "where to swim", "order a car", "order a cab", ""])
    mapping = ColumnMapping(description="note")
    labelled, audit = read(frame, Reading(mapping, "en"))
    assert labelled.descriptions == {"pool": "where to swim", "taxi": "order a car"}
    assert "Of several descriptions, the first counts: taxi." in audit.summary()
    with pytest.raises(DataError, match="no column 'nowhere'"):
        read(frame, Reading(ColumnMapping(description="nowhere"), "en"))


def test_files_of_which_one_has_descriptions_are_one_set(tmp_path: Path) -> None:
    tickets(description=[ABOUT[intent] for intent in INTENTS]).to_csv(tmp_path / "a.en.csv", index=False)
    tickets().assign(text=[f"{text} Bitte" for text in TEXTS]).to_csv(tmp_path / "b.de.csv", index=False)
    labelled, _ = read_labelled(sorted(tmp_path.glob("*.csv")))
    assert labelled.descriptions["pool"] == "where to swim" and labelled.languages == ("en", "de")


def test_merged_intents_keep_their_description() -> None:
    frame = tickets(intent=["Pool", "pool", "taxi", "taxi", "oos"], description=[ABOUT[i] for i in INTENTS])
    labelled, _ = read(frame, Reading(language="en", merge_intents=["case"]))
    assert labelled.intents == ("Pool", "taxi") and labelled.descriptions["Pool"] == "where to swim"


def test_descriptions_are_found_by_name_whatever_its_case() -> None:
    labelled, _ = read(tickets())
    given = {"POOL": "where to swim", "taxi": "", "wifi": "the internet", "Out of scope": "x", "none": "y"}
    assert labelled.described(given).descriptions == {
        "pool": "where to swim",
        "taxi": "",
        "wifi": "the internet",
    }
    twice = labelled.described({"pool": "a"}).described({"pool": "b", "new": ""})
    assert twice.descriptions == {"pool": "b", "new": ""}, "what is said last counts"
    both, _ = read(tickets(intent=["Pool", "pool", "taxi", "taxi", "oos"]))
    assert both.described({"pool": "a"}).descriptions == {"pool": "a"}
    two = {"pool": "a", "Pool": "b"}
    assert both.described(two).descriptions == two, "they are two intents in these data"
    assert labelled.described({"pool": "a", "Pool": "a"}).descriptions == {"pool": "a"}
    for spellings in (two, {"Pool": "b", "POOL": ""}):
        with pytest.raises(DataError, match="the intent 'pool' has two descriptions; keep one"):
            labelled.described(spellings)


def test_lines_are_names_with_or_without_a_description() -> None:
    lines = ["taxi: order a car: now", "pool\twhere: to swim", "IN:GET_WEATHER", "", "  "]
    assert intents_of_lines(lines) == {
        "taxi": "order a car: now",
        "pool": "where: to swim",
        "IN:GET_WEATHER": "",
    }
    with pytest.raises(DataError, match="two descriptions"):
        intents_of_lines(["a: b", "a: c"])
    with pytest.raises(InputError, match="a dict with a description of each"):
        read_intents(3)  # type: ignore[arg-type]


def test_a_name_alone_describes_nothing() -> None:
    labelled = load_demo().described({"pool": "where to swim", "gym": "", "wifi": ""})
    assert on_descriptions(labelled) == ("1 intent of 28 described.",)


@pytest.mark.slow
def test_a_run_knows_intents_by_what_is_said_of_them(tmp_path: Path) -> None:
    """One is described that has no sentence at all; the model, and the findings of the run, have it."""
    table, file, out = tmp_path / "intents.csv", small_file(tmp_path), tmp_path / "run"
    table.write_text("intent,description\nwifi,the wireless internet\nspa_hours,when is the spa open\n")
    assert main(["train", str(file), "--intents", str(table), "--out", str(out), "--device", "cpu"]) == 0
    findings = Run(out).data().audit
    assert "1 intent of 6 described." in findings
    assert "Without a labelled sentence, known by what is said of them alone: spa_hours." in findings
    classifier = IntentClassifier.from_run(Run(out), device="cpu")
    assert "spa_hours" in classifier.classes_.tolist()
    answers = classifier.classifier_.predict(classifier._encode(["Wann hat das Spa offen?"]), 1)
    assert classifier.classifier_.intents_[answers.labels[0]] == "spa_hours"


def test_a_pool_has_descriptions_too_and_a_run_its_own() -> None:
    pool = (TEXTS[:4], INTENTS[:4])
    asked = ["Das WLAN geht nicht"]
    told = predict(
        asked, pool=pool, threshold=-1, reading=replace(ENGLISH, intents={"w": "the wireless internet"})
    )
    assert told["intent"].tolist() == ["w"]
    with pytest.raises(DataError) as refused:
        predict(asked, run="nowhere", reading=Reading(intents={"w": "x"}))
    assert refused.value.fix == Fix("intents")


def test_where_no_intents_are_learnt_nothing_is_described(tmp_path: Path) -> None:
    with pytest.raises(TrainingError) as refused:
        reading = replace(ENGLISH, intents={"pool": "x"})
        train(TEXTS, method="distil", reading=reading, out=tmp_path / "run")
    assert refused.value.fix == Fix("intents")
