"""The roles of a table's columns (text, intent, language, ...), guessed from their names or mapped."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import pandas as pd

from emu_core.data.column_names import COLUMN_NAMES, folded_name
from emu_core.data.file_names import stated_language
from emu_core.data.labelled.intent_lists import single_intents
from emu_core.data.labelled.splits import split_codes
from emu_core.data.languages import language_codes
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError, Fix, Message

LABELLED_COLUMNS = ("id", "text", "intent", "language", "split", "annotated")
"""The columns of a labelled set, all of strings."""


@dataclass(frozen=True)
class ColumnMapping:
    """The name of each role's column; None if it has none, or is left to `guess_columns`."""

    text: str | None = None
    intent: str | None = None
    language: str | None = None
    id: str | None = None
    split: str | None = None
    annotated: str | None = None


def guess_columns(frame: pd.DataFrame, fixed: ColumnMapping | None = None) -> ColumnMapping:
    """Guess the roles of columns from their names, whatever the case, accents and separators.

    Args:
        frame: a table as read.
        fixed: columns that are known; only the roles that are None are guessed.
    """
    fixed = fixed or ColumnMapping()
    taken = {name for name in asdict(fixed).values() if name}
    by_name: dict[str, str] = {}
    for column in frame.columns:
        by_name.setdefault(folded_name(column), column)
    chosen = {}
    for role, names in COLUMN_NAMES.items():
        known = (by_name.get(folded_name(name)) for name in names.split())
        chosen[role] = getattr(fixed, role) or next(
            (name for name in known if name and name not in taken), None
        )
        taken.add(chosen[role] or "")
    return ColumnMapping(**chosen)


def apply_columns(
    frame: pd.DataFrame,
    mapping: ColumnMapping,
    *,
    language: str | None,
    name: str,
    required: Sequence[str] = ("text", "intent", "language"),
) -> pd.DataFrame:
    """Return the six columns of LABELLED_COLUMNS, with every row in the table's order.

    Languages become codes, and splits train, dev or test, where they are known; a list of one intent becomes that one.

    Args:
        frame: a table as read.
        mapping: the column of each role.
        language: the language of rows for which no column states one.
        name: the file's name, for messages, and for its language without a column and `language`.
        required: roles that need a column; a language may also be given, or stated by the file's name.

    Raises:
        DataError: a required or mapped column does not exist, or no language is stated.
    """
    columns, used = list(frame.columns), asdict(mapping)
    for column in used.values():
        if column and column not in columns:
            raise DataError(
                f"{shown(name)}: no column '{shown(column)}'; found: {listed(columns)}. Map one of them"
            )
    for role, second_role in combinations([role for role, column in used.items() if column], 2):
        if used[role] == used[second_role]:
            raise DataError(
                f"{shown(name)}: column '{shown(used[role])}' is mapped to {role} and to {second_role}; choose one"
            )
    if missing := [role for role in required if not used[role] and role != "language"]:
        spare = next((column for column in columns if column not in used.values()), None)
        fix = Message("Add it, or name the right file")
        if spare:
            fix = Message("Map one: ", Fix(f"{missing[0]}_column", shown(spare)))
        raise DataError(f"{shown(name)}: no column '{missing[0]}'; found: {listed(columns)}. ", fix)
    table = pd.DataFrame("", index=range(len(frame)), columns=list(LABELLED_COLUMNS), dtype="str")
    for role in LABELLED_COLUMNS:
        if column := used[role]:
            table[role] = frame[column].reset_index(drop=True).astype("str").fillna("")
    if language or (mapping.language is None and "language" in required):
        table["language"] = table["language"].replace("", stated_language(language, name))
    table["intent"], _ = single_intents(table["intent"])
    table["language"] = language_codes(table["language"])
    table["split"] = split_codes(table["split"])
    return table
