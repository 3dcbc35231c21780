"""Tables of a report: text for people and numbers for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from emu_core.bench.results import OverSeeds
from emu_core.data.wording import TextTable

RowData = Mapping[str, Any]  # the numbers of a row, for JSON
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    cells: tuple[str, ...]  # as text; of a row without numbers, its label alone
    key: str = ""  # its key in the table's data; "" if it has no numbers
    missing: str = ""  # why nothing was measured; "" if something was

    @property
    def shown(self) -> tuple[str, ...]:
        """The cells, or the label and why nothing was measured."""
        return (*self.cells, f"{NOT_MEASURED}: {self.missing}") if self.missing else self.cells

    def texts(self, width: int) -> tuple[str, ...]:
        """Return the texts of all columns, the reason for missing numbers included."""
        return (*self.shown, *[""] * (width - len(self.shown)))


@dataclass(frozen=True)
class Warned:
    """A warning from training."""

    system: str
    text: str

    def __str__(self) -> str:
        return f"{self.system} warned: {self.text}."


@dataclass(frozen=True)
class Table:
    """A table."""

    name: str  # the name of its CSV file, such as "table2"
    title: str
    head: tuple[str, ...]  # column names
    rows: tuple[Row, ...]
    verdict: tuple[str, ...] = ()  # what it shows, one sentence each
    warnings: tuple[Warned, ...] = ()
    notes: tuple[str, ...] = ()  # how to read it
    data: Mapping[str, RowData] = field(default_factory=dict)  # its numbers, unrounded, by the row's key

    @property
    def text(self) -> TextTable:
        """The table as text."""
        return TextTable(self.head, [row.shown for row in self.rows])

    @property
    def sentences(self) -> tuple[str, ...]:
        """The warnings, and what the table shows."""
        return (*map(str, self.warnings), *self.verdict)

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The texts of all rows, each as wide as the head."""
        return [row.texts(len(self.head)) for row in self.rows]

    def to_json(self) -> dict[str, object]:
        """Return everything but the numbers as plain values."""
        return {
            **{name: getattr(self, name) for name in ("name", "title", "head", "verdict", "notes")},
            "rows": self.texts,
            "keys": [row.key for row in self.rows],
            "missing": [row.missing for row in self.rows],
            "warnings": [asdict(warning) for warning in self.warnings],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any], data: Mapping[str, Any]) -> Self:
        """Read the output of `to_json`. Raises KeyError or TypeError."""
        rows = zip(values["rows"], values["keys"], values["missing"], strict=True)
        texts: dict[str, tuple[str, ...]] = {
            name: tuple(map(str, values[name])) for name in ("head", "verdict", "notes")
        }
        return cls(
            name=str(values["name"]),
            title=str(values["title"]),
            rows=tuple(
                Row(tuple(map(str, cells[:1] if missing else cells)), str(key), str(missing))
                for cells, key, missing in rows
            ),
            warnings=tuple(Warned(**warning) for warning in values["warnings"]),
            data=dict(data),
            **texts,
        )


def warnings_of(trained: Sequence[tuple[str, OverSeeds]]) -> tuple[Warned, ...]:
    """Return the training warnings of labelled systems, each once."""
    warnings = (
        Warned(label, text)
        for label, row in trained
        for cell in row.cells
        for text in cell.facts.get("warnings", ())
    )
    return tuple(dict.fromkeys(warnings))


def why_missing(labels: Sequence[str], *rows: OverSeeds) -> tuple[str, ...]:
    """Return a sentence on why cells of a row are missing, the first reason of several; empty if none is."""
    reason = next((row.reason for row in rows if row.reason not in ("", "not asked for")), "")
    return (f"{', '.join(filter(None, labels))}, {NOT_MEASURED}: {reason}",) if reason else ()
