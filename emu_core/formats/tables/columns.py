"""The roles of a table's columns (text, intent, language, ...), guessed from their names or mapped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations

import pandas as pd

from emu_core.data.column_names import (
    COLUMN_NAMES,
    folded_name,
    is_about,
    listed_names,
    role_in_name,
    role_of_name,
    words_of_name,
)
from emu_core.data.intent_lists import single_intents
from emu_core.data.languages import language_codes
from emu_core.data.reading import ColumnMapping
from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.data.splits import split_codes
from emu_core.data.wording import shown
from emu_core.errors import DataError, Fix
from emu_core.formats.file_names import unstated_language
from emu_core.formats.tables.cells import is_numbered
from emu_core.formats.tables.contents import Content


def guess_columns(frame: pd.DataFrame, fixed: ColumnMapping | None = None) -> ColumnMapping:
    """Guess the roles of columns.

    A usual name decides, whatever its case, accents and separators. Without one, text and intent are guessed by a word
    of the name ("Ticket text"), and then by what the cells look like; `guess_notes` says so.

    Args:
        frame: a table as read.
        fixed: columns that are known; only the roles that are None are guessed.
    """
    chosen = asdict(fixed or ColumnMapping())
    by_name: dict[str, str] = {}
    for column in frame.columns:
        by_name.setdefault(folded_name(column), column)
    for role, names in COLUMN_NAMES.items():
        usual = (by_name.get(folded_name(name)) for name in names.split())
        chosen[role] = chosen[role] or next(
            (name for name in usual if name and name not in chosen.values()), None
        )
    if not (chosen["text"] and chosen["intent"]):
        contents = {column: Content(frame[column]) for column in frame.columns}
        for role, guess in _GUESSES:
            rest = {column: content for column, content in contents.items() if column not in chosen.values()}
            chosen[role] = chosen[role] or guess(rest)
    return ColumnMapping(**chosen)


def guess_notes(columns: ColumnMapping, fixed: ColumnMapping | None, name: str) -> tuple[str, ...]:
    """Say which columns were guessed by anything but a usual name, in a sentence or none.

    Args:
        columns: as `guess_columns` returned them.
        fixed: those that were known.
        name: the file's name.
    """
    guessed = [
        f"{role} is column '{shown(column)}'"
        for role, column in asdict(columns).items()
        if column and column != getattr(fixed, role, None) and role_of_name(column) != role
    ]
    return (f"{shown(name)}, guessed: {', '.join(guessed)}.",) if guessed else ()


_Contents = Mapping[str, Content]


def _text_by_word(contents: _Contents) -> str | None:
    named = {column: content for column, content in contents.items() if role_in_name(column) == "text"}
    usable = [column for column, content in named.items() if content.may_be_sentences]
    return max(usable, key=lambda column: named[column].length, default=None)


def _text_by_content(contents: _Contents) -> str | None:
    """Return the column with the longest sentences; without any, that without a name with the most different texts."""
    sentences = [
        column for column, content in contents.items() if content.are_sentences and not is_about(column)
    ]
    if sentences:
        return _only_largest(sentences, lambda column: contents[column].length)
    texts = [column for column in _without_names(contents) if contents[column].may_be_sentences]
    return _only_largest(texts, lambda column: len(contents[column].distinct))


def _only_largest(columns: Sequence[str], size: Callable[[str], float]) -> str | None:
    """Return the column of the largest size; None if there are two, or no column."""
    sizes = [size(column) for column in columns]
    return columns[sizes.index(max(sizes))] if sizes and sizes.count(max(sizes)) == 1 else None


def _without_names(contents: _Contents) -> list[str]:
    return [column for column in contents if is_numbered(column)]


def _intent_by_word(contents: _Contents) -> str | None:
    named = [
        column
        for column, content in contents.items()
        if role_in_name(column) == "intent" and content.may_be_labels
    ]
    return max(named, key=lambda column: contents[column].are_plain_labels, default=None)


def _intent_by_content(contents: _Contents) -> str | None:
    """Return the column of repeated values, rather words than numbers, and rather many than few."""
    usable = [
        column
        for column, content in contents.items()
        if content.are_labels
        and not (_states_languages(column, content) or content.are_splits or is_about(column))
    ]

    def fitness(column: str) -> tuple[bool, bool, int]:
        content = contents[column]
        distinct = len(content.distinct)
        return content.are_plain_labels, len(content.cells) >= _USUAL_REPEATS * distinct, distinct

    if usable:
        return max(usable, key=fitness)
    # In a few rows, each intent may occur once.
    single = [column for column in _without_names(contents) if contents[column].may_be_single_labels]
    return single[0] if len(single) == 1 else None


def _language_by_content(contents: _Contents) -> str | None:
    return next((column for column, content in contents.items() if _states_languages(column, content)), None)


def _states_languages(column: str, content: Content) -> bool:
    is_open = not words_of_name(column) or is_numbered(column) or role_in_name(column) == "language"
    return content.are_languages and (is_open or not content.are_codes_of_places)


def _split_by_content(contents: _Contents) -> str | None:
    return next((column for column, content in contents.items() if content.are_splits), None)


_USUAL_REPEATS = 5  # of an intent, in a file of a usual size


_GUESSES: tuple[tuple[str, Callable[[_Contents], str | None]], ...] = (
    ("text", _text_by_word),
    ("intent", _intent_by_word),
    ("language", _language_by_content),
    ("split", _split_by_content),
    ("text", _text_by_content),
    ("intent", _intent_by_content),
)
"""The ways to guess a role, in the order in which they are tried."""


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
        language: the code of the language of rows for which no column states one.
        name: the file's name, for messages.
        required: roles that need a column; a language may also be given.

    Raises:
        DataError: a required or mapped column does not exist, or no language is stated.
    """
    columns, used = list(frame.columns), asdict(mapping)
    for column in used.values():
        if column and column not in columns:
            raise DataError(
                f"{shown(name)}: no column '{shown(column)}'; found: {listed_names(columns)}. Map one of them"
            )
    for role, second_role in combinations([role for role, column in used.items() if column], 2):
        if used[role] == used[second_role]:
            raise DataError(
                f"{shown(name)}: column '{shown(used[role])}' is mapped to {role} and to {second_role}; choose one"
            )
    if missing := [role for role in required if not used[role] and role != "language"]:
        raise DataError(
            f"{shown(name)}: no column '{missing[0]}'; found: {listed_names(columns)}. Name the column of ",
            "sentences (" if missing[0] == "text" else "intents (",
            Fix(f"{missing[0]}_column"),
            ")",
        )
    table = pd.DataFrame("", index=range(len(frame)), columns=list(LABELLED_COLUMNS), dtype="str")
    for role in LABELLED_COLUMNS:
        if column := used[role]:
            table[role] = frame[column].reset_index(drop=True).astype("str").fillna("")
    if language:
        table["language"] = table["language"].replace("", language)
    elif mapping.language is None and "language" in required:
        raise unstated_language(name)
    table["intent"], _ = single_intents(table["intent"])
    table["language"] = language_codes(table["language"])
    table["split"] = split_codes(table["split"])
    return table
