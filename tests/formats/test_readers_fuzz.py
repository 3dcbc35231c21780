"""Whatever a file holds, a reader reads it or refuses it in one sentence."""

import csv
import gzip
import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from emu_core.data.audit import audit_rows, labelled_from_frame
from emu_core.data.reading import Reading
from emu_core.errors import DataError
from emu_core.formats.read import read_files
from emu_core.formats.source_files import source_files
from emu_core.formats.tables.read import read_table
from tests.support.tables import workbook

pytestmark = pytest.mark.slow

# The same examples on every machine and in every run.
repeatable = settings(max_examples=80, deadline=None, derandomize=True, database=None)
TEXT = some.text(some.characters(), max_size=20)
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | TEXT,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
EMPTY = workbook([])
NAMES = some.sampled_from(["text", "intent", "language", "split", "id", "annotated", "x"])


def check(payload: bytes, name: str) -> None:
    """Read a table, and labelled sentences of any shape from it."""
    for read in (_read_as_is, _read_sentences):
        try:
            read(payload, name)
        except DataError as error:
            assert len(str(error)) < 600
            assert str(error).encode().decode().isprintable()


def _read_as_is(payload: bytes, name: str) -> None:
    frame = read_table(payload, name)
    assert all(isinstance(cell, str) for cell in frame.to_numpy().ravel())
    labelled_from_frame(frame, name)


def _read_sentences(payload: bytes, name: str) -> None:
    data = read_files(source_files([(name, payload)]), reading=Reading(language="en"))
    rows, notes = data.rows, data.notes
    audit_rows(rows, notes)


@repeatable
@given(
    some.lists(some.lists(TEXT, min_size=1, max_size=4), max_size=5),
    some.sampled_from([",", "\t", ";", "|"]),
    some.sampled_from(["utf-8", "utf-16", "cp1252", "gb18030", "cp932"]),
    some.booleans(),
)
def test_delimited_text(rows: list[list[str]], delimiter: str, encoding: str, packed: bool) -> None:
    text = "text,intent,language\n".replace(",", delimiter) + "\n".join(map(delimiter.join, rows))
    payload = text.encode(encoding, "replace")
    check(gzip.compress(payload) if packed else payload, "x.csv.gz" if packed else "x.csv")


@repeatable
@given(some.lists(some.dictionaries(NAMES | TEXT, JSON, max_size=4) | JSON, max_size=4), some.booleans())
def test_json(values: list[object], as_lines: bool) -> None:
    text = "\n".join(map(json.dumps, values)) if as_lines else json.dumps(values)
    check(text.encode(), "x.jsonl")


CELLS = some.sampled_from(
    [
        "",
        "en",
        "de",
        "id",
        "text",
        "where is it",
        "what is this?",
        "IN:A",
        "0:2:x",
        "7",
        "1",
        "x/y",
        "train",
        '{"a":1}',
    ]
)


@repeatable
@given(
    some.integers(1, 8).flatmap(
        lambda width: some.lists(some.lists(CELLS | TEXT, min_size=width, max_size=width))
    )
)
def test_tables_of_any_shape(rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    check(out.getvalue().encode("utf-8", "replace"), "x.csv")


KEYS = some.sampled_from(
    ["data", "text", "intent", "en", "de", "train", "test", "columns", "schema", "0", "1", "greet"]
)
SHAPES = some.recursive(
    some.none() | some.integers(0, 1) | some.sampled_from(["hi there", "en", "x", ""]),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(repeatable, max_examples=400)
@given(SHAPES)
def test_json_of_any_shape(value: object) -> None:
    check(json.dumps(value).encode(), "x.json")


@repeatable
@given(some.binary(max_size=200), some.sampled_from(["x.csv", "x.jsonl", "x.parquet", "x.xlsx", "x.csv.gz"]))
def test_any_bytes(payload: bytes, name: str) -> None:
    check(payload, name)
    check(b"PAR1" + payload, name)
    check(b"PK\x03\x04" + payload, name)


COLUMNS = some.one_of(
    some.lists(TEXT.filter(str.isascii), min_size=3, max_size=3).map(pa.array),
    some.lists(some.binary(max_size=9), min_size=3, max_size=3).map(pa.array),
    some.lists(some.binary(min_size=4, max_size=4), min_size=3, max_size=3).map(
        lambda values: pa.array(values, pa.binary(4))
    ),
    some.lists(some.floats(), min_size=3, max_size=3).map(pa.array),
    some.lists(some.decimals(-999, 999, places=2), min_size=3, max_size=3).map(pa.array),
    some.lists(some.datetimes(), min_size=3, max_size=3).map(pa.array),
    some.lists(some.lists(some.integers(0, 9), max_size=2), min_size=3, max_size=3).map(
        lambda values: pa.array(values, pa.list_(pa.int64()))
    ),
    some.lists(some.none(), min_size=3, max_size=3).map(pa.array),
)


@repeatable
@given(some.dictionaries(NAMES, COLUMNS, min_size=1, max_size=4))
def test_parquet(columns: dict[str, pa.Array]) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    check(out.getvalue(), "x.parquet")


REFERENCES = some.sampled_from(
    ["", "A1", "A2", "B2", "c3", "XFD1", "A1048576", "A1048577", "ZZZZ1", "A0", "7", "$A$1"]
)
TYPES = some.sampled_from(["", "s", "str", "b", "d", "e", "n", "inlineStr", "other"])
VALUES = some.sampled_from(
    [
        "",
        "0",
        "-1",
        "1e400",
        "nan",
        "2958466",
        "2020-01-02",
        "2020-13-45",
        "#N/A",
        "&#65;",
        "_xD800_",
        "_x0000_",
        "TRUE",
    ]
)


@repeatable
@given(some.lists(some.tuples(REFERENCES, TYPES, VALUES), max_size=5), some.sampled_from(["", "2", "0", "x"]))
def test_xlsx(cells: list[tuple[str, str, str]], row: str) -> None:
    body = "".join(f'<c r="{place}" t="{kind}"><v>{value}</v></c>' for place, kind, value in cells)
    body = body.replace(' r=""', "").replace(' t=""', "")
    header = '<row r="1"><c t="str"><v>text</v></c></row>'
    sheet = f'<worksheet><sheetData>{header}<row r="{row}">{body}</row></sheetData></worksheet>'
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(EMPTY)) as archive, zipfile.ZipFile(out, "w") as changed:
        for name in archive.namelist():
            changed.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else archive.read(name))
    check(out.getvalue(), "x.xlsx")
