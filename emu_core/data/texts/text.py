"""One shape for every text that is learnt from: a table with a row for each sentence or pair, and facts about it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import pandas as pd


class Text:
    """Base of `ParallelText`, `Dialogues`, `RunningText` and `Nli`, which are frozen dataclasses.

    `to_frame()` and `facts()` together hold all of a text, and `from_frame` makes it of them again.

    Attributes:
        kind: the class's name in facts.
        columns: field with a value for each row -> its column; every other field is a fact.
        name: the name of the text.
        notes: anything odd about how it was read.
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
        """Return the kind and what is not in the rows, as JSON has it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        facts = {name: value for name, value in values.items() if name not in self.columns}
        return {
            "kind": self.kind,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()},
        }

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, facts: Mapping[str, Any]) -> Self:
        """Make the text of what `to_frame` and `facts` returned. Raises KeyError or DataError where that is none."""
        of_class = {field.name for field in fields(cls)} - set(cls.columns)  # type: ignore[arg-type]
        values = {name: facts[name] for name in of_class}
        return cls(
            **{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()},
            **cls._rows(frame),
        )

    @classmethod
    def _rows(cls, frame: pd.DataFrame) -> dict[str, Any]:
        """Return the fields that are in the frame's columns."""
        return {field: tuple(frame[column]) for field, column in cls.columns.items()}

    def sha256(self) -> str:
        """Return a hash of the rows and the languages, the same on every machine; name and notes don't count."""
        counted = {name: value for name, value in self.facts().items() if name not in ("name", "notes")}
        rows = self.to_frame().to_dict("list")
        return hashlib.sha256(json.dumps([counted, rows], sort_keys=True).encode()).hexdigest()
