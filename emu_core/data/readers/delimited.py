"""CSV with any delimiter: the delimiter sniffed, every row as wide as the header, faults named by line."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import Literal

import pandas as pd

from emu_core.data.readers.table import MAX_COLUMNS, build_table, check_rows
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError

# The comma comes last: where two delimiters split the sample equally well it is the one that stands in
# sentences.
_DELIMITERS = ("\t", ";", "|", ",")
# For a file of one column: a character that no sentence holds, so that commas in the text split nothing.
_NO_DELIMITER = "\x1f"
_SAMPLE_CHARS, _SAMPLE_ROWS = 100_000, 200


class _QuotingError(DataError):
    """The quotes of a file don't pair."""


def parse_delimited(text: str, name: str, max_rows: int) -> pd.DataFrame:
    """Parse the text of a CSV or TSV file whose first line names the columns.

    Blank lines are skipped. In a tab-separated file, or one of a single column, quotes may be plain
    characters: it is read that way when its quotes don't pair as quoting.

    Raises:
        DataError: quotes that don't pair, a row wider or narrower than the header, too many rows, no rows.
    """
    delimiter = sniff_delimiter(text)
    try:
        header, rows = _parse(text, name, delimiter, csv.QUOTE_MINIMAL, max_rows)
    except _QuotingError:
        if delimiter not in ("\t", _NO_DELIMITER) or '""' in text:
            raise
        header, rows = _parse(text, name, delimiter, csv.QUOTE_NONE, max_rows)
    columns: list[tuple[str, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    return build_table(header, columns, name)


def sniff_delimiter(text: str) -> str:
    """Return the delimiter that splits the header, and the rows below it most evenly.

    Where none splits the header, there is one column: the delimiter is a character that no text holds.
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


def _parse(
    text: str, name: str, delimiter: str, quoting: Literal[0, 3], max_rows: int
) -> tuple[list[str], list[list[str]]]:
    numbered = _numbered_rows(text, name, delimiter, quoting)
    _, header = next(numbered, (1, []))
    if len(header) > MAX_COLUMNS:
        raise DataError(f"{shown(name)} has {len(header):,} columns; keep text, intent and language")
    width = len(header)
    rows = []
    for line, row in numbered:
        if len(row) != width:
            if not any(map(str.strip, row)) and len(row) == 1:
                continue
            raise DataError(
                f"{shown(name)}: line {line} has {counted(len(row), 'cell')} but the header has {width}; "
                "put quotes round text that holds the delimiter, or fix the line"
            )
        rows.append(row)
        if len(rows) > max_rows:
            check_rows(len(rows), max_rows, name)
    return header, rows


def _numbered_rows(
    text: str, name: str, delimiter: str, quoting: Literal[0, 3]
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that isn't blank with the number of the line it begins on."""
    # `"a", "b"`: where the header has a space after every delimiter, the quotes begin after it.
    first = next(csv.reader(io.StringIO(text[:_SAMPLE_CHARS], newline=""), delimiter=delimiter), [])
    spaced = len(first) > 1 and all(cell.startswith(" ") for cell in first[1:])
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=quoting,
        strict=True,
        skipinitialspace=spaced,
    )
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _QuotingError(
                f"{shown(name)}: the row that begins on line {line} has a quote that is not closed, text "
                "after a closed one, or a cell of over 131,072 characters; close it, and write one inside "
                'text as ""'
            ) from error
        if row:
            yield line, row
