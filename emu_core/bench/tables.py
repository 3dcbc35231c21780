"""Tables of a report: text for people and numbers for programs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from emu_core.bench.results import COSTS, OverSeeds, Results
from emu_core.data.wording import TextTable

RowData = Mapping[str, Any]  # the numbers of a row, for JSON
Show = Callable[
    [str, OverSeeds], tuple[tuple[str, ...], RowData]
]  # the texts and the data of a row, by its key
NOT_MEASURED = "not measured"
MEMORY_NOTE = (
    "Peak memory is the largest resident memory of the cell's process, sampled every 20 ms from its start until the "
    "test sentences are measured. It includes Python and its libraries, the encoder's weights, training and encoding."
)


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


def system_table(
    name: str,
    title: str,
    head: tuple[str, ...],
    systems: Iterable[tuple[str, str, OverSeeds]],
    show: Show,
    **others: Any,
) -> Table:
    """Make a table with a row a system: its own texts, or why it was not measured.

    `systems` are the key, label and cells of each row; `show` returns the texts after the label and the data of a
    measured row; `others` are further arguments of `Table`.
    """
    rows, data = list[Row](), dict[str, RowData]()
    for key, label, row in systems:
        if row.cells:
            texts, data[key] = show(key, row)
            rows.append(Row((row.named(label), *texts), key))
        else:
            data[key] = {"not_measured": row.reason}
            rows.append(Row((label,), key, row.reason))
    return Table(name, title, head, tuple(rows), data=data, **others)


def warnings_of(trained: Sequence[tuple[str, OverSeeds]]) -> tuple[Warned, ...]:
    """Return the training warnings of labelled systems, each once."""
    warnings = (
        Warned(label, text)
        for label, row in trained
        for cell in row.cells
        for text in cell.facts.get("warnings", ())
    )
    return tuple(dict.fromkeys(warnings))


def costs_table(
    results: Results, lines: Sequence[tuple[tuple[str, str], str, OverSeeds]], note: str
) -> Table:
    """Make the table of time and memory, with the warnings of all cells.

    `lines` are the labels (the system, what it was trained on), key and cells of each row; `note` says how the seconds
    are measured.
    """
    rows, data = [], dict[str, RowData]()
    for labels, key, row in lines:
        if row.cells:
            costs = {name: row.mean(name) for name in COSTS}
            shown = (f"{value:.{0 if name.endswith('mb') else 1}f}" for name, value in costs.items())
            rows.append(Row((*labels, *shown), key))
            chosen = [cell.facts.get("selected_epoch") for cell in row.cells]
            data[key] = {**costs, **({"selected_epochs": chosen} if any(chosen) else {})}
    return Table(
        "costs",
        "Time and memory",
        ("model", "trained on", "seconds of training", "CPU seconds", "seconds in all", "peak MB", "GPU MB"),
        tuple(rows),
        warnings=warnings_of([(cell.label, OverSeeds((result,))) for cell, result in results.measured()]),
        notes=(note, MEMORY_NOTE),
        data=data,
    )


def why_missing(labels: Sequence[str], *rows: OverSeeds) -> tuple[str, ...]:
    """Return a sentence on why cells of a row are missing, the first reason of several; empty if none is."""
    reason = next((row.reason for row in rows if row.reason not in ("", "not asked for")), "")
    return (f"{', '.join(filter(None, labels))}, {NOT_MEASURED}: {reason}",) if reason else ()
