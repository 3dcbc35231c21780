"""Any table a person may bring, read as text: CSV, TSV, JSON Lines, Parquet, XLSX; text may be gzipped."""

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from emu_core.data.readers.delimited import parse_delimited
from emu_core.data.readers.encodings import decode_text
from emu_core.data.readers.jsonl import looks_like_json, parse_json
from emu_core.data.readers.parquet import parse_parquet
from emu_core.data.readers.table import MAX_BYTES, MAX_ROWS
from emu_core.data.readers.xlsx import parse_xlsx
from emu_core.data.wording import shown
from emu_core.errors import DataError

_GZIP, _PARQUET, _ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
_MEND = "save the table as CSV in UTF-8"
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
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x03", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
)
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


def read_table(
    source: Path | BinaryIO | bytes, name: str, *, max_bytes: int = MAX_BYTES, max_rows: int = MAX_ROWS
) -> pd.DataFrame:
    """Read a table as strings, its values kept as they are written: "NA", "null" and "007" stay text.

    The content decides the format, and the name where the content leaves it open. `frame.attrs["encoding"]`
    says in which encoding a text file was read.

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
    payload = _payload(source, name, max_bytes)
    if payload.startswith(_PARQUET):
        return parse_parquet(payload, name, max_rows)
    if payload.startswith(_ZIP):
        return parse_xlsx(payload, name, max_rows)
    if payload.startswith(_GZIP):
        payload = _unpack(payload, name, max_bytes)
        name = name[:-3] if name.lower().endswith(".gz") else name
    return _parse_text(payload, name, max_rows)


def read_text(source: Path | BinaryIO | bytes, name: str, *, max_bytes: int = MAX_BYTES) -> tuple[str, str]:
    """Read a text file, gzipped or not; return its text and the name of its encoding.

    Raises:
        DataError: the file is missing, too large, empty or not text.
    """
    payload = _payload(source, name, max_bytes)
    return _text(_unpack(payload, name, max_bytes) if payload.startswith(_GZIP) else payload, name)


def _parse_text(payload: bytes, name: str, max_rows: int) -> pd.DataFrame:
    text, encoding = _text(payload, name)
    is_json = name.lower().endswith(_JSON_SUFFIXES) or looks_like_json(text)
    frame = (parse_json if is_json else parse_delimited)(text, name, max_rows)
    frame.attrs["encoding"] = encoding
    return frame


def _text(payload: bytes, name: str) -> tuple[str, str]:
    for magic, kind in (
        *_NOT_TABLES,
        (_GZIP, "gzipped twice"),
        (_PARQUET, "a gzipped Parquet file"),
        (_ZIP, "a zip archive"),
    ):
        if payload.startswith(magic):
            raise DataError(f"{shown(name)} is {kind} and not a table of text; {_MEND}")
    text, encoding = decode_text(payload, name)
    if not text.strip():
        raise DataError(
            f"{shown(name)} is empty; it needs a line of column names and a row for each sentence"
        )
    return text, encoding


def _payload(source: Path | BinaryIO | bytes, name: str, max_bytes: int) -> bytes:
    if isinstance(source, Path):
        try:
            if source.is_dir():
                raise DataError(f"{shown(name)} is a folder; name the files in it")
            if not source.is_file():
                raise DataError(f"{shown(name)}: no such file; check the path")
            _check_size(source.stat().st_size, name, max_bytes)
            return source.read_bytes()
        except (OSError, ValueError) as error:
            raise DataError(
                f"{shown(name)} can't be opened; check the path and that you may read it"
            ) from error
    payload = source if isinstance(source, bytes) else source.read(max_bytes + 1)
    _check_size(len(payload), name, max_bytes)
    return payload


def _check_size(size: int, name: str, max_bytes: int) -> None:
    if size > max_bytes:
        raise DataError(
            f"{shown(name)} is larger than {max_bytes / 2**20:,.0f} MB; split it, or keep text, intent and "
            "language only"
        )


def _unpack(payload: bytes, name: str, max_bytes: int) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(payload)) as stream:
            unpacked = stream.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{shown(name)} is a damaged gzip file; pack it anew") from error
    _check_size(len(unpacked), name, max_bytes)
    return unpacked
