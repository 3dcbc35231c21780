"""Tables and texts in any format: CSV, TSV, JSON Lines, Parquet, XLSX and plain text, which may be gzipped."""

from pathlib import Path
from typing import BinaryIO

import pandas as pd

from emu_core.data.readers.delimited import parse_delimited
from emu_core.data.readers.encodings import decode_text
from emu_core.data.readers.jsonl import looks_like_json, parse_json
from emu_core.data.readers.opened import MAX_BYTES, opened
from emu_core.data.readers.parquet import parse_parquet
from emu_core.data.readers.table import MAX_ROWS
from emu_core.data.readers.xlsx import parse_xlsx
from emu_core.data.wording import shown
from emu_core.errors import DataError

_PARQUET, _ZIP = b"PAR1", b"PK\x03\x04"
_FIX = "save the table as CSV in UTF-8"
_NOT_TABLES = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file or one with a password"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"ARROW1", "an Arrow file"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"{\\rtf", "a rich text document"),
    (b"<!DOCTYPE", "a web page"),
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "an XML document"),
    *((bytes([0x80, protocol]), "a Python pickle") for protocol in range(2, 6)),
    (b"\x1f\x8b", "gzipped twice"),
    (_PARQUET, "a gzipped Parquet file"),
    (_ZIP, "a zip archive"),
)
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


def read_table(
    source: Path | BinaryIO | bytes, name: str, *, max_bytes: int = MAX_BYTES, max_rows: int = MAX_ROWS
) -> pd.DataFrame:
    """Read a table as strings, its values as they are written: "NA", "null" and "007" stay text.

    The content decides the format, and the name where the content leaves it open. `frame.attrs["encoding"]`
    names the encoding that a text file was read in.

    Args:
        source: a path, an open binary file, or the bytes themselves.
        name: how messages call the file; its ending counts as the file's.
        max_bytes: the largest file (and unpacked gzip file) to take; a path's size is looked at before it is
            read.
        max_rows: the most rows to take.

    Returns:
        A frame with the columns as found, a fresh index, and "" where a value is missing.

    Raises:
        DataError: the file is missing, too large, empty, not a table, or broken; the message says where and
            what to do.
    """
    with opened(source, name, max_bytes) as file:
        payload = file.read()
    if file.is_gzipped:
        name = name[:-3] if name.lower().endswith(".gz") else name
    elif payload.startswith(_PARQUET):
        return parse_parquet(payload, name, max_rows)
    elif payload.startswith(_ZIP):
        return parse_xlsx(payload, name, max_rows)
    text, encoding = _text(payload, name)
    is_json = name.lower().endswith(_JSON_SUFFIXES) or looks_like_json(text)
    frame = (parse_json if is_json else parse_delimited)(text, name, max_rows)
    frame.attrs["encoding"] = encoding
    return frame


def read_text(source: Path | BinaryIO | bytes, name: str, *, max_bytes: int = MAX_BYTES) -> tuple[str, str]:
    """Read a text file, gzipped or not; return its text and the name of its encoding.

    Raises:
        DataError: the file is missing, too large, empty or not text.
    """
    with opened(source, name, max_bytes) as file:
        return _text(file.read(), name)


def encoding_notes(name: str, encoding: str) -> tuple[str, ...]:
    """Return a note for the user of a file that is not in Unicode, nothing for others."""
    if encoding.startswith("utf"):
        return ()
    return (f"{shown(name)} is not UTF-8 and was read as {encoding}: check an accented word.",)


def _text(payload: bytes, name: str) -> tuple[str, str]:
    for magic, kind in _NOT_TABLES:
        if payload.startswith(magic):
            raise DataError(f"{shown(name)} is {kind} and not a table of text; {_FIX}")
    text, encoding = decode_text(payload, name)
    if not text.strip():
        raise DataError(
            f"{shown(name)} is empty; it needs a line of column names and a row for each sentence"
        )
    return text, encoding
