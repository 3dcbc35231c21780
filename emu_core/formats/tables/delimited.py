"""CSV, TSV and other text with a delimiter, which is found from the content."""

import csv
import io
import re
from itertools import islice
from typing import Literal

from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.formats.limits import MAX_COLUMNS, check_rows
from emu_core.formats.tables.cells import Cells

# The comma comes last, because it is also in sentences: of two delimiters that split equally well, the other wins.
_DELIMITERS = ("\t", ";", "|", ",")
# For a file of one column: a character that is in no text, so that commas do not split it.
_NO_DELIMITER = "\x1f"
# Excel's first line, which names the delimiter and is no row; other programs pad it to the width of the table.
_DELIMITER_LINE = re.compile(r"""\s*"?sep=([^\w\s"]|\t)"?\1*(\r\n|\r|\n|$)""", re.IGNORECASE)
# A cell in quotes with quotes inside, as spreadsheets write it.
_QUOTED_CELL = re.compile(r'(?:^|\t)"[^"\t]*""[^\t\r\n]*"(?:[\t\r]|$)', re.MULTILINE)
_SHORT_CELL, _MAX_HELD = 16, 10_000
_SAMPLE_CHARS, _SAMPLE_ROWS = 100_000, 200


class _QuotingError(DataError):
    """The quotes of a file do not pair."""


def parse(text: str, name: str) -> Cells:
    """Parse the text of a CSV or TSV file whose first line names the columns; blank lines are skipped.

    If the quotes of a tab-separated file, or one of a single column, do not pair, they are read as plain characters.
    """
    delimiter, text = stated_delimiter(text)
    first_line = 1 if delimiter is None else 2
    delimiter = delimiter or sniff_delimiter(text)
    try:
        header, columns = _delimited_columns(text, name, delimiter, csv.QUOTE_MINIMAL, first_line)
    except _QuotingError:
        if delimiter not in ("\t", _NO_DELIMITER) or _QUOTED_CELL.search(text):
            raise
        header, columns = _delimited_columns(text, name, delimiter, csv.QUOTE_NONE, first_line)
    return Cells(header, columns, is_first_row=True)


def stated_delimiter(text: str) -> tuple[str | None, str]:
    """Return the delimiter that a first line such as Excel's `sep=;` states, or None, and the text below it."""
    line = _DELIMITER_LINE.match(text)
    return (line[1], text[line.end() :]) if line else (None, text)


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
    text: str, name: str, delimiter: str, quoting: Literal[0, 3], first_line: int
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
    line = first_line  # the first of a row
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
                    is_new = len(cell) > _SHORT_CELL or (len(held) >= _MAX_HELD and cell not in held)
                    column.append(cell if is_new else held.setdefault(cell, cell))
                check_rows(len(columns[0]), name)
            elif len(row) > 1 or any(map(str.strip, row)):
                raise DataError(
                    f"{shown(name)}: line {line} has {counted(len(row), 'cell')} but the header has {len(header)}; "
                    "put quotes round text that holds the delimiter, or fix the line"
                )
            line = reader.line_num + first_line
    except csv.Error as error:
        raise _QuotingError(
            f"{shown(name)}: the row that begins on line {line} has a quote that is not closed, text "
            "after a closed one, or a cell of over 131,072 characters; close it, and write one inside "
            'text as ""'
        ) from error
    return header, columns


def has_tabs(text: str) -> bool:
    """Return whether every line at the beginning of a text has the same number of tabs, one or more."""
    sample = text[:_SAMPLE_CHARS]
    lines = [line for line in (sample.split("\n")[:-1] or [sample])[:_SAMPLE_ROWS] if line.strip()]
    return len({line.count("\t") for line in lines}) == 1 and "\t" in lines[0]
