"""Tables in any format: CSV, TSV, JSON Lines, Parquet and XLSX, which may be gzipped where they are text."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from emu_core.data.readers.limits import (
    MAX_BYTES,
    MAX_COLUMNS,
    as_text,
    build_table,
    check_characters,
    check_rows,
    opened,
)
from emu_core.data.readers.text import PARQUET, ZIP, checked_text, encoding_notes, read_lines
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_TABLES = (".csv", ".tsv", ".tab", *_JSON_SUFFIXES, ".parquet", ".pq", ".xlsx")
# The comma comes last, because it is also in sentences: of two delimiters that split equally well, the other wins.
_DELIMITERS = ("\t", ";", "|", ",")
# For a file of one column: a character that is in no text, so that commas do not split it.
_NO_DELIMITER = "\x1f"
_SHORT_CELL, _MOST_HELD = 16, 10_000
_SAMPLE_CHARS, _SAMPLE_ROWS = 100_000, 200
# NaN and Infinity are not JSON, but pandas and others write them for a missing value.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_MAX_BRACKETS_PER_ROW = 20
_JSON_FIX = 'write one object a line, such as {"text": "...", "intent": "...", "language": "en"}'
# A workbook of ordinary text expands to five to ten times its size, far below this.
_MAX_UNFOLDED = 3 * MAX_BYTES
_MAX_PARTS = 10_000
_MAX_SHEET_ROWS = 1_048_576  # the limit of spreadsheet programs
_MAX_BLANK_ROWS = 1_000  # above the column names


def read_table(source: Path | bytes, name: str) -> pd.DataFrame:
    """Read a table as strings, without interpreting its values: "NA", "null" and "007" stay text.

    The content decides the format, and the ending of the name if the content is ambiguous. Missing values are "";
    `frame.attrs["encoding"]` is the encoding of a text file.

    Raises:
        DataError: the file is missing, too large, empty, not a table, or broken; the message says where and
            what to do.
    """
    with opened(source, name) as file:
        payload = file.read()
    if file.is_gzipped:
        name = name[:-3] if name.lower().endswith(".gz") else name
    elif payload.startswith((PARQUET, ZIP)):
        parse, kind = (parse_parquet, "Parquet") if payload.startswith(PARQUET) else (parse_xlsx, "XLSX")
        try:
            return parse(payload, name)
        except DataError:
            raise
        except Exception as error:  # a damaged file fails in dozens of ways
            raise DataError(
                f"{shown(name)} can't be read as {kind}; save it again, or as CSV in UTF-8"
            ) from error
    text, encoding = checked_text(payload, name)
    is_json = name.lower().endswith(_JSON_SUFFIXES) or looks_like_json(text)
    frame = (parse_json if is_json else parse_delimited)(text, name)
    frame.attrs["encoding"] = encoding
    return frame


def read_columns(path: Path) -> tuple[list[str], list[Sequence[str]], tuple[str, ...]]:
    """Return the header, the columns and the notes of a table: of a .tsv line by line, else by `read_table`.

    In a .tsv, gzipped or not, a line is always a row, and a blank line is a row of empty cells. Quotes are part of the
    text, except those that spreadsheets put round a cell with quotes inside (doubled).

    Raises:
        DataError: the file can't be read, has too many rows, or a line has more or fewer cells than the first.
    """
    if not is_tsv(path):
        frame = read_table(path, path.name)
        notes = encoding_notes(path.name, frame.attrs.get("encoding", "utf-8"))
        return list(frame.columns), [frame.iloc[:, place].tolist() for place in range(frame.shape[1])], notes
    lines, notes = read_lines(path)
    check_rows(len(lines), path.name)
    width = lines[0].count("\t") + 1
    rows = []
    for number, line in enumerate(lines, 1):
        cells = line.split("\t") if line.strip() else [""] * width
        if len(cells) != width:
            raise DataError(
                f"{shown(path.name)}: line {number} has {counted(len(cells), 'cell')} but the first has {width}; "
                "write each row as one line with a tab between the cells"
            )
        rows.append([_unquoted(cell) for cell in cells] if '""' in line else cells)
    header, *body = rows
    return header, _columns(body, width), notes


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[Sequence[str]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def is_table(path: Path) -> bool:
    """Return whether a file's name is that of a table, in any format."""
    return path.name.lower().removesuffix(".gz").endswith(_TABLES)


def is_tsv(path: Path) -> bool:
    """Return whether a file's name is that of tab-separated text."""
    return path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def _unquoted(cell: str) -> str:
    inner = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '""' in inner
    return inner.replace('""', '"') if is_quoted and '"' not in inner.replace('""', "") else cell


class _QuotingError(DataError):
    """The quotes of a file do not pair."""


