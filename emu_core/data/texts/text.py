"""The base of every text that is learnt from: a table with a row for each sentence or pair, and facts about it."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import pandas as pd

from emu_core.data.collections.in_memory import Expected, Sources, as_sources
from emu_core.data.collections.source_files import SourceFile, unpacked
from emu_core.data.file_names import language_of_file
from emu_core.data.languages import checked_language
from emu_core.data.readers.cells import Cells
from emu_core.data.readers.limits import check_rows
from emu_core.data.readers.tables import read_table
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError


class TrainingText:
    """Base of `ParallelText`, `Dialogues`, `RunningText` and `Nli`, which are frozen dataclasses.

    `to_frame()` and `facts()` together hold the whole text; `from_frame` restores it.

    Attributes:
        kind: the class's name in facts.
        columns: field with a value for each row -> its column; every other field is a fact.
        name: the name of the text.
        notes: anything unusual about how it was read.
    """

    kind: ClassVar[str]
    columns: ClassVar[Mapping[str, str]]
    name: str
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of examples: sentence pairs, comments with a response, ..."""
        return len(getattr(self, next(iter(self.columns))))

    def to_frame(self) -> pd.DataFrame:
        """Return the text's rows."""
        return pd.DataFrame({column: getattr(self, field) for field, column in self.columns.items()})

    def facts(self) -> dict[str, Any]:
        """Return the kind and the fields that are not in the rows, in JSON's types."""
        facts = {name: getattr(self, name) for name in self._fact_names()}
        lists = {name: list(value) for name, value in facts.items() if isinstance(value, tuple)}
        return {"kind": self.kind, **facts, **lists}

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, facts: Mapping[str, Any]) -> Self:
        """Restore a text from `to_frame` and `facts`. Raises KeyError or DataError if they are not a text's."""
        values = {name: facts[name] for name in cls._fact_names()}
        tuples = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **tuples}, **cls._rows(frame))

    @classmethod
    def _fact_names(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name not in cls.columns]  # type: ignore[arg-type]

    @classmethod
    def _rows(cls, frame: pd.DataFrame) -> dict[str, Any]:
        """Return the fields that are in the frame's columns."""
        return {field: tuple(frame[column]) for field, column in cls.columns.items()}

    def sha256(self) -> str:
        """Return a hash of the rows and the languages, without name and notes; the same on every machine."""
        hashed = {name: value for name, value in self.facts().items() if name not in ("name", "notes")}
        rows = self.to_frame().to_dict("list")
        return hashlib.sha256(json.dumps([hashed, rows], sort_keys=True).encode()).hexdigest()


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
    stated = language_of_file(table.name) if language is None and not table.is_named else language
    default = "" if stated is None else checked_language(stated)
    languages = rows["language"].str.strip() if "language" in rows else pd.Series("", index=rows.index)
    code_by_name = {name: checked_language(name) if name else default for name in languages.unique()}
    if "" in code_by_name.values():
        named = f", or name it: emu_core.{reader}(..., language='en')" if reader else ""
        raise DataError(f"{shown(table.path)} does not say its language; add a column language{named}")
    return [(str(code), part) for code, part in rows.groupby(languages.map(code_by_name), sort=False)]
