"""Bad files: each gets one clear DataError and never a crash."""

import gzip
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emu_core.errors import DataError
from emu_core.formats import limits
from emu_core.formats.encodings import read_lines
from emu_core.formats.tables.read import read_table
from tests.support.tables import parquet, workbook

HEAD = b"text,intent,language\n"


def zipped(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def edited_workbook(edit: Callable[[bytes], bytes]) -> bytes:
    """Return a small workbook whose first sheet's XML was edited."""
    with zipfile.ZipFile(io.BytesIO(workbook([["text"], ["a"]]))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = edit(parts["xl/worksheets/sheet1.xml"])
    return zipped(parts)


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n\t", "is empty"),
    "a mark only": (b"\xef\xbb\xbf", "is empty"),
    "header only": (HEAD, "no rows"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG picture"),
    "pickle": (pickle.dumps({"text": ["a"]}), "pickle"),
    "zip": (zipped({"a.csv": HEAD}), "zip archive"),
    "cut zip": (zipped({"a.csv": HEAD})[:40], "XLSX"),
    "web page": (b"<!DOCTYPE html><html></html>", "web page"),
    "old excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel"),
    "noise": (bytes(np.random.default_rng(0).integers(1, 256, 4000, dtype=np.uint8)), "binary"),
    "nul": (HEAD + b"a,b,en\nc\0,d,en\n", "line 3 holds a NUL"),
    "utf-16 without mark": ("text,intent\na,b\n".encode("utf-16-le"), "NUL"),
    "cut utf-16": ("text,intent\na,b\n".encode("utf-16")[:-1], "line 2 is not utf-16"),
    "unclosed quote": (HEAD + b'a,b,en\n"c,d,en\n' + b"e,f,en\n" * 9, "begins on line 3"),
    "unclosed quote in a long file": (HEAD + b'a,b,en\n"c,d,en\n' + b"e,f,en\n" * 60_000, "begins on line 3"),
    "quote closed too late": (HEAD + b'"c,d,en\n"e, x",f,en\n', "begins on line 2"),
    "text after a quote": (HEAD + b'"Hi" he said,b,en\n', "begins on line 2"),
    "too wide": (HEAD + b'"x\ny",b,en\nc, d,e,en\n', "line 4 has 4 cells but the header has 3"),
    "too narrow": (HEAD + b"a,b,en\n\nc,d\n", "line 4 has 2 cells but the header has 3"),
    "same name twice": (b"text, text\na,b\n", "two columns named text"),
    "wide": (b",".join(b"c%d" % i for i in range(1001)) + b"\n" + b"," * 1000 + b"\n", "1,001 columns"),
    "half json": (b'{"text": "a"}\n{"text":\n', "line 2 is not JSON"),
    "json numbers": (b'{"text": "a"}\n7\n', "value 2 is not an object"),
    "json list of an object and a number": (b'[{"text": "a"}, 2]', "value 2 is not an object"),
    "deep json": (b"[" * 100_000, "not JSON"),
    "long json number": (b'{"text": ' + b"1" * 9000 + b"}", "line 1 begins an object with a number"),
    "half a character": (b'{"text": "\\ud800"}', "half a character"),
    "half a character in a name": (b'{"text": "a", "k\\ud800": "b"}', "half a character (a lone surrogate) in"),
    "long cell": (json.dumps({"text": "a" * 100_001}).encode(), "row 1 has 100,001 characters in column 'text'"),
    "nul in json": (b'{"text": "a"}\n{"text": "\\u0000"}', "row 2 holds a NUL"),
    "json keys": ("\n".join(json.dumps({f"k{i}": 1}) for i in range(1001)).encode(), "different keys"),
    "cut gzip": (gzip.compress(HEAD + b"a,b,en\n")[:-9], "damaged gzip"),
    "gzipped twice": (gzip.compress(gzip.compress(HEAD)), "gzipped twice"),
    "gzipped parquet": (gzip.compress(parquet({"a": ["b"]})), "Parquet"),
    "cut parquet": (parquet({"a": ["b"]})[:-9], "can't be read as Parquet"),
    "empty parquet": (parquet({"a": pa.array([], pa.string())}), "no rows"),
    "bytes in parquet": (parquet({"a": pa.array([b"\xff"])}), "can't be read as Parquet"),
    "empty workbook": (workbook([]), "empty first sheet"),
    "workbook with a header": (workbook([["text", "intent"]]), "no rows"),
    "cell beside": (workbook([["text"], ["a"], ["b", "c"]]), "row 3 has a cell beside"),
    "document type": (
        edited_workbook(lambda xml: b'<!DOCTYPE x [<!ENTITY a "b">]>' + xml),
        "document type",
    ),
    "wide workbook": (workbook([[f"c{i}" for i in range(1001)], ["a"] * 1001]), "1,001 columns"),
    "entity bomb far into a part": (
        edited_workbook(
            lambda xml: (
                b"<!--" + b" " * 9000 + b'--><!DOCTYPE x [<!ENTITY a "bb"><!ENTITY c "&a;&a;&a;&a;">]>' + xml
            )
        ),
        "document type",
    ),
    "broken sheet": (edited_workbook(lambda xml: xml[:-30]), "can't be read as Excel (XLSX)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_file_gets_one_clear_sentence(kind: str) -> None:
    payload, words = BAD[kind]
    for name in ("x.csv", "x.jsonl") if "json" in kind else ("x.csv", "x.tsv", "x"):
        with pytest.raises(DataError) as caught:
            read_table(payload, name)
        message = str(caught.value)
        assert words in message
        assert message.startswith("x")
        assert "\n" not in message
        assert ";" in message, "the mend is missing"


def test_a_cell_beside_a_table_is_found_on_its_sheet() -> None:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for sheet, last in ((book.active, ["a", "b"]), (book.create_sheet("fr"), ["a", "b", "c"])):
        for row in (["text", "intent"], ["where", "place"], last):
            sheet.append(row)
    book.active.title = "de"
    book.save(out)
    with pytest.raises(DataError, match=r"x\.xlsx, sheet 'fr': row 3 has a cell beside"):
        read_table(out.getvalue(), "x.xlsx")


def test_a_300_mb_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "big.csv"
    with path.open("wb") as stream:
        stream.truncate(300 * 2**20)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(DataError, match="larger than 200 MB"):
        read_table(path, path.name)


def test_bytes_beyond_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 100)
    with pytest.raises(DataError, match="larger than"):
        read_table(b"a,b\n" * 1000, "x.csv")


def test_gzip_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 2**20)
    with pytest.raises(DataError, match="larger than 1 MB"):
        read_table(gzip.compress(b"a" * 5_000_000), "x.csv.gz")


def test_workbook_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = edited_workbook(lambda xml: xml.replace(b"</sheetData>", b" " * 5_000_000 + b"</sheetData>"))
    assert len(bomb) < 20_000
    assert len(read_table(bomb, "x.xlsx")) == 1
    monkeypatch.setattr("emu_core.formats.tables.xlsx._MAX_UNFOLDED", 4_000_000)
    with pytest.raises(DataError, match="expands"):
        read_table(bomb, "x.xlsx")


def test_parquet_bomb() -> None:
    out = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(500_000, dtype=np.int32)), pa.array(["a" * 100_000])
    )
    pq.write_table(pa.table({"text": column}), out)
    assert len(out.getvalue()) < 200_000
    with pytest.raises(DataError, match="expands to 50,000,000,000"):
        read_table(out.getvalue(), "x.parquet")


