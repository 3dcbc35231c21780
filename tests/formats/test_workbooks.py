"""Workbooks with several sheets."""

import io

import openpyxl
import pytest

from emu_core.errors import DataError
from emu_core.formats.tables.read import read_table

TABLE = [["text", "intent"], ["where", "place"], ["how", "way"]]


def workbook(sheets: dict[str, list[list[object]]], hidden: tuple[str, ...] = ()) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize(
    "names", [("de", "fr"), ("German", "français"), ("de-DE", "fr-FR"), ("Deutsch", "hotel_fr")]
)
def test_a_sheet_a_language(names: tuple[str, str]) -> None:
    other = [["Intent", "Text"], ["place", "où"]]  # the same columns in another order
    frame = read_table(workbook({names[0]: TABLE, names[1]: other, "Sheet3": []}), "x.xlsx")
    assert frame.to_dict("split", index=False) == {
        "columns": ["text", "intent", "language"],
        "data": [["where", "place", "de"], ["how", "way", "de"], ["où", "place", "fr"]],
    }
    assert frame.attrs["recognised"] == f"Workbook with a sheet per language ({', '.join(names)})"
    assert frame.attrs["notes"] == ()


def test_a_sheet_a_split_and_both() -> None:
    frame = read_table(workbook({"Train": TABLE, "Test": TABLE[:2], "read me": [["About"]]}), "x.xlsx")
    assert frame["split"].tolist() == ["train", "train", "test"]
    assert list(frame.columns) == ["text", "intent", "split"]
    assert frame.attrs["notes"] == ("x.xlsx: read the sheets 'Train', 'Test'; left: 'read me'.",)
    frame = read_table(workbook({"train_de": TABLE, "test_de": TABLE[:2], "test_fr": TABLE[:2]}), "x.xlsx")
    assert frame["language"].tolist() == ["de", "de", "de", "fr"]
    assert frame["split"].tolist() == ["train", "train", "test", "test"]


def test_a_column_of_languages_is_kept() -> None:
    sheet = [["text", "lang"], ["where", "en-GB"]]
    frame = read_table(workbook({"de": sheet, "en": sheet}), "x.xlsx")
    assert frame.to_dict("list") == {"text": ["where", "where"], "lang": ["en-GB", "en-GB"]}


def test_other_sheets_are_named() -> None:
    frame = read_table(workbook({"2023": TABLE, "2024": TABLE, "lists": [["a"]]}), "x.xlsx")
    assert len(frame) == 2
    assert frame.attrs["notes"] == ("x.xlsx: read sheet 1 of 3 ('2023'); left: '2024', 'lists'.",)
    frame = read_table(workbook({"de": TABLE, "fr": [["satz", "x"], ["où", "y"]]}), "x.xlsx")
    assert frame.attrs["notes"] == ("x.xlsx: read sheet 1 of 2 ('de'); left: 'fr'.",)


def test_the_sheet_with_sentences_is_read() -> None:
    frame = read_table(workbook({"read me": [["About this file"], ["It is ours"]], "data": TABLE}), "x.xlsx")
    assert frame["text"].tolist() == ["where", "how"]
    assert frame.attrs["notes"] == ("x.xlsx: read sheet 2 of 2 ('data'); left: 'read me'.",)


def test_blank_and_hidden_sheets_do_not_count() -> None:
    sheets = {"blank": [], "old": [["text"], ["gone"]], "now": TABLE, "blank too": [[]]}
    frame = read_table(workbook(sheets, hidden=("old",)), "x.xlsx")
    assert frame["text"].tolist() == ["where", "how"]
    assert frame.attrs["notes"] == ()


def test_a_cell_beside_a_table_is_found_on_its_sheet() -> None:
    with pytest.raises(DataError, match=r"x\.xlsx, sheet 'fr': row 3 has a cell beside"):
        read_table(workbook({"de": TABLE, "fr": [*TABLE[:2], ["a", "b", "c"]]}), "x.xlsx")
