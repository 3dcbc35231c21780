"""JSON Lines, and JSON arrays of objects."""

import json
from collections.abc import Iterator

import pandas as pd

from emu_core.data.readers.limits import MAX_COLUMNS, build_table, cell_text, check_rows
from emu_core.data.wording import shown
from emu_core.errors import DataError

# NaN and Infinity are not JSON, but pandas and others write them for a missing value.
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)
_MAX_BRACKETS_PER_ROW = 20
_JSON_FIX = 'write one object a line, such as {"text": "...", "intent": "...", "language": "en"}'


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


def parse(text: str, name: str) -> pd.DataFrame:
    """Parse JSON Lines or a JSON array into strings; lists and objects become JSON text."""
    # An array is decoded at once, and an empty object takes 30 times the memory of its two characters.
    check_rows((text.count("{") + text.count("[")) // _MAX_BRACKETS_PER_ROW, name)
    records: list[dict[str, object]] = []
    keys: dict[str, None] = {}
    for position, value in _json_values(text, name):
        if not isinstance(value, dict):
            raise DataError(f"{shown(name)}: {position} is not an object; {_JSON_FIX}")
        records.append(value)
        keys.update(dict.fromkeys(value))
        check_rows(len(records), name)
        if len(keys) > MAX_COLUMNS:
            raise DataError(f"{shown(name)} has more than {MAX_COLUMNS:,} different keys; {_JSON_FIX}")
    columns = [[cell_text(record.get(key)) for record in records] for key in keys]
    return build_table(list(keys), columns, name)


def _json_values(text: str, name: str) -> Iterator[tuple[str, object]]:
    """Yield each value with its place in words."""
    is_array = text.lstrip().startswith("[")
    # Not splitlines(): a JSON string may contain U+2028 and its like.
    for number, part in enumerate([text] if is_array else text.split("\n"), start=1):
        if not part.strip():
            continue
        position = "the file" if is_array else f"line {number}"
        try:
            value = _DECODER.decode(part)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{shown(name)}: {position} is not JSON; {_JSON_FIX}") from error
        if is_array:
            yield from ((f"item {number}", record) for number, record in enumerate(value, start=1))
        else:
            yield position, value