def parse_delimited(text: str, name: str) -> pd.DataFrame:
    """Parse the text of a CSV or TSV file whose first line names the columns; blank lines are skipped.

    If the quotes of a tab-separated file, or one of a single column, do not pair, they are read as plain characters.
    """
    delimiter = sniff_delimiter(text)
    try:
        header, columns = _delimited_columns(text, name, delimiter, csv.QUOTE_MINIMAL)
    except _QuotingError:
        if delimiter not in ("\t", _NO_DELIMITER) or '""' in text:
            raise
        header, columns = _delimited_columns(text, name, delimiter, csv.QUOTE_NONE)
    return build_table(header, columns, name)


def sniff_delimiter(text: str) -> str:
    """Return the delimiter that splits the header, and the rows below it most evenly.

    If none splits the header, there is one column, and the delimiter is a character that is in no text.
    """
    sample = text[:_SAMPLE_CHARS]
    if len(sample) < len(text):
        sample = sample[: max(sample.rfind("\n"), sample.rfind("\r")) + 1] or sample
    scores = {}
    for delimiter in _DELIMITERS:
        try:
            reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
            rows = [row for row in islice(reader, _SAMPLE_ROWS) if row]
        except csv.Error:
            continue
        width = len(rows[0]) if rows else 0
        if width > 1:
            even = sum(len(row) == width for row in rows[1:]) / max(len(rows) - 1, 1)
            scores[delimiter] = (even, width)
    return max(scores, key=lambda delimiter: scores[delimiter]) if scores else _NO_DELIMITER


def _delimited_columns(
    text: str, name: str, delimiter: str, quoting: Literal[0, 3]
) -> tuple[list[str], list[list[str]]]:
    # In `"a", "b"`, a header with a space after every delimiter, quotes begin after the space.
    first = next(csv.reader(io.StringIO(text[:_SAMPLE_CHARS], newline=""), delimiter=delimiter), [])
    spaced = len(first) > 1 and all(cell.startswith(" ") for cell in first[1:])
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=quoting,
        strict=True,
        skipinitialspace=spaced,
    )
    header: list[str] = []
    columns: list[list[str]] = []
    held: dict[str, str] = {}  # short repeated cells, such as a language, are stored once
    line = 1  # the first of a row
    try:
        for row in reader:
            if not header:
                header, columns = row, [[] for _ in row]
                if len(header) > MAX_COLUMNS:
                    raise DataError(
                        f"{shown(name)} has {len(header):,} columns; keep text, intent and language"
                    )
            elif len(row) == len(header):
                for column, cell in zip(columns, row, strict=True):
                    is_new = len(cell) > _SHORT_CELL or (len(held) >= _MOST_HELD and cell not in held)
                    column.append(cell if is_new else held.setdefault(cell, cell))
                check_rows(len(columns[0]), name)
            elif len(row) > 1 or any(map(str.strip, row)):
                raise DataError(
                    f"{shown(name)}: line {line} has {counted(len(row), 'cell')} but the header has {len(header)}; "
                    "put quotes round text that holds the delimiter, or fix the line"
                )
            line = reader.line_num + 1
    except csv.Error as error:
        raise _QuotingError(
            f"{shown(name)}: the row that begins on line {line} has a quote that is not closed, text "
            "after a closed one, or a cell of over 131,072 characters; close it, and write one inside "
            'text as ""'
        ) from error
    return header, columns


def looks_like_json(text: str) -> bool:
    """Return whether a text begins like JSON Lines or a JSON array or object."""
    first = text.lstrip().split("\n", 1)[0].strip()
    if first in ("[", "{", "[{"):
        return True
    try:
        _DECODER.raw_decode(first)
    except ValueError:
        return first.startswith(('{"', '[{"'))
    except RecursionError:
        return True
    return first.startswith(("{", "["))


def parse_json(text: str, name: str) -> pd.DataFrame:
    """Parse JSON Lines or a JSON array into strings; lists and objects become JSON text."""
    # An array is decoded at once, and an empty object takes 30 times the memory of its two characters.
    check_rows((text.count("{") + text.count("[")) // _MAX_BRACKETS_PER_ROW, name)
    records: list[dict[str, object]] = []
    keys: dict[str, None] = {}
    for place, value in _json_values(text, name):
        if not isinstance(value, dict):
            raise DataError(f"{shown(name)}: {place} is not an object; {_JSON_FIX}")
        records.append(value)
        keys.update(dict.fromkeys(value))
        check_rows(len(records), name)
        if len(keys) > MAX_COLUMNS:
            raise DataError(f"{shown(name)} has more than {MAX_COLUMNS:,} different keys; {_JSON_FIX}")
    columns = [[as_text(record.get(key)) for record in records] for key in keys]
    return build_table(list(keys), columns, name)


def _json_values(text: str, name: str) -> Iterator[tuple[str, object]]:
    """Yield each value with its place in words."""
    is_array = text.lstrip().startswith("[")
    # Not splitlines(): a JSON string may contain U+2028 and its like.
    for number, part in enumerate([text] if is_array else text.split("\n"), start=1):
        if not part.strip():
            continue
        place = "the file" if is_array else f"line {number}"
        try:
            value = _DECODER.decode(part)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{shown(name)}: {place} is not JSON; {_JSON_FIX}") from error
        if is_array:
            yield from ((f"item {item}", one) for item, one in enumerate(value, start=1))
        else:
            yield place, value


def parse_parquet(payload: bytes, name: str) -> pd.DataFrame:
    """Read the flat columns of a Parquet file as strings, without nested and fixed-size binary ones."""
    file = pq.ParquetFile(pa.BufferReader(payload))
    check_rows(file.metadata.num_rows, name)
    check_characters(
        sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)), name
    )
    left_out = (pa.types.is_nested, pa.types.is_fixed_size_binary)
    flat = [field.name for field in file.schema_arrow if not any(test(field.type) for test in left_out)]
    if len(flat) > MAX_COLUMNS:
        raise DataError(f"{shown(name)} has {len(flat):,} columns; keep text, intent and language")
    # As dictionaries, a long value of every row is stored once until its true size is known.
    table = pq.ParquetFile(pa.BufferReader(payload), read_dictionary=flat).read(columns=flat)
    check_characters(sum(_characters(chunk) for column in table.columns for chunk in column.chunks), name)
    columns = []
    for column in table.columns:
        plain = pc.cast(column, column.type.value_type) if pa.types.is_dictionary(column.type) else column
        columns.append(pc.fill_null(pc.cast(plain, pa.large_string()), "").to_pylist())
    return build_table(table.column_names, columns, name)


