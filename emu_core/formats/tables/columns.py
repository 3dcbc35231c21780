"""The roles of a table's columns (text, intent, language, ...), guessed from their names or mapped."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, combinations

import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.column_names import (
    COLUMN_NAMES,
    DESCRIPTION_NAMES,
    folded_name,
    is_about,
    listed_names,
    role_in_name,
    role_of_name,
    words_of_name,
)
from emu_core.data.intent_lists import single_intents
from emu_core.data.languages import language_codes
from emu_core.data.missing import without_missing
from emu_core.data.reading import AS_GUESSED, ColumnMapping, Reading
from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.data.splits import split_codes
from emu_core.data.wording import shown
from emu_core.errors import DataError, Fix
from emu_core.formats.file_names import unstated_language
from emu_core.formats.tables.cells import is_numbered
from emu_core.formats.tables.contents import Content


def guess_columns(frame: pd.DataFrame, fixed: ColumnMapping | None = None) -> ColumnMapping:
    """Guess the roles of a table's columns, as `guess_columns_of` does.

    Args:
        frame: a table as read.
        fixed: columns that are known; only the roles that are None are guessed.
    """
    return guess_columns_of([frame], [fixed])[0]


def guess_columns_of(
    frames: Sequence[pd.DataFrame], fixed: Sequence[ColumnMapping | None]
) -> list[ColumnMapping]:
    """Guess the roles of the columns of tables that make up a set.

    A usual name decides, whatever its case, accents and separators. Without one, text and intent are guessed by a word
    of the name ("Ticket text"), and then by what the cells look like; `guess_notes` says so. Such a guess is made once
    for all tables that have the column, so that two files of a tool are not read by different columns.

    Args:
        frames: tables as read.
        fixed: for each, columns that are known; only the roles that are None are guessed.
    """
    chosen = [_usual_columns(frame, known) for frame, known in zip(frames, fixed, strict=True)]
    unsure = [number for number, roles in enumerate(chosen) if not (roles["text"] and roles["intent"])]
    shared = _Shared(frames)
    for role, guess in _GUESSES:
        waiting = [number for number in unsure if not chosen[number][role]]
        while waiting:
            group = _connected(waiting, frames)
            column = guess(shared.contents(group, chosen))
            having = [number for number in group if _is_free(column, frames[number], chosen[number])]
            for number in having:
                chosen[number][role] = column
            done = set(having if column else group)
            waiting = [number for number in waiting if number not in done]
    for frame, roles in zip(frames, chosen, strict=True):
        roles["description"] = roles["description"] or _description(frame, roles)
    return [ColumnMapping(**roles) for roles in chosen]


def _description(frame: pd.DataFrame, chosen: Mapping[str, str | None]) -> str | None:
    """Return the column that describes each intent: one with a usual name, and with a single text for each intent."""
    intent = chosen["intent"]
    for column in frame.columns:
        if not (intent and folded_name(column) in DESCRIPTION_NAMES and _is_free(column, frame, chosen)):
            continue
        pairs = frame[[intent, column]].astype("str").apply(stripped)
        pairs = pairs[(pairs != "").all(axis=1)]
        intents = pairs.drop_duplicates()[intent]
        if len(pairs) > len(intents) and not intents.duplicated().any():
            return str(column)
    return None


def _usual_columns(frame: pd.DataFrame, fixed: ColumnMapping | None) -> dict[str, str | None]:
    """Return the column of each role that is known, or that has a usual name; one of objects has no role."""
    chosen: dict[str, str | None] = asdict(fixed or ColumnMapping())
    by_name: dict[str, str] = {}
    for column in frame.columns:
        by_name.setdefault(folded_name(column), column)
    for role, names in COLUMN_NAMES.items():
        usual = (by_name.get(folded_name(name)) for name in names.split())
        chosen[role] = chosen[role] or next(
            (name for name in usual if name and name not in chosen.values() and _may_have(role, frame[name])),
            None,
        )
    return chosen


def _is_free(column: str | None, frame: pd.DataFrame, chosen: Mapping[str, str | None]) -> bool:
    """Return whether a table has a column that has no role yet."""
    return column in frame.columns and column not in chosen.values()


def _may_have(role: str, column: pd.Series) -> bool:
    """Return whether a column may have a role by its name: one of objects none but that of intents with names."""
    content = Content(column.iloc[:: max(1, len(column) // _FEW_CELLS)].dropna().astype("str").tolist())
    return not (content.are_nameless if role == "intent" else content.are_mostly_objects)


class _Shared:
    """The contents of columns that several tables have; those asked for again are looked at once."""

    def __init__(self, frames: Sequence[pd.DataFrame]) -> None:
        self._frames = frames
        self._known: dict[tuple[str, tuple[int, ...]], Content] = {}

    def contents(
        self, group: Sequence[int], chosen: Sequence[Mapping[str, str | None]]
    ) -> dict[str, Content]:
        """Return the columns of a group of tables, by number, that have no role yet where they are."""
        numbers_by_column: dict[str, list[int]] = {}
        for number in group:
            for column in self._frames[number].columns:
                if _is_free(column, self._frames[number], chosen[number]):
                    numbers_by_column.setdefault(column, []).append(number)
        return {
            column: self._content(column, tuple(numbers)) for column, numbers in numbers_by_column.items()
        }

    def _content(self, column: str, numbers: tuple[int, ...]) -> Content:
        if (column, numbers) not in self._known:
            cells = [self._frames[number][column].tolist() for number in numbers]
            self._known[column, numbers] = Content(list(chain.from_iterable(cells)))
        return self._known[column, numbers]


def _connected(numbers: Sequence[int], frames: Sequence[pd.DataFrame]) -> list[int]:
    """Return the first of some tables and those that share a column with it, directly or through others.

    Columns without names are shared by tables with as many.
    """
    first, *rest = numbers
    group, columns = [first], set(_linking(frames[first]))
    size = 0
    while len(group) > size:
        size = len(group)
        joined = {number for number in rest if not columns.isdisjoint(_linking(frames[number]))}
        group += joined
        columns.update(*(_linking(frames[number]) for number in joined))
        rest = [number for number in rest if number not in joined]
    return sorted(group)


def _linking(frame: pd.DataFrame) -> list[object]:
    named = [column for column in frame.columns if not is_numbered(column)]
    return [*named] or [tuple(frame.columns)]


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
        if column
        and column != getattr(fixed, role, None)
        and role not in (role_of_name(column), "description")  # which its cells showed to be one
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
        if role_in_name(column) == "intent" and content.named.may_be_labels
    ]
    return max(named, key=lambda column: contents[column].are_plain_labels, default=None)


def _intent_by_content(contents: _Contents) -> str | None:
    """Return the column of repeated values, rather words than numbers, and rather many than few."""
    usable = [
        column
        for column, content in contents.items()
        if content.are_labels
        and not content.are_objects
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
    # Objects that name an intent, or what annotators say, are the last resort.
    objects = [
        column for column, content in contents.items() if content.are_objects and content.named.are_labels
    ]
    return next((columns[0] for columns in (single, objects) if len(columns) == 1), None)


def _language_by_content(contents: _Contents) -> str | None:
    return next((column for column, content in contents.items() if _states_languages(column, content)), None)


def _states_languages(column: str, content: Content) -> bool:
    is_open = not words_of_name(column) or is_numbered(column) or role_in_name(column) == "language"
    return content.are_languages and (is_open or not content.are_codes_of_places)


def _split_by_content(contents: _Contents) -> str | None:
    return next((column for column, content in contents.items() if content.are_splits), None)


_FEW_CELLS = 100  # which show whether a column holds objects
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
    reading: Reading = AS_GUESSED,
) -> pd.DataFrame:
    """Return the six columns of LABELLED_COLUMNS, and description if there is one, with every row in the table's order.

    Languages become codes, and splits train, dev or test, where they are known; a list of one intent becomes that one.
    Missing values are "".

    Args:
        frame: a table as read.
        mapping: the column of each role.
        language: the code of the language of rows for which no column states one.
        name: the file's name, for messages.
        required: roles that need a column; a language may also be given.
        reading: which words stand for missing values; its mapping and language are those that are given here.

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
        of_objects = [column for column in columns if role_of_name(column) == missing[0]]
        what = f"no column '{missing[0]}'; found: {listed_names(columns)}"
        if of_objects:
            what = f"column '{shown(of_objects[0])}' holds objects, which name no {missing[0]}"
        raise DataError(
            f"{shown(name)}: {what}. Name the column of ",
            "sentences (" if missing[0] == "text" else "intents (",
            Fix(f"{missing[0]}_column"),
            ")",
        )
    table = pd.DataFrame("", index=range(len(frame)), columns=list(LABELLED_COLUMNS), dtype="str")
    for role in (*LABELLED_COLUMNS, "description"):
        if column := used[role]:
            values = frame[column].reset_index(drop=True).astype("str").fillna("")
            values = stripped(values) if reading.missing else values
            table[role] = without_missing(values, role, reading.missing, reading.named_intents)
    if language:
        table["language"] = table["language"].replace("", language)
    elif mapping.language is None and "language" in required:
        raise unstated_language(name)
    table["intent"], _ = single_intents(table["intent"])
    table["language"] = language_codes(table["language"])
    table["split"] = split_codes(table["split"])
    return table
