"""JSON as a table: JSON Lines, a list, or an object; which rows a value holds is told in `json_rows`."""

import json
import re
from typing import Any

from emu_core.data.cleaning import cell_text
from emu_core.data.splits import split_code
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.formats.limits import MAX_COLUMNS, check_rows
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.json_rows import Record, Walk, rows_of_json

# NaN and Infinity are not JSON, but pandas and others write them for a missing value.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_BLANKS = re.compile(r"[ \t\r\n]*")
# The first two signs of a list or an object; the second may be on another line.
_START = re.compile(r"\s*(\{\s*[\"}]|\[\s*[\[{\"\]])")
_DELIMITERS = (",", ";", "\t", "|")
_MAX_BRACKETS_PER_ROW = 20
_FIX = 'write one object a line, such as {"text": "...", "intent": "...", "language": "en"}'


def looks_like_json(text: str) -> bool:
    """Return whether a text begins like JSON Lines or a JSON list or object."""
    if not _START.match(text):
        return False
    first = text.lstrip().split("\n", 1)[0].rstrip()
    try:
        _, end = _DECODER.raw_decode(first)
    except (ValueError, RecursionError):
        return True  # it goes on in the next line, or is broken
    return not first[end:].lstrip(" ").startswith(_DELIMITERS)  # else it is the first cell of a row


def parse(text: str, name: str) -> Cells:
    """Parse JSON into strings; lists and objects within a row become JSON text."""
    return cells_of_json(decoded_json(text, name), name)


def decoded_json(text: str, name: str) -> Any:
    """Return the value in a JSON text, or the list of its values, such as the lines of JSON Lines.

    Raises:
        DataError: the text is not JSON, or holds too many values.
    """
    # A list is decoded at once, and an empty object takes 30 times the memory of its two characters.
    check_rows((text.count("{") + text.count("[")) // _MAX_BRACKETS_PER_ROW, name)
    text = text.rstrip()
    values = []
    end = 0
    while end < len(text):
        start = _BLANKS.match(text, end).end()  # type: ignore[union-attr]
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise DataError(f"{shown(name)}: line {error.lineno} is not JSON; {_FIX}") from error
        except RecursionError as error:
            raise DataError(
                f"{shown(name)} is JSON nested too deeply, or not JSON, for a table; {_FIX}"
            ) from error
        except ValueError as error:  # Python converts no number of more digits
            line = text.count("\n", 0, start) + 1
            raise DataError(
                f"{shown(name)}: line {line} begins an object with a number of more than 4,300 digits; "
                "write it in quotes"
            ) from error
        values.append(value)
        check_rows(len(values), name)
    return values[0] if len(values) == 1 else values


def cells_of_json(value: Any, name: str) -> Cells:
    """Return the table in a decoded JSON value.

    Raises:
        DataError: there is none, or it has too many rows or columns.
    """
    records: list[Record] = []
    keys: dict[str, None] = {}
    walk = Walk(name)
    for record in rows_of_json(value, walk):
        records.append(record)
        keys.update(dict.fromkeys(record))
        check_rows(len(records), name)
        if len(keys) > MAX_COLUMNS:
            raise DataError(f"{shown(name)} has more than {MAX_COLUMNS:,} different keys; {_FIX}")
    if not keys:
        raise DataError(f"{shown(name)} is JSON with no rows of sentences in it; {_FIX}")
    notes = [f"{shown(name)}, guessed: intent is column '{shown(column)}'." for column in walk.guessed]
    if walk.unread:
        unread = listed(map(shown, walk.unread), 4)
        notes.append(f"{shown(name)}, not read, since no sentences are at a usual name: {unread}.")
    split = ""
    if walk.splits and len(codes := {split_code(cell_text(record.get("split"))) for record in records}) == 1:
        split = codes.pop()
        del keys["split"]
    columns = [[cell_text(record.get(key)) for record in records] for key in keys]
    return Cells(list(keys), columns, notes=tuple(notes), split=split)