def test_parquet_bomb_of_lists() -> None:
    out = io.BytesIO()
    values = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(500_000, dtype=np.int32)), pa.array(["a" * 100_000])
    )
    column = pa.ListArray.from_arrays(pa.array(np.arange(500_001, dtype=np.int32)), values)
    pq.write_table(pa.table({"labels": column}), out)
    with pytest.raises(DataError, match="expands to 50,000,000,000"):
        read_table(out.getvalue(), "x.parquet")


def test_parquet_bomb_of_objects() -> None:
    out = io.BytesIO()
    texts = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(500_000, dtype=np.int32)), pa.array(["a" * 50_000])
    )
    column = pa.StructArray.from_arrays([texts, texts], ["en", "de"])
    pq.write_table(pa.table({"translation": column}), out, store_schema=False)
    with pytest.raises(DataError, match="expands to 50,000,000,000"):
        read_table(out.getvalue(), "x.parquet")


def test_parquet_bomb_of_bytes() -> None:
    out = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(500_000, dtype=np.int32)), pa.array([b"a" * 100_000])
    )
    pq.write_table(pa.table({"text": column}), out)
    with pytest.raises(DataError, match="expands to 50,000,000,000"):
        read_table(out.getvalue(), "x.parquet")


@pytest.mark.parametrize("cell", ["XFD1048576", "A99999999999999", "ZZZZZZ1", "XFD2"])
def test_cells_far_from_the_table_are_refused_before_the_space_between_is_allocated(
    cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = edited_workbook(
        lambda xml: xml.replace(
            b"</row></sheetData>", f'<c r="{cell}"><v>1</v></c></row></sheetData>'.encode()
        )
    )
    if cell == "XFD2":
        assert read_table(far, "x.xlsx").to_dict("list") == {"text": ["a"]}
        monkeypatch.setattr("emu_core.formats.tables.xlsx._MAX_CELLS", 2 * 16_384 - 1)
    monkeypatch.setattr("emu_core.formats.tables.xlsx.load_workbook", lambda _: pytest.fail("it was read"))
    with pytest.raises(DataError, match=r"is beyond the last row|cells reach over"):
        read_table(far, "x.xlsx")


def test_a_number_of_a_row_with_thousands_of_digits_gets_a_short_sentence() -> None:
    far = edited_workbook(lambda xml: xml.replace(b'<row r="2"', b'<row r="' + b"9" * 4000 + b'"'))
    with pytest.raises(DataError) as caught:
        read_table(far, "x.xlsx")
    assert len(str(caught.value)) < 300


def test_only_cells_with_a_value_count_for_the_size_of_a_sheet() -> None:
    styled = edited_workbook(
        lambda xml: xml.replace(
            b"</sheetData>", b'<row r="1048576"><c r="XFD1048576" s="0"/></row></sheetData>'
        )
    )
    assert read_table(styled, "x.xlsx").to_dict("list") == {"text": ["a"]}


def test_another_sheet_counts_too_and_other_parts_are_not_read() -> None:
    with zipfile.ZipFile(io.BytesIO(workbook([["text"], ["a"]]))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = (
        b'<worksheet><sheetData><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
    )
    with pytest.raises(DataError, match="cells reach over 1,048,576 rows and 16,384 columns"):
        read_table(zipped({**parts, "xl/worksheets/sheet2.xml": sheet}), "x.xlsx")
    harmless = {**parts, "xl/media/picture.png": b"\x89PNG", "customXml/item1.xml": "<a/>".encode("utf-16")}
    assert read_table(zipped(harmless), "x.xlsx").to_dict("list") == {"text": ["a"]}


@pytest.mark.parametrize("row", [1_048_577, 99_999_999_999_999])
def test_a_row_beyond_the_last_one_of_a_workbook_is_named(row: int) -> None:
    def moved(to: int) -> bytes:
        return edited_workbook(
            lambda xml: xml.replace(b'<row r="2"', f'<row r="{to}"'.encode()).replace(b'r="A2"', b"")
        )

    assert read_table(moved(1_048_576), "x.xlsx").to_dict("list") == {"text": ["a"]}
    with pytest.raises(DataError, match=f"x.xlsx: row {row:,} is beyond the last row of a workbook"):
        read_table(moved(row), "x.xlsx")


def test_a_line_that_is_too_long_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("one\n" + "a" * 100_001 + "\n", "utf-8")
    with pytest.raises(DataError, match="line 2 has 100,001 characters"):
        read_lines(tmp_path / "x.txt", "x.txt")


def test_json_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ROWS", 10)
    with pytest.raises(DataError, match="more than 10 rows"):
        read_table(b"[" + b"{}," * 300 + b"{}]", "x.json")


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        (b"a,b\n" + b"1,2\n" * 11, "x.csv"),
        (b'{"a": 1}\n' * 11, "x.jsonl"),
        (parquet({"a": ["b"] * 11}), "x.parquet"),
        (workbook([["a"]] * 12), "x.xlsx"),
    ],
)
def test_row_limit(payload: bytes, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ROWS", 11)
    assert len(read_table(payload, name)) == 11
    monkeypatch.setattr(limits, "MAX_ROWS", 10)
    with pytest.raises(DataError, match="more than 10 rows"):
        read_table(payload, name)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (tmp_path, "folder"),
        (tmp_path / "no.csv", "no such file"),
        (tmp_path / "pipe", "no such"),
    ):
        with pytest.raises(DataError, match=words):
            read_table(path, path.name)
    with pytest.raises(DataError):
        read_table(Path("a\0b"), "x.csv")


