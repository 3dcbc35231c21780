"""The base of every text that is learnt from: a table with a row for each sentence or pair, and facts about it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import pandas as pd


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
