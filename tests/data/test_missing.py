"""Words that may stand for missing values, and errors of spreadsheets, in every column."""

import argparse
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from emu_core.cli.options import add_data, reading_of
from emu_core.data.audit import Audit, audit_rows, labelled_from_frame, located
from emu_core.data.ids import comparable_ids
from emu_core.data.missing import is_error, missing_words, without_missing
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.errors import DataError
from emu_core.formats.labelled import read_labelled, read_partly_labelled, read_unlabelled
from emu_core.formats.parallel.files import read_parallel
from tests.support.raises import raises
from tests.support.tables import WRITERS

WORDS = ("nan", "NaN", "NULL", "None", "N/A", "-", "null", "<NA>", "\u2014")
ROWS = [
    ("1", "where is the pool", "pool", "en", "train"),
    ("2", "the pool please", "pool", "en", "train"),
    ("3", "call a taxi", "taxi", "en", "train"),
    ("4", "a taxi now", "taxi", "en", "train"),
]
COLUMNS = ["id", "text", "intent", "language", "split"]


def frame_with(word: str, column: str, rows: tuple[int, ...] = (0,)) -> pd.DataFrame:
    """Return four rows, of which some have a word in a column."""
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    frame.loc[list(rows), column] = word
    return frame


def audited(frame: pd.DataFrame, **reading: object) -> tuple[pd.DataFrame, Audit]:
    rows = frame.assign(annotated="")[list(LABELLED_COLUMNS)].astype("str")
    return audit_rows(located(rows, "x.csv"), (), Reading(**reading))  # type: ignore[arg-type]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("word", ["nan", "None", "-"])
def test_a_word_is_a_finding_in_every_column_and_missing_where_that_is_said(word: str, column: str) -> None:
    frame = frame_with(word, column)
    _, audit = audited(frame)
    is_of_none = column == "intent" and word == "None"
    assert audit.missing_words["row"].tolist() == ([] if is_of_none else [1])
    assert audit.none_of_these == (("None",) if is_of_none else ())
    for missing in ([word], [word.upper()], ["usual"]):
        kept, audit = audited(frame, missing=missing)
        stays = is_of_none and missing == ["usual"]
        assert audit.missing_words.empty and (audit.none_of_these == ("None",)) is stays
        reasons = {"text": ["no text"], "intent": [] if stays else ["no intent"], "language": ["no language"]}
        assert audit.dropped["reason"].tolist() == reasons.get(column, [])
        if column in ("id", "split"):
            assert kept[column].tolist()[0] == ""


@pytest.mark.parametrize("kind", ["frame", ".csv", ".jsonl", ".xlsx"])
def test_ids_that_are_such_words_join_nothing(kind: str, tmp_path: Path) -> None:
    frame = frame_with("nan", "id", (0, 1)).assign(language=["en", "de", "en", "de"])
    frame.loc[[2, 3], "id"] = "7"
    data: object = frame
    if kind != "frame":
        data = tmp_path / f"hotel{kind}"
        written = {f".{table.endings[0].strip('.')}": write for table, write in WRITERS.items()}
        (tmp_path / f"hotel{kind}").write_bytes(written[kind](frame))
    labelled, audit = read_labelled(data)
    assert labelled.frame["id"].tolist() == ["", "", "7", "7"]
    assert audit.id_conflicts.empty and len(audit.missing_words) == 2
    assert comparable_ids(pd.Series(["NULL", "nan", "1"], dtype="str")).tolist() == ["", "", "1"]


def test_where_an_intent_is_really_called_none_it_stays() -> None:
    frame = pd.DataFrame(ROWS, columns=COLUMNS).assign(intent=["none", "none", "yes", "yes"])
    for missing in ([], ["usual"], ["nan"]):
        kept, audit = audited(frame, missing=missing)
        assert sorted(set(kept["intent"])) == ["none", "yes"] and audit.none_of_these == ()
        assert audit.missing_words.empty
    junk = frame.assign(intent=["none", "nan", "yes", "yes"])
    assert audited(junk)[1].none_of_these == ()  # what may be missing is no other intent that is left
    spoken = audited(frame, missing=["none"], real_intents=["None"])
    assert sorted(set(spoken[0]["intent"])) == ["none", "yes"]
    with_other = frame.assign(intent=["none", "a", "b", "c"])
    assert audited(with_other, missing=["usual"])[1].none_of_these == ("none",)
    assert audited(with_other, missing=["none"])[1].dropped["reason"].tolist() == ["no intent"]


def test_min_nan_is_a_language_but_a_finding() -> None:
    kept, audit = audited(frame_with("nan", "language", (0, 1)))
    assert kept["language"].tolist() == ["nan", "nan", "en", "en"]
    assert (
        audit.missing_words["explanation"].tolist()
        == ["the language 'nan' may stand for a missing value"] * 2
    )
    assert any("may stand for a missing value: 2 rows" in line for line in audit.summary())


