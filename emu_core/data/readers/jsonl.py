"""JSON Lines, and a JSON array of objects: one object a row."""

import json
from collections.abc import Iterator

import pandas as pd

from emu_core.data.readers.table import MAX_COLUMNS, as_text, build_table, check_rows
from emu_core.data.wording import shown
from emu_core.errors import DataError

# NaN and Infinity are not JSON but pandas and others write them: they stand for a missing value.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_MAX_BRACKETS_PER_ROW = 20
_FIX = 'write one object a line, such as {"text": "...", "intent": "...", "language": "en"}'


def looks_like_json(text: str) -> bool:
    """Return whether a text begins as JSON Lines or as a JSON array or object."""
    first = text.lstrip().split("\n", 1)[0].strip()
    if first in ("[", "{", "[{"):
        return True
    if not first.startswith(("{", "[")):
        return False
    try:
        _DECODER.raw_decode(first)
    except ValueError:
        return first.startswith(('{"', '[{"'))
    except RecursionError:
        return True
    return True


def parse_json(text: str, name: str, max_rows: int) -> pd.DataFrame:
    """Parse JSON Lines or a JSON array into strings; values that are lists or objects become JSON text.

    Raises:
        DataError: a line is not JSON or not an object, or there are too many rows or keys.
    """
    # An array is decoded whole, and an empty object takes 30 times its two characters.
    check_rows((text.count("{") + text.count("[")) // _MAX_BRACKETS_PER_ROW, max_rows, name)
    records: list[dict[str, object]] = []
    keys: dict[str, None] = {}
    for place, value in _values(text, name):
        if not isinstance(value, dict):
            raise DataError(f"{shown(name)}: {place} is not an object; {_FIX}")
        records.append(value)
        keys.update(dict.fromkeys(value))
        check_rows(len(records), max_rows, name)
        if len(keys) > MAX_COLUMNS:
            raise DataError(f"{shown(name)} has more than {MAX_COLUMNS:,} different keys; {_FIX}")
    columns = [[_cell(record.get(key)) for record in records] for key in keys]
    return build_table(list(keys), columns, name)


def _values(text: str, name: str) -> Iterator[tuple[str, object]]:
    """Yield each value with the words for its place."""
    if text.lstrip().startswith("["):
        array = _decode(text, "the file", name)
        for number, value in enumerate(array if isinstance(array, list) else [array], start=1):
            yield f"item {number}", value
        return
    # Not splitlines(): U+2028 and its like may stand inside a JSON string.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _decode(line, f"line {number}", name)


def _decode(text: str, place: str, name: str) -> object:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{shown(name)}: {place} is not JSON; {_FIX}") from error


def _cell(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else as_text(value)
