"""Names of intents, with or without descriptions, from files and objects."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from emu_core.data.cleaning import HALF, holds_half
from emu_core.data.column_names import DESCRIPTION_NAMES, folded_name, role_of_name
from emu_core.data.intent_names import seen_names
from emu_core.data.reading import DescribedIntents
from emu_core.data.wording import counted, kind_of, shown
from emu_core.errors import DataError, InputError
from emu_core.formats.encodings import read_lines, read_text
from emu_core.formats.tables.formats import is_table
from emu_core.formats.tables.json_tables import decoded_json
from emu_core.formats.tables.read import read_table

MOST_INTENTS = 5_000


def read_intents(source: DescribedIntents, *, fewest: int = 2) -> dict[str, str]:
    """Return the description of each intent by its name, "" for none.

    Args:
        source: names; descriptions by name, also as the object of a .json file, which may have an object with a
            "description" for each; a table with a column of intents (or
            one column) and, if it has one, a column "description"; or a text file with a line for each, see
            `intents_of_lines`.
        fewest: number of intents that are enough.

    Raises:
        DataError: the file can't be read, there are too few intents or too many, or one has two descriptions or holds
            half a character.
    """
    if isinstance(source, Mapping):
        rows = [(_checked_name(name), _checked(text, name)) for name, text in source.items()]
    elif isinstance(source, str | Path) and (described := _object_in(Path(source))) is not None:
        return read_intents(described, fewest=fewest)
    elif isinstance(source, str | Path) and is_table(Path(source).name):
        rows = _rows_of_table(Path(source))
    elif isinstance(source, str | Path):
        return intents_of_lines(read_lines(Path(source), Path(source).name)[0], fewest=fewest)
    elif isinstance(source, Iterable):
        rows = [(_checked_name(name), "") for name in source]
    else:
        raise InputError(
            f"the intents are {kind_of(source)}; give a dict with a description of each, or a file"
        )
    return _checked_rows(rows, fewest)


def intents_of_lines(lines: Iterable[str], *, fewest: int = 2) -> dict[str, str]:
    """Return the description of each intent by its name, given lines such as "taxi" and "taxi: order a taxi".

    A description follows a tab, or a colon with a blank: `IN:GET` is a name.

    Raises:
        DataError: as `read_intents`.
    """
    rows = []
    for line in lines:
        end = "\t" if "\t" in line else ": "
        name, _, text = line.partition(end)
        rows.append((name, text))
    return _checked_rows(rows, fewest)


def _checked_rows(rows: Sequence[tuple[str, str]], fewest: int) -> dict[str, str]:
    if half := next((row for row in rows if any(map(holds_half, row))), None):
        raise DataError(f"the intent '{shown(half[0])}' or its description holds {HALF}; fix it")
    descriptions: dict[str, str] = {}
    names = seen_names(name for name, _ in rows)
    for name, text in ((names[name], text.strip()) for name, text in rows):
        if name and descriptions.setdefault(name, text) != text:
            raise DataError(f"the intent '{shown(name)}' has two descriptions; keep one")
    if len(descriptions) < fewest:
        few = counted(len(descriptions), "intent")
        raise DataError(f"{few} named, too few to choose from; name {fewest} or more")
    if len(descriptions) > MOST_INTENTS:
        raise DataError(f"{len(descriptions):,} are no names of intents; give at most {MOST_INTENTS:,}")
    return descriptions


def _checked(text: object, name: object) -> str:
    if not isinstance(text, str):
        raise InputError(f"the description of {shown(str(name))!r} is {kind_of(text)}; give a sentence")
    return text


def _checked_name(name: object) -> str:
    if name is None or name is pd.NA or name != name:  # noqa: PLR0124  - NaN
        raise InputError("an intent has no name; name it, or leave it out")
    return str(name)


def _object_in(path: Path) -> dict[str, str] | None:
    """Return the descriptions by name that are the whole of a JSON file, or None if it holds rows. Raises DataError."""
    if path.suffix.lower() != ".json":
        return None
    found = decoded_json(read_text(path, path.name)[0], path.name)
    if not isinstance(found, dict) or any(role_of_name(name) == "intent" for name in found):
        return None
    described = {name: text for name, value in found.items() if (text := _described(value)) is not None}
    return described if len(described) == len(found) else None


def _described(value: object) -> str | None:
    """Return a description, or the only one in an object; None for anything else."""
    if isinstance(value, dict):
        texts = [text for name, text in value.items() if folded_name(name) in DESCRIPTION_NAMES]
        value = texts[0] if len(texts) == 1 else None
    return value if isinstance(value, str) else None


def _rows_of_table(path: Path) -> list[tuple[str, str]]:
    frame: pd.DataFrame = read_table(path, path.name)
    names = [column for column in frame if role_of_name(str(column)) == "intent"]
    column = names[0] if names else frame.columns[0]
    texts = [other for other in frame if folded_name(str(other)) in DESCRIPTION_NAMES and other != column]
    described = frame[texts[0]] if texts else pd.Series("", index=frame.index)
    return list(zip(frame[column].astype(str), described.astype(str), strict=True))
