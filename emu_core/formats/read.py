"""The door to all data: from what is named or held to its rows, and what was noticed on the way.

1. `in_memory.as_sources`: the paths and the tables of Python.
2. `source_files`: the files, of folders and archives those in them.
3. `source_tables.read_tables`: a table for each file or export, by the formats of `collections` and `tables`.
4. `tables.columns`: what each column is, and the six columns of labelled sentences.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas as pd

from emu_core.data.column_names import role_of_name
from emu_core.data.demo import DEMO, demo_paths
from emu_core.data.languages import checked_language, language_name
from emu_core.data.reading import AS_GUESSED, ColumnMapping, Reading, checked_reading
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError, Fix
from emu_core.formats.in_memory import LABELLED, Expected, Intents, Sources, as_sources
from emu_core.formats.source_files import SourceFile, source_files
from emu_core.formats.source_tables import SourceTable, is_json, read_tables, unread
from emu_core.formats.tables.columns import apply_columns, guess_columns, guess_columns_of, guess_notes


@dataclass(frozen=True, eq=False)
class Frame:
    """The rows of data.

    Attributes:
        rows: the columns of LABELLED_COLUMNS, row (from 1 in each file), source (the file's path) and, if a file has
            one, description.
        notes: what was noticed, for the audit: formats, files left out, guessed columns, languages.
        name: the name of the set that the files make.
    """

    rows: pd.DataFrame
    notes: tuple[str, ...]
    name: str = ""


def read(
    sources: Sources,
    expected: Expected = LABELLED,
    *,
    reading: Reading | None = None,
    required: Sequence[str] | None = None,
) -> Frame:
    """Read data of any kind.

    Args:
        sources: see `Sources`.
        expected: what is read of it, and what messages say can be given.
        reading: columns by name, of which the others are guessed; and the language of sentences of which nothing else
            states it, see `LANGUAGE_ORDER`.
        required: roles that need a column, by default those of `expected`.

    Raises:
        DataError: a file can't be read or mapped, or they hold too many rows together.
    """
    files, name = files_of(sources, expected)
    return read_files(files, expected, name, reading=reading, required=required)


def read_files(
    files: Sequence[SourceFile],
    expected: Expected = LABELLED,
    name: str = "",
    *,
    reading: Reading | None = None,
    required: Sequence[str] | None = None,
) -> Frame:
    """Read files that are opened already, such as uploads; see `read`."""
    reading = checked_reading(reading)
    mapping = reading.mapping
    wanted = {
        Intents.NEEDED: lambda tables: labelled_tables(tables, mapping),
        Intents.SOME: lambda tables: _with_sentences(tables, mapping),
        Intents.UNREAD: None,
    }
    plain = expected.intents is not Intents.NEEDED
    tables, notes = read_tables(files, plain=plain, wanted=wanted[expected.intents])
    fixed = [mapping] * len(tables)
    if expected.intents is Intents.SOME:
        fixed = [_known_in(table, tables, mapping) for table in tables]
    columns = guess_columns_of([table.frame for table in tables], fixed)
    if expected.intents is Intents.SOME:
        are_labelled = labelled_tables(tables, mapping)
        columns = [
            known if table in are_labelled else replace(known, intent=None)
            for table, known in zip(tables, columns, strict=True)
        ]
    if all(is_json(table) and not table.is_named for table in tables) and not any(
        known.text for known in columns
    ):
        raise unread(files)  # they are settings, as far as one can see
    guesses = map(guess_notes, columns, fixed, (table.path for table in tables))
    notes = (*notes, *chain.from_iterable(guesses))
    roles = expected.required if required is None else required
    rows, notes = rows_of_tables(tables, columns, reading, notes, required=roles)
    return Frame(rows, notes, name)


def _with_sentences(tables: Sequence[SourceTable], mapping: ColumnMapping | None) -> list[SourceTable]:
    """Return the tables that hold labelled sentences, or that have a column of sentences that isn't a guess."""
    are_labelled = labelled_tables(tables, mapping)
    return [table for table in tables if table in are_labelled or _has_usual_text(table, mapping)]


def _has_usual_text(table: SourceTable, mapping: ColumnMapping | None) -> bool:
    """Return whether a table has a column of sentences that isn't a guess."""
    text = guess_columns(table.frame, mapping).text
    return text is not None and (role_of_name(text) == "text" or text == getattr(mapping, "text", None))


def _known_in(
    table: SourceTable, tables: Sequence[SourceTable], mapping: ColumnMapping | None
) -> ColumnMapping | None:
    """Return a mapping without the columns that a table lacks, where another table has them."""
    if mapping is None:
        return None
    others = {column for other in tables for column in other.frame.columns} - set(table.frame.columns)
    return ColumnMapping(**{role: None if name in others else name for role, name in asdict(mapping).items()})


def files_of(sources: Sources, expected: Expected = LABELLED) -> tuple[list[SourceFile], str]:
    """Return the files that are named, and the name of the set that they make.

    Folders and zip archives stand for the files in them, and "demo" for the demo set.

    A table that Python holds is as a file.

    Raises:
        DataError: it is nothing that can be read, a file can't be opened, or the demo set is named beside files.
    """
    named = as_sources(sources, expected)
    is_demo = Path(DEMO) in named
    if is_demo and len(named) > 1:
        raise DataError("the demo set can't be joined with others; name it alone, or a file as ./demo")
    files = source_files(demo_paths() if is_demo else named)
    return files, DEMO if is_demo else _title(files, named)


def _title(files: Sequence[SourceFile], named: Sequence[Path | SourceFile]) -> str:
    """Return the name of a set: that of a folder, an archive or a `DatasetDict`, or else those of its files."""
    if len(files) > len(named):
        names = [source.name or str(source) for source in named]
    else:
        names = [file.name if file.is_named or not file.is_held else file.around for file in files]
    return listed(dict.fromkeys(names), 4)


def labelled_tables(tables: Sequence[SourceTable], mapping: ColumnMapping | None = None) -> list[SourceTable]:
    """Return the tables that hold labelled sentences.

    In a folder or an archive, a table without sentences or a column of intents is something else, such as a list of
    names, if another one has both; so is one whose columns are a guess, if those of another one are not.
    """
    guessed = guess_columns_of([table.frame for table in tables], [mapping] * len(tables))
    whole = [
        _has_texts(table, columns.intent) and _has_texts(table, columns.text)
        for table, columns in zip(tables, guessed, strict=True)
    ]
    if not any(whole):
        has_text = [bool(columns.text) for columns in guessed]
        likely = has_text if any(has_text) else [not is_json(table) for table in tables]
        kept = [table for table, is_kept in zip(tables, likely, strict=True) if table.is_named or is_kept]
        return kept or list(tables)
    sure = [
        is_whole and not guess_notes(columns, mapping, "")
        for is_whole, columns in zip(whole, guessed, strict=True)
    ]
    whole = sure if any(sure) else whole
    return [table for table, is_whole in zip(tables, whole, strict=True) if table.is_named or is_whole]


def _has_texts(table: SourceTable, column: str | None) -> bool:
    """Return whether a column is there and not blank."""
    return column in table.frame and bool((table.frame[column].str.strip() != "").any())


def rows_of_tables(
    tables: Sequence[SourceTable],
    mappings: Sequence[ColumnMapping],
    reading: Reading = AS_GUESSED,
    notes: Sequence[str] = (),
    *,
    required: Sequence[str] = ("text", "intent", "language"),
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows of tables in the six columns with row, source and, if any has one, description; and the notes.

    The notes are with those on languages.

    A language in a file's name is believed rather than that of the reading, which is that of the other files; the audit
    says where they differ.

    Args:
        tables: as `read_tables` returns them.
        mappings: the columns of each.
        reading: the language of sentences for which neither a column nor the name of their file states one, and which
            words stand for missing values.
        notes: what is known already.
        required: roles that need a column.

    Raises:
        DataError: see `apply_columns`.
    """
    sources = iter(_told_apart(tables))
    code = None if reading.language is None else checked_language(reading.language)
    parts = []
    for table, mapping in zip(tables, mappings, strict=True):
        stated = table.states.language(code)
        missing = [role for role in required if getattr(mapping, role) is None]
        if table.is_held and missing == ["language"] and stated is None:  # it has no file to name so
            raise DataError(
                f"{shown(table.path)} does not say its language; name it (",
                Fix("language", "en"),
                "), or add a column of languages, as emu_core.detect_languages returns them",
            )
        part = apply_columns(
            table.frame, mapping, language=stated, name=table.path, required=required, reading=reading
        )
        if mapping.split is None:
            part["split"] = table.states.split
        counts = [count for _, count in table.files]
        parts.append(
            part.assign(
                row=np.concatenate([np.arange(1, count + 1) for count in counts]),
                source=pd.Series(list(islice(sources, len(counts))), dtype="str").repeat(counts).to_numpy(),
            )
        )
    unstated = [table for table, mapping in zip(tables, mappings, strict=True) if mapping.language is None]
    rows = pd.concat(parts, ignore_index=True)
    if "description" in rows:  # of some tables
        rows["description"] = rows["description"].astype("str").fillna("")
    return rows, (*notes, *_language_notes(unstated, code))


def _told_apart(tables: Sequence[SourceTable]) -> list[str]:
    """Return a name for each file: its path, with the folder around it or a number where two have the same."""
    paths = Counter(path for table in tables for path, _ in table.files)
    names = [
        path if paths[path] == 1 else f"{table.around}/{path}".lstrip("/")
        for table in tables
        for path, _ in table.files
    ]
    counts, numbers = Counter(names), Counter[str]()
    numbers_by_file = [numbers.update([name]) or numbers[name] for name in names]
    return [
        name if counts[name] == 1 else f"{name} ({number})"
        for name, number in zip(names, numbers_by_file, strict=True)
    ]


def _language_notes(tables: Sequence[SourceTable], given: str | None) -> Iterator[str]:
    """Say where names of files contradict the language that was given, and where a folder alone states one."""
    believed = {table.path: table.states.believed(given) for table in tables}
    for code, paths in _by_language({path: code for path, (by, code) in believed.items() if by == "around"}):
        yield f"Read as {language_name(code)}, as the folder is named: {paths}."
    if given is None:
        return
    name = language_name(given)
    for code, paths in _by_language({table.path: table.states.by_names for table in tables}, given):
        yield f"Read as {language_name(code)}, as the names state, and not as {name}, which was given: {paths}."
    for code, paths in _by_language({table.path: table.states.doubtful for table in tables}, given):
        yield f"Read as {name}, though the names may mean {language_name(code)}: {paths}."


def _by_language(codes: Mapping[str, str | None], except_for: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield each language but one, with the paths of its files in words."""
    for code in dict.fromkeys(codes.values()):
        if code and code != except_for:
            yield code, listed((path for path, stated in codes.items() if stated == code), 4)
