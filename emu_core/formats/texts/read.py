"""Training texts from files, or from tables that Python holds: what every kind of them has in common."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pandas as pd

from emu_core.data.languages import checked_language
from emu_core.data.texts.text import TrainingText
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError
from emu_core.formats.file_names import TEXT_LANGUAGE_ORDER, Statement, language_of_file
from emu_core.formats.in_memory import Expected, Sources, as_sources
from emu_core.formats.limits import check_rows
from emu_core.formats.source_files import SourceFile, unpacked
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.read import read_table

AnyText = TypeVar("AnyText", bound=TrainingText)


def read_training_texts(
    given: Sources,
    expected: Expected,
    read: Callable[[Path | SourceFile], Iterable[AnyText]],
    kind: str,
    may_be: Callable[[str], bool],
) -> list[AnyText]:
    """Read the texts of every file or table; folders and archives stand for files in them that `may_be` such, by name.

    Messages name the `kind` of text.

    Raises:
        DataError: there is no such file, one can't be read, or there are too many rows.
    """
    sources = as_sources(given, expected)
    with unpacked(sources) as unpacked_files:
        kept = [
            file.source
            for file in unpacked_files
            if file.is_named or isinstance(file.source, SourceFile) or may_be(file.source.name)
        ]
        if not kept:
            names = listed((source.name for source in sources), 4)
            raise DataError(f"no file of {kind} is in {names}; {expected.remedy}")
        texts = [text for source in kept for text in read(source)]
    check_rows(sum(map(len, texts)), f"the {kind} in all files together")
    return texts


def left_out_note(name: str, count: int, noun: str, reason: str) -> tuple[str, ...]:
    """Return a note that `count` examples of a file or table were left out; none for 0."""
    return (f"{shown(name)}: {counted(count, noun)} {reason} left out.",) if count else ()


def held_columns(
    table: SourceFile, names: Mapping[str, Sequence[str]], optional: Sequence[str] = ("language",)
) -> pd.DataFrame:
    """Return the columns of a table that Python holds by their roles, without those that are optional and not there.

    Args:
        table: is held.
        names: the names of each role's column in small letters, its usual one first.
        optional: roles that need no column.

    Raises:
        DataError: a role has no column.
    """
    if not isinstance(table.source, Cells):
        raise TypeError(f"{table.path} is a file")
    frame = read_table(table.source, table.path)
    known = {str(name).strip().casefold(): name for name in reversed(frame.columns)}
    columns = {
        role: next((known[name] for name in words if name in known), None) for role, words in names.items()
    }
    if missing := [
        names[role][0] for role, column in columns.items() if column is None and role not in optional
    ]:
        raise DataError(
            f"{shown(table.path)}: no column {listed(missing)}; found: {listed(frame.columns, 6)}. Rename one for each"
        )
    return pd.DataFrame({role: frame[name] for role, name in columns.items() if name is not None})


def parts_by_language(
    rows: pd.DataFrame, table: SourceFile, language: str | None, reader: str = ""
) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of a table that Python holds in each language, by its code.

    A column `language` is believed rather than `language`; the key of a `DatasetDict` may state one, too.

    Raises:
        DataError: a language is unknown, or rows state none; the message names the `reader` that takes one, if any.
    """
    given = None if language is None else checked_language(language)
    key = None if table.is_named else language_of_file(table.name)
    default = Statement(name=key).believed(given, TEXT_LANGUAGE_ORDER)[1] or ""
    languages = rows["language"].str.strip() if "language" in rows else pd.Series("", index=rows.index)
    code_by_name = {name: checked_language(name) if name else default for name in languages.unique()}
    if "" in code_by_name.values():
        named = f", or name it: emu_core.{reader}(..., language='en')" if reader else ""
        raise DataError(f"{shown(table.path)} does not say its language; add a column language{named}")
    return [(str(code), part) for code, part in rows.groupby(languages.map(code_by_name), sort=False)]
