"""Text and lines from bytes: the encoding is detected from the content; a mix of two encodings is refused."""

import re
from pathlib import Path

import chardet

from emu_core.data.cleaning import cleaned
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.limits import check_lengths, opened
from emu_core.formats.lines import lines_of, without_marks
from emu_core.formats.tables.formats import TABLE_FORMATS, XLSX

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
    (XLSX.magic, "a zip archive"),
    *((table.magic, f"a {table.title} file") for table in TABLE_FORMATS if table.magic),
)
# UTF-32's little-endian byte order mark begins with UTF-16's and comes first.
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
# Control characters that are in no text file, unlike tab, line ends, form feed and escape.
_CONTROLS = bytes(set(range(32)) - {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B})
# Encodings in use before UTF-8; those of Latin letters first.
_LATIN = ("cp1252", "cp1250", "cp1254", "cp1257", "iso8859-2", "mac-roman")
_OTHERS = (
    *("cp1251", "koi8-r", "cp1253", "cp1255", "cp1256", "cp874"),
    *("cp932", "euc_jis_2004", "gb18030", "cp949", "big5hkscs"),
)
_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_SAMPLE_BYTES = 100_000
_MIN_CONFIDENCE = 0.005  # chardet gives a single word 0.01 or more
_FIX = "save the whole file as UTF-8"


def read_text(source: Path | bytes, name: str) -> tuple[str, str]:
    """Return the text of a file, gzipped or not, and its encoding. Raises DataError if it is too large or no text."""
    with opened(source, name) as file:
        return checked_text(file.read(), name)


def encoding_notes(name: str, encoding: str) -> tuple[str, ...]:
    """Return a note for the user if a file is not in Unicode."""
    if encoding.startswith("utf"):
        return ()
    return (f"{shown(name)} is not UTF-8 and was read as {encoding}: check an accented word.",)


def checked_text(payload: bytes, name: str) -> tuple[str, str]:
    """Return the text of a file's bytes, and its encoding.

    Raises a DataError if the bytes are not text, mix two encodings, or are in an unknown encoding.
    """
    for magic, kind in _NOT_TABLES:
        if payload.startswith(magic):
            raise DataError(
                f"{shown(name)} is {kind} and not a table of text; save the table as CSV in UTF-8"
            )
    encoding = _encoding(payload, name)
    try:
        text = payload.decode(encoding)
    except UnicodeDecodeError as error:
        line = payload[: error.start].decode(encoding, "ignore").count("\n") + 1
        raise DataError(
            f"{shown(name)}: line {line} is not {encoding} as the rest of the file is; {_FIX}"
        ) from error
    if not cleaned(text):
        raise DataError(
            f"{shown(name)} is empty; it needs a line of column names and a row for each sentence"
        )
    return without_marks(text), encoding.removesuffix("-sig")


def read_lines(
    source: Path | bytes, name: str, *, are_aligned: bool = False
) -> tuple[list[str], tuple[str, ...]]:
    """Return the lines of a text file, gzipped or not, in any encoding, and a note if the file is not UTF-8.

    Blank lines at the end are ignored.

    Args:
        source: a path, or the content.
        name: the file's name.
        are_aligned: whether the numbers of lines matter, as in parallel files. The tools that write these count line
            feeds, if there are any: a carriage return may be in the middle of a sentence.

    Raises:
        DataError: the file is missing, too large, empty or not text.
    """
    text, encoding = read_text(source, name)
    text = text.rstrip("\r\n")
    lines = (
        [line.removesuffix("\r") for line in text.split("\n")]
        if are_aligned and "\n" in text
        else lines_of(text)
    )
    while not cleaned(lines[-1]):  # a file without text has been refused
        lines.pop()
    check_lengths(lines, name, "line")
    return lines, encoding_notes(name, encoding)


def _encoding(payload: bytes, name: str) -> str:
    """Return the encoding of the byte order mark, else UTF-8 if every line is UTF-8, else the likeliest other one."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if payload.startswith(mark):
            return encoding
    if (at := payload.find(b"\0")) >= 0:
        raise DataError(
            f"{shown(name)}: line {payload.count(10, 0, at) + 1} holds a NUL byte, so this is not a plain "
            "text file (or UTF-16 without its byte order mark); save it as CSV in UTF-8"
        )
    controls = len(payload) - len(payload.translate(None, _CONTROLS))
    if controls > len(payload) / 200:
        raise DataError(f"{shown(name)} is not a text file but binary data; save the table as CSV in UTF-8")
    try:
        payload.decode("utf-8")
    except UnicodeDecodeError:
        return _legacy_encoding(payload, name)
    return "utf-8"


def _legacy_encoding(payload: bytes, name: str) -> str:
    """Return the encoding of bytes that are not UTF-8. Raises DataError if only some lines are not."""
    valid, bad, first_bad = 0, [], 0
    for number, line in enumerate(payload.splitlines(), start=1):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
            valid += 1
        except UnicodeDecodeError:
            bad.append(line)
            first_bad = first_bad or number
    sample = b"\n".join(bad[:: max(1, sum(map(len, bad)) // _SAMPLE_BYTES)])
    # Accented letters are usually between ASCII letters; letters of other scripts follow each other.
    runs = _NOT_ASCII.findall(sample)
    is_latin = sum(map(len, runs)) < 1.5 * len(runs)
    candidates = _LATIN if is_latin else (*_LATIN, *_OTHERS)
    detected = chardet.detect(sample, include_encodings=candidates, compat_names=False)
    encoding = detected["encoding"] if detected["confidence"] >= _MIN_CONFIDENCE else None
    # A short line of Chinese, Korean or Thai in its own encoding may be UTF-8 by accident; one of accented Latin
    # letters never is.
    if valid and (encoding in _LATIN or valid * 10 >= len(bad)):
        raise DataError(
            f"{shown(name)} mixes encodings: line {first_bad} is not UTF-8 while other lines are; {_FIX}"
        )
    if encoding is None:
        raise DataError(f"{shown(name)}: line {first_bad} is in an unknown encoding; {_FIX}")
    return encoding
