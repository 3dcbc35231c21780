"""Every format and delimiter that read_table promises, values verbatim."""

import csv
import datetime
import gzip
import io
import json
import random
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from emu_core.data.cleaning import cell_text
from emu_core.errors import DataError
from emu_core.formats.tables.read import read_columns, read_table
from tests.support.tables import parquet, workbook

ROWS = [
    {"text": 'a "quoted" word, and; more', "intent": "NA", "id": "007"},
    {"text": "two\nlines|here", "intent": "null", "id": ""},
    {"text": " プールはどこ？ ", "intent": "nan", "id": "1.0"},
]


def written(rows: list[dict[str, str]], **dialect: str) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), **dialect)  # type: ignore[arg-type]
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_csv_round_trip(delimiter: str, ending: str) -> None:
    payload = written(ROWS, delimiter=delimiter, lineterminator=ending)
    assert read_table(payload, "x.csv").to_dict("records") == ROWS


def test_values_are_strings_and_never_nan() -> None:
    frame = read_table(b"text,n\nNA,\n,1.50\n", "x.csv")
    assert frame.to_dict("list") == {"text": ["NA", ""], "n": ["", "1.50"]}
    assert not frame.isna().any().any()
    assert frame.index.equals(pd.RangeIndex(2))


def test_random_tables_round_trip() -> None:
    rng = random.Random(0)
    for _ in range(150):
        delimiter = rng.choice(",;\t|")
        names = ["text", "intent", "language", "note"][: rng.randint(2, 4)]
        # The first cell is never blank: a row of blanks only is a blank line to any reader.
        rows = [
            {name: "x" * (name == "text") + "".join(rng.choices('ab ,;|"\tä日\n', k=6)) for name in names}
            for _ in range(rng.randint(1, 8))
        ]
        payload = written(rows, delimiter=delimiter)
        assert read_table(payload, "x.csv").to_dict("records") == rows


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "SEP=;;;\n", "sep=^\n", "sep=\t\n"])
def test_the_first_line_of_excel_states_the_delimiter(line: str, tmp_path: Path) -> None:
    delimiter = line.strip('"sepSEP=\r\n')[:1] or "\t"
    text = line + "text,intent\none, two,a\n".replace("text,", f"text{delimiter}").replace(
        "two,", f"two{delimiter}"
    )
    for payload in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16")):
        assert read_table(payload, "x.csv").to_dict("records") == [{"text": "one, two", "intent": "a"}]
    (tmp_path / "x.tsv").write_text(text, newline="")
    assert read_columns(tmp_path / "x.tsv")[:2] == (["text", "intent"], [("one, two",), ("a",)])
    with pytest.raises(DataError, match="line 3 has 3 cells"):
        read_table(text.replace(", two", delimiter + "two").encode(), "x.csv")


def test_delimiter_beyond_the_sniffed_sample() -> None:
    payload = b"text;intent\n" + b"where is it, please;a\n" * 20_000
    assert read_table(payload, "x.csv").shape == (20_000, 2)


VALUES: list[tuple[object, str]] = [
    *((True, "true"), (False, "false"), (1.0, "1"), (-3.0, "-3"), (0.1, "0.1"), (1e20, "1e+20"), (7, "7")),
    (datetime.datetime(2024, 1, 2), "2024-01-02"),
    (datetime.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05"),
    (datetime.date(2024, 1, 2), "2024-01-02"),
    (datetime.time(3, 4), "03:04:00"),
]


@pytest.mark.parametrize(("value", "text"), VALUES)
def test_a_value_is_the_same_text_in_every_format(value: object, text: str) -> None:
    payloads = {
        "x.parquet": parquet({"text": ["a"], "label": [value]}),
        "x.xlsx": workbook([["text", "label"], ["a", value]]),
    }
    if isinstance(value, bool | int | float):
        payloads["x.jsonl"] = json.dumps({"text": "a", "label": value}).encode()
    assert {
        name: read_table(payload, name)["label"][0] for name, payload in payloads.items()
    } == dict.fromkeys(payloads, text)


def test_every_kind_of_cell_in_a_workbook() -> None:
    """As openpyxl reads them, which wrote them."""
    cells: list[object] = [
        *("text", " spaced ", "two\nlines", "007", "プール", 'a "b" & <c>', "#N/A", "#DIV/0!", "=1+2"),
        *(None, 0, 7, -7, 7.0, 1.5, -0.25, 0.1, 1 / 3, 1e-7, 1e20, 2**53, 123456789.125, True, False),
        datetime.date(2020, 1, 2),
        datetime.date(1900, 1, 1),
        datetime.datetime(2020, 1, 2, 3, 4, 5),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 678000),
        datetime.time(3, 4, 5),
        datetime.time(0, 0),
        datetime.timedelta(hours=30),
        datetime.timedelta(days=2, minutes=90),
    ]
    payload = workbook([["text", "cell"], *(["x", cell] for cell in cells)])
    book = openpyxl.load_workbook(io.BytesIO(payload), read_only=True, data_only=True)
    expected = [cell_text(cell) for _, cell in book.worksheets[0].iter_rows(min_row=2, values_only=True)]
    assert read_table(payload, "x.xlsx")["cell"].tolist() == expected
    assert expected[6:10] == ["#N/A", "#DIV/0!", "", ""]  # openpyxl writes a formula without its value


def test_cells_of_spreadsheet_programs(tmp_path: Path) -> None:
    """Rich text without its phonetic guide, escaped characters, formulas with their last value, missing references."""
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        '<row r="3"><c r="B3" t="str"><v>text</v></c><c r="C3" t="str"><v>n</v></c></row>'
        '<row r="4"><c r="B4" t="inlineStr"><is><r><t>東</t></r><r><t xml:space="preserve">京 </t></r>'
        '<rPh sb="0" eb="1"><t>とう</t></rPh></is></c><c r="C4"><f>1+1</f><v>2</v></c></row>'
        '<row><c/><c t="str"><f>A1</f><v>a_x000D_b</v></c><c t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
        '<row r="9"><c r="B9" t="b"><v>1</v></c><c r="C9" t="d"><v>2020-01-02T03:04:05</v></c></row>'
        "</sheetData></worksheet>"
    )
    with zipfile.ZipFile(io.BytesIO(workbook([["x"]]))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    path = tmp_path / "x.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**parts, "xl/worksheets/sheet1.xml": sheet}.items():
            archive.writestr(name, content)
    assert read_table(path, path.name).to_dict("list") == {
        "text": ["東京 ", "a\rb", "true"],
        "n": ["2", "#DIV/0!", "2020-01-02T03:04:05"],
    }


@pytest.mark.parametrize("name", ["x.csv.gz", "x.csv", "X.GZ"])
def test_gzipped_text(name: str) -> None:
    assert read_table(gzip.compress(b"text,intent\na,b\n"), name).shape == (1, 2)


def test_path_and_bytes_agree(tmp_path: Path) -> None:
    payload = written(ROWS)
    path = tmp_path / "x.csv"
    path.write_bytes(payload)
    assert read_table(path, "x.csv").equals(read_table(payload, "x.csv"))
