"""Starting without labels: intents by their names alone, and what to label next."""

import json
from pathlib import Path

import pandas as pd
import pytest

import emu_core
from emu_core.cli import main
from emu_core.errors import DataError, InputError
from emu_core.formats.descriptions import read_intents
from tests.support.raises import raises

DEMO = emu_core.load_demo()
NAMES = ("airport_shuttle", "breakfast", "gym", "pool", "taxi", "wifi")


@pytest.fixture(scope="module")
def mails() -> pd.DataFrame:
    frame = DEMO.held_out_part().select(languages=["en", "de"]).frame  # type: ignore[union-attr]
    return frame[frame["intent"].isin(NAMES)].reset_index(drop=True)


def test_names_alone_name_most_intents_in_other_languages(mails: pd.DataFrame) -> None:
    started = emu_core.start(NAMES, mails[["text", "language"]], encoder="use", device="cpu")
    right = started.predictions["intent"] == mails["intent"]
    by_language = right.groupby(mails["language"]).mean()
    assert (by_language > 0.6).all(), by_language  # one in six by chance
    assert started.texts["airport_shuttle"] == "airport shuttle"


def test_descriptions_count_instead_of_names(mails: pd.DataFrame) -> None:
    said = dict(
        zip(("a1", "b2", "c3", "d4", "e5", "f6"), (name.replace("_", " ") for name in NAMES), strict=True)
    )
    by_name = emu_core.start(NAMES, mails[["text", "language"]], encoder="use", device="cpu").predictions[
        "intent"
    ]
    by_text = emu_core.start(said, mails[["text", "language"]], encoder="use", device="cpu").predictions[
        "intent"
    ]
    is_same = by_text.map(dict(zip(said, NAMES, strict=True))) == by_name
    assert is_same.mean() > 0.9  # not all: names count in sentences, too


def test_what_is_to_be_labelled_is_of_every_intent_and_least_sure(mails: pd.DataFrame) -> None:
    started = emu_core.start(NAMES, mails[["text", "language"]], encoder="use", count=6, device="cpu")
    predicted = started.predictions
    assert set(started.next["intent"]) == set(predicted["intent"]) and len(started.next) == 6
    least = predicted.groupby("intent")["lead"].min()
    assert started.next.set_index("intent")["lead"].sort_index().equals(least.sort_index())


def test_what_stands_for_none_of_these_is_no_intent(tmp_path: Path) -> None:
    mails = ["Wo ist der Pool?", "Call me a taxi", "Passwort ändern"]
    started = emu_core.start(["pool", "taxi", "oos", "no known intent"], mails, encoder="use", device="cpu")
    assert set(started.predictions["intent"]) <= {"pool", "taxi"} and list(started.texts) == ["pool", "taxi"]
    with pytest.raises(DataError, match=r"1 intent named beside what stands for none of these \(oos\)"):
        emu_core.start(["pool", "oos"], mails, encoder="use", device="cpu")


def test_a_text_without_a_letter_has_no_intent_and_is_not_to_be_labelled() -> None:
    mails = pd.Series(["Wo ist der Pool?", "12345", "Call me a taxi"], index=[9, 8, 6])
    started = emu_core.start(["pool", "taxi"], mails, encoder="use", device="cpu")
    assert started.predictions["intent"].to_dict() == {9: "pool", 8: "no known intent", 6: "taxi"}
    assert sorted(started.next.index) == [6, 9]