def _characters(chunk: pa.Array) -> int:
    """Return the bytes of text that a part of a column expands to; 0 for other types."""
    is_dictionary = pa.types.is_dictionary(chunk.type)
    values = chunk.dictionary if is_dictionary else chunk
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if not any(test(values.type) for test in tests):
        return 0
    lengths = pc.cast(pc.binary_length(values), pa.int64())
    return pc.sum(lengths.take(chunk.indices) if is_dictionary else lengths).as_py() or 0


def parse_xlsx(payload: bytes, name: str) -> pd.DataFrame:
    """Read the first sheet: its first row that is not blank names the columns; a formula is its last value."""
    import openpyxl

    _check_archive(payload, name)
    workbook = openpyxl.load_workbook(io.BytesIO(payload), read_only=True, data_only=True)
    if not workbook.worksheets:
        raise DataError(f"{shown(name)} has no sheet with cells; put the table on its first sheet")
    sheet = workbook.worksheets[0]
    empty: tuple[int, list[str]] = (0, [])
    first, header = next(_sheet_rows(sheet, 1, MAX_COLUMNS, _MAX_BLANK_ROWS, name), empty)
    while header and not header[-1]:
        header.pop()
    if not header:
        raise DataError(f"{shown(name)} has an empty first sheet; put the table there")
    width = len(header)
    rows = []
    for number, cells in _sheet_rows(sheet, first + 1, width + 1, _MAX_SHEET_ROWS + 1, name):
        if cells[width]:
            raise DataError(
                f"{shown(name)}: row {number} has a cell beside the last named column; name or remove it"
            )
        rows.append(cells[:width])
        check_rows(len(rows), name)
    return build_table(header, _columns(rows, width), name)


def _check_archive(payload: bytes, name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        parts = archive.infolist()
        if "xl/workbook.xml" not in archive.namelist():
            raise DataError(
                f"{shown(name)} is a zip archive and not an XLSX workbook; unpack it and name its files"
            )
        if len(parts) > _MAX_PARTS or sum(part.file_size for part in parts) > _MAX_UNFOLDED:
            raise DataError(
                f"{shown(name)} expands to more than a workbook of text can; save the table as CSV"
            )
        for part in parts:
            with archive.open(part) as stream:
                # Entity bombs need a document type, which no spreadsheet program writes.
                if b"<!DOCTYPE" in stream.read(4096):
                    raise DataError(
                        f"{shown(name)} holds an XML document type; save the table as CSV in UTF-8"
                    )


def _sheet_rows(
    sheet: "ReadOnlyWorksheet", start: int, width: int, end: int, name: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the `width` cells of each row from `start` to `end` that is not blank."""
    rows = sheet.iter_rows(min_row=start, max_row=end, max_col=width, values_only=True)
    for number, values in enumerate(rows, start=start):
        # openpyxl puts blank rows up to `end` in the place of a row after it.
        if number > _MAX_SHEET_ROWS:
            raise DataError(
                f"{shown(name)}: row {_row_beyond(sheet):,} is beyond the last row of a workbook, {_MAX_SHEET_ROWS:,}; "
                "move it up, or save the table as CSV"
            )
        if any(value is not None for value in values):
            cells = [as_text(value) for value in values]
            yield number, cells + [""] * (width - len(cells))


def _row_beyond(sheet: "ReadOnlyWorksheet") -> int:
    """Return the number of the first row beyond the limit."""
    from openpyxl.worksheet._reader import WorkSheetParser

    with sheet._get_source() as source:
        rows = WorkSheetParser(source, sheet._shared_strings).parse()
        return next(number for number, _ in rows if number > _MAX_SHEET_ROWS)