def test_a_missing_language_is_that_which_the_file_states(tmp_path: Path) -> None:
    path = tmp_path / "hotel.de.csv"
    frame_with("N/A", "language").to_csv(path, index=False)
    assert read_labelled(path)[1].dropped["reason"].tolist() == ["not a language: 'N/A'"]
    labelled, _ = read_labelled(path, reading=Reading(missing=["usual"]))
    assert labelled.frame["language"].tolist() == ["de", "en", "en", "en"]


ERRORS = ("#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NULL!", "#NUM!")


@pytest.mark.parametrize("error", ["#N/A", "#DIV/0!"])
@pytest.mark.parametrize("ending", [".xlsx", ".csv"])
def test_an_error_of_a_spreadsheet_is_missing_in_every_column(
    error: str, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"hotel{ending}"
    for column in COLUMNS:
        frame = frame_with(error, column)
        if ending == ".csv":
            frame.to_csv(path, index=False)
        else:
            book = openpyxl.Workbook()
            for row in (COLUMNS, *frame.values.tolist()):
                book.active.append(row)
            assert any(cell.data_type == "e" for row in book.active.iter_rows() for cell in row)
            book.save(path)
        labelled, audit = read_labelled(path, reading=Reading(language="de"))
        dropped = {"text": ["no text"], "intent": ["no intent"]}.get(column, [])
        assert audit.dropped["reason"].tolist() == dropped and audit.missing_words.empty
        if not dropped:
            assert labelled.frame[column].tolist()[0] == ("de" if column == "language" else "")


def test_errors_do_not_hide_what_a_column_is(tmp_path: Path) -> None:
    path = tmp_path / "hotel.csv"
    frame = pd.DataFrame(ROWS * 2, columns=COLUMNS).drop(columns=["id", "split"])
    frame["text"] += [" one"] * 4 + [" two"] * 4
    frame.columns = ["mail", "concern", "spoken"]
    frame.loc[0, "spoken"] = "#N/A"
    frame.to_csv(path, index=False)
    labelled, audit = read_labelled(path)
    assert len(labelled) == 7 and audit.dropped["reason"].tolist() == ["no language"]


def test_words_and_errors_are_known_in_every_spelling() -> None:
    words = pd.Series([*WORDS, "pool"], dtype="str")
    assert missing_words(words, "text") == list(WORDS)
    assert missing_words(words, "intent") == [word for word in WORDS if word != "None"]
    assert without_missing(words, "text", [" Null "]).tolist().count("") == 2
    assert missing_words(words.str.title(), "text") == list(words.str.title()[:-1].unique())
    assert all(map(is_error, ERRORS))


@pytest.mark.parametrize("text", ["#help", "#1", "#", "nano", "n a n", "none of them", "annul", "a-b"])
def test_other_texts_are_data(text: str) -> None:
    values = pd.Series([text], dtype="str")
    assert missing_words(values, "text") == [] and not is_error(text)
    assert without_missing(values, "text", ["usual"]).tolist() == [text]


@pytest.mark.parametrize("ending", [".xlsx", ".csv"])
def test_errors_are_no_translations(ending: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"en": ["the pool", "a taxi", "a bed"], "de": ["der Pool", "#N/A", "ein Bett"]})
    path = tmp_path / f"pairs{ending}"
    frame.to_csv(path, index=False) if ending == ".csv" else frame.to_excel(path, index=False)
    with raises(DataError, fix="drop_empty"):
        read_parallel(path)
    (text,) = read_parallel(path, drop_empty=True)
    assert text.second == ("der Pool", "ein Bett")


def test_sentences_without_intents_are_read_so_too(tmp_path: Path) -> None:
    reading = Reading(language="en", missing=["usual"])
    sentences = read_unlabelled(["where is the pool", "nan", "#N/A", "-"], reading=reading)
    assert sentences.frame["text"].tolist() == ["where is the pool"]
    path = tmp_path / "hotel.csv"
    frame_with("NULL", "intent", (0, 1)).to_csv(path, index=False)
    labelled, unlabelled, _ = read_partly_labelled(path, reading=Reading(missing="null"))
    assert len(labelled) == 0 or labelled.intents == ("taxi",)
    assert {"where is the pool", "the pool please"} <= set(unlabelled.frame["text"])
    frame = frame_with("nan", "intent").assign(annotated="")[list(LABELLED_COLUMNS)]
    assert len(labelled_from_frame(frame, "x", reading=Reading(missing=["nan"]))[0]) == 3


def test_the_command_has_the_option() -> None:
    parser = argparse.ArgumentParser()
    add_data(parser)
    given = parser.parse_args(["x.csv", "--missing", "nan,NULL"])
    assert reading_of(given) == Reading(missing=["nan", "NULL"], mapping=ColumnMapping())
    assert reading_of(parser.parse_args(["x.csv"])).missing == ()