def test_hostile_name_is_shown_short_and_on_one_line() -> None:
    with pytest.raises(DataError) as caught:
        read_table(b"", "a\n\x1b[31m" + "b" * 5000)
    message = str(caught.value)
    assert len(message) < 250
    assert message.isprintable()


def test_cut_or_changed_files_never_crash() -> None:
    """Whatever is done to a good file, it is read or refused; nothing else escapes."""
    rng = np.random.default_rng(0)
    good = {
        "x.csv": HEAD + 'Wo ist "der" Pool?,a,de\n"ä, b",c,de\n'.encode() * 5,
        "x.jsonl": '{"text": "ä", "n": [1, 2]}\n'.encode() * 5,
        "x.parquet": parquet({"text": ["a", "b"], "intent": ["c", "d"]}),
        "x.xlsx": workbook([["text", "intent"], ["a", "b"]]),
        "x.csv.gz": gzip.compress(HEAD + b"a,b,en\n" * 5),
    }
    outcomes = set()
    for name, payload in good.items():
        for _ in range(60):
            changed = bytearray(
                payload[: rng.integers(1, len(payload) + 1)] if rng.random() < 0.5 else payload
            )
            for place in rng.integers(0, len(changed), 3):
                changed[place] = rng.integers(0, 256)
            try:
                read_table(bytes(changed), name)
                outcomes.add("read")
            except DataError:
                outcomes.add("refused")
    assert outcomes == {"read", "refused"}
