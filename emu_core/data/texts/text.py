"""The base of every text that is learnt from: a table with a row for each sentence or pair, and facts about it."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import pandas as pd

from emu_core.data.collections.source_files import unpacked
from emu_core.data.readers.limits import check_rows, named_paths
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
    files: Sequence[str | Path],
    read: Callable[[Path], Iterable[AnyText]],
    kind: str,
    example: str,
    may_be: Callable[[str], bool],
) -> list[AnyText]:
    """Read the texts of every file; folders and zip archives stand for those in them that `may_be` such, by name.

    Messages name the `kind` of text, and what a file looks like, `example`.

    Raises:
        DataError: there is no such file, one can't be read, or there are too many rows.
    """
    paths = named_paths(files, f"no file of {kind} is named; name one {example}")
    with unpacked(paths) as unpacked_files:
        files_of_kind = (file.source for file in unpacked_files if file.is_named or may_be(file.source.name))
        kept = [path for path in files_of_kind if isinstance(path, Path)]
        if not kept:
            names = listed((path.name for path in paths), 4)
            raise DataError(f"no file of {kind} is in {names}; name one {example}")
        texts = [text for path in kept for text in read(path)]
    check_rows(sum(map(len, texts)), f"the {kind} in all files together")
    return texts


def left_out_note(path: Path, count: int, noun: str, reason: str) -> tuple[str, ...]:
    """Return a note that `count` examples were left out; none for 0."""
    return (f"{shown(path.name)}: {counted(count, noun)} {reason} left out.",) if count else ()
