"""The door to all data: from what is named or held to its rows, and what was noticed on the way.

1. `in_memory.as_sources`: the paths and the tables of Python.
2. `source_files`: the files, of folders and archives those in them.
3. `source_tables.read_tables`: a table for each file or export, by the formats of `collections` and `tables`.
4. `tables.columns`: what each column is, and the six columns of labelled sentences.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, compress, islice
from pathlib import Path

import numpy as np
import pandas as pd

from emu_core.data.column_names import role_of_name
from emu_core.data.demo import DEMO, demo_paths
from emu_core.data.languages import checked_language, language_name
from emu_core.data.reading import ColumnMapping, Reading, checked_reading
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError, Fix
from emu_core.formats.in_memory import LABELLED, Expected, Intents, Sources, as_sources
from emu_core.formats.source_files import SourceFile, source_files
from emu_core.formats.source_tables import SourceTable, read_tables
from emu_core.formats.tables.columns import apply_columns, guess_columns, guess_notes


@dataclass(frozen=True, eq=False)
class Frame:
    """The rows of data.

    Attributes:
        rows: the columns of LABELLED_COLUMNS, row (from 1 in each file) and source (the file's path).
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
    tables: Sequence[SourceTable]
    tables, notes = read_tables(files, plain=expected.intents is not Intents.NEEDED)
    if expected.intents is Intents.NEEDED:
        tables, notes = data_tables(tables, notes, mapping)
    fixed = [mapping] * len(tables)
    are_labelled = tables
    if expected.intents is Intents.SOME:
        are_labelled, _ = data_tables(tables, (), mapping)
        tables = [table for table in tables if table in are_labelled or _has_usual_text(table, mapping)]
        fixed = [_known_in(table, tables, mapping) for table in tables]
    columns = [guess_columns(table.frame, known) for table, known in zip(tables, fixed, strict=True)]
    if expected.intents is Intents.SOME:
        columns = [
            known if table in are_labelled else replace(known, intent=None)
            for table, known in zip(tables, columns, strict=True)
        ]
    guesses = map(guess_notes, columns, fixed, (table.path for table in tables))
    notes = (*notes, *chain.from_iterable(guesses))
    roles = expected.required if required is None else required
    rows, notes = rows_of_tables(tables, columns, reading.language, notes, required=roles)
    return Frame(rows, notes, name)


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


def data_tables(
    tables: Sequence[SourceTable], notes: tuple[str, ...], mapping: ColumnMapping | None = None
) -> tuple[Sequence[SourceTable], tuple[str, ...]]:
    """Return the tables that hold labelled sentences, and the notes with those that were left out.

    In a folder or an archive, a table without a column of sentences or of intents is something else, such as a list of
    names, if another one has both; so is one whose columns are a guess, if those of another one are not.
    """
    guessed = [guess_columns(table.frame, mapping) for table in tables]
    whole = [bool(columns.text and columns.intent) for columns in guessed]
    if not any(whole):
        return tables, notes
    sure = [
        is_whole and not guess_notes(columns, mapping, "")
        for is_whole, columns in zip(whole, guessed, strict=True)
    ]
    whole = sure if any(sure) else whole
    kept = [table.is_named or is_whole for table, is_whole in zip(tables, whole, strict=True)]
    left = [table.path for table, is_kept in zip(tables, kept, strict=True) if not is_kept]
    note = f"Not read, since they lack a column of sentences or of intents: {listed(left, 6)}."
    return list(compress(tables, kept)), (*notes, note) if left else notes


def rows_of_tables(
    tables: Sequence[SourceTable],
    mappings: Sequence[ColumnMapping],
    language: str | None,
    notes: Sequence[str] = (),
    *,
    required: Sequence[str] = ("text", "intent", "language"),
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows of tables in the six columns with row and source, and the notes with those on languages.

    A language in a file's name is believed rather than `language`, which is that of the other files; the audit says
    where they differ.

    Args:
        tables: as `read_tables` returns them.
        mappings: the columns of each.
        language: the language of sentences for which neither a column nor the name of their file states one.
        notes: what is known already.
        required: roles that need a column.

    Raises:
        DataError: see `apply_columns`.
    """
    sources = iter(_told_apart(tables))
    code = None if language is None else checked_language(language)
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
        part = apply_columns(table.frame, mapping, language=stated, name=table.path, required=required)
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
    return pd.concat(parts, ignore_index=True), (*notes, *_language_notes(unstated, code))


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