def test_predictions_keep_the_ids_and_say_which_rows_have_no_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names.txt").write_text("pool\ntaxi\n")
    mails = tmp_path / "mails.csv"
    mails.write_text("id,text\nm1,Wo ist der Pool?\nm2,\nm3,12345\nm4,Ein Taxi bitte\n")
    out = tmp_path / "first.csv"
    command = ["start", str(tmp_path / "names.txt"), str(mails), "--encoder", "use", "--out", str(out)]
    assert main(command) == 0
    assert "note: 1 row without a sentence left out" in capsys.readouterr().out
    assert pd.read_csv(out)["id"].tolist() == ["m1", "m3", "m4"]
    assert main([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["notes"] == [
        "1 row without a sentence left out",
        "The language of 3 sentences is not stated. By their letters: German (2); not sure (1). "
        "A column `language` states it.",
    ]
    assert pd.read_csv(out, keep_default_na=False)["language"].tolist() == ["de", "", "de"]
    before = mails.read_text()
    assert main([*command[:-1], str(mails)]) != 0
    assert "would be overwritten" in capsys.readouterr().err and mails.read_text() == before


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_name_is_refused(missing: object) -> None:
    with pytest.raises(InputError, match="an intent has no name"):
        read_intents(["track parcel", missing])  # type: ignore[list-item]


def test_descriptions_by_name_in_a_json_file_are_those_of_a_dict(tmp_path: Path) -> None:
    given = {"order/track_parcel": "where is it", "brand/new": "pizza"}
    (tmp_path / "intents.json").write_text(json.dumps(given))
    assert read_intents(tmp_path / "intents.json") == given
    nested = {name: {"description": text, "owner": "desk"} for name, text in given.items()}
    (tmp_path / "nested.json").write_text(json.dumps(nested))
    assert read_intents(tmp_path / "nested.json") == given
    (tmp_path / "row.json").write_text(json.dumps({"intent": "pool", "description": "where to swim"}))
    assert read_intents(tmp_path / "row.json", fewest=1) == {"pool": "where to swim"}
    (tmp_path / "large.json").write_text(json.dumps({str(number): {} for number in range(3_000_000)}))
    with pytest.raises(DataError, match="rows"):
        read_intents(tmp_path / "large.json")
    rows = [{"intent": name, "description": text} for name, text in given.items()]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    assert read_intents(tmp_path / "rows.json") == given


def test_a_table_of_descriptions_and_a_list_of_names_are_read(tmp_path: Path) -> None:
    (tmp_path / "intents.csv").write_text("intent,description\npool,where to swim\ntaxi,\n")
    (tmp_path / "names.txt").write_text("pool\ntaxi\n\n")
    assert read_intents(tmp_path / "intents.csv") == {"pool": "where to swim", "taxi": ""}
    assert read_intents(tmp_path / "names.txt") == read_intents(["pool", "taxi"]) == {"pool": "", "taxi": ""}
    assert read_intents(["1.0", "2.0"]) == read_intents({"1": "", "2": ""}) == {"1": "", "2": ""}


def test_what_can_not_be_started_with_is_said() -> None:
    with raises(DataError, fix=None):
        read_intents(["pool"])
    with raises(DataError, fix=None):
        read_intents({"pool": "a", " pool": "b"})
    with pytest.raises(DataError, match="17"):
        emu_core.start(["17", "pool"], ["Where is it?"], encoder="use", device="cpu")


def test_the_map_has_every_sentence_or_a_sample_of_all_intents(
    mails: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = emu_core.start(NAMES, mails, encoder="use", device="cpu")
    page = started.map_page("pca")
    assert len(started.drawn) == len(mails) and page != started.map_page("tsne")
    for intent in set(started.predictions["intent"]):
        assert intent in page
    monkeypatch.setattr("emu_core.api.start.MOST_ON_MAP", 20)
    few = emu_core.start(NAMES, mails, encoder="use", device="cpu")
    assert len(few.drawn) == 20 and set(few.predictions["intent"].iloc[few.drawn]) == set(
        few.predictions["intent"]
    )
    with raises(DataError, fix=None):
        few.map_page("nothing")


def test_the_command_writes_predictions_and_a_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names, out = tmp_path / "names.txt", tmp_path / "first.csv"
    names.write_text("pool\ntaxi: order a taxi\n")
    mails = ["Where is the pool?", "<b>Call me a cab</b>", "Kann ich schwimmen?"]
    arguments = [
        "start",
        str(names),
        *mails,
        "--encoder",
        "use",
        "--device",
        "cpu",
        "--json",
        "--out",
        str(out),
    ]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["map"] == str(tmp_path / "first.map.html")
    assert pd.read_csv(out)["intent"].tolist() == ["pool", "taxi", "pool"]
    page = (tmp_path / "first.map.html").read_text("utf-8")
    assert "schwimmen" in page and "<b>Call" not in page  # too few sentences for t-SNE are drawn by PCA
