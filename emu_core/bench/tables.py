"""Tables of a report: text for people, numbers for programs, and the scores that both are made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from emu_core.bench.costs import MEMORY_NOTE
from emu_core.bench.results import COSTS, OverSeeds, Results, Values
from emu_core.evaluation.significance import binomial_interval, mean_interval

NOT_MEASURED = "not measured"
LEVELS = (("***", 0.01), ("**", 0.05), ("*", 0.10))


@dataclass(frozen=True)
class Row:
    """A row of a table."""

    cells: tuple[str, ...]  # as people read them; of a row without numbers its label alone
    key: str = ""  # the name of its numbers in the table's data; "" where it has none
    missing: str = ""  # why nothing was measured; "" where something was

    def texts(self, width: int) -> tuple[str, ...]:
        """Return the texts of a row as wide as the table, the reason included."""
        told = (*self.cells, f"{NOT_MEASURED}: {self.missing}") if self.missing else self.cells
        return (*told, *[""] * (width - len(told)))


@dataclass(frozen=True)
class Warned:
    """A warning of training."""

    system: str  # what was trained
    text: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{self.system} warned: {self.text}."


@dataclass(frozen=True)
class Table:
    """A table."""

    name: str  # of its CSV file, such as "table2"
    title: str
    head: tuple[str, ...]  # the columns' names
    rows: tuple[Row, ...]
    verdict: tuple[str, ...] = ()  # what it shows, a sentence each
    warnings: tuple[Warned, ...] = ()
    notes: tuple[str, ...] = ()  # how to read it, a sentence or more each
    data: dict[str, Any] = field(default_factory=dict)  # its numbers, unrounded, by row

    @property
    def texts(self) -> list[tuple[str, ...]]:
        """The texts of all rows, all as wide as the head."""
        return [row.texts(len(self.head)) for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        """Return all but the numbers as plain values."""
        return {
            **{name: getattr(self, name) for name in ("name", "title", "head", "verdict", "notes")},
            "rows": self.texts,
            "keys": [row.key for row in self.rows],
            "missing": [row.missing for row in self.rows],
            "warnings": [asdict(warning) for warning in self.warnings],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any], data: Mapping[str, Any]) -> Self:
        """Read what `to_json` made; a report of an earlier version knows no keys.

        Raises:
            KeyError, TypeError: it is something else.
        """
        blank = [""] * len(values["rows"])
        whole = zip(values["rows"], values.get("keys", blank), values.get("missing", blank), strict=True)
        texts: dict[str, Any] = {name: tuple(map(str, values[name])) for name in ("head", "verdict", "notes")}
        return cls(
            name=str(values["name"]),
            title=str(values["title"]),
            rows=tuple(
                Row(tuple(map(str, cells[:1] if missing else cells)), str(key), str(missing))
                for cells, key, missing in whole
            ),
            warnings=tuple(Warned(**warning) for warning in values.get("warnings", ())),
            data=dict(data),
            **texts,
        )


@dataclass(frozen=True)
class Score:
    """A measure over seeds.

    The 95 % interval is over the queries, each one's mean over seeds being one score; None where there are none.
    """

    mean: float
    deviation: float  # standard deviation over seeds; 0 for one
    low: float | None
    high: float | None
    seeds: int
    text: str  # as people read it

    @classmethod
    def of(cls, values: Values) -> Self:
        """Make a score in percent of (seeds, queries) values from 0 to 1."""
        means, interval = 100 * values.mean(axis=1), mean_interval(values.mean(axis=0))
        spread_over = float(means.mean()), float(deviation(means))
        return cls(*spread_over, interval.low, interval.high, len(values), spread(means))

    @classmethod
    def of_numbers(cls, numbers: Sequence[float], times: float = 1, places: int = 1) -> Self | None:
        """Make a score of one number a seed; None where there is none.

        Args:
            numbers: as people read them.
            times: what they are multiplied by in JSON.
            places: of decimals that people read.
        """
        if not len(numbers):
            return None
        own = np.asarray(numbers, dtype=np.float64)
        means = own * times
        text = spread(own, places)
        return cls(float(means.mean()), float(deviation(means)), None, None, len(own), text)

    def facts(self) -> dict[str, Any]:
        """Return it as it stands in JSON."""
        return {name: value for name, value in asdict(self).items() if name != "text"}


def scored(values: Values | None) -> Score | None:
    """Return the score of (seeds, queries) values; None where there are none."""
    return None if values is None else Score.of(values)


def mean_score(scores: Sequence[Score | None]) -> float | None:
    """Return the mean of several scores; None where one is missing."""
    there = [score.mean for score in scores if score is not None]
    return sum(there) / len(there) if there and len(there) == len(scores) else None


def deviation(values: Values) -> Any:
    """Return the standard deviation over seeds (n - 1 below the line); 0 for a single one."""
    return values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def spread(values: Values, places: int = 1) -> str:
    """Return the mean over seeds, with the standard deviation where there are several."""
    shown = f"{values.mean():.{places}f}"
    return shown + (f" ±{float(deviation(values)):.{places}f}" if len(values) > 1 else "")


def level_above(accuracy: float, base_correct: int, queries: int) -> float | None:
    """Return the level at which an accuracy lies above the base's binomial interval; None where at none.

    Args:
        accuracy: of the method, in percent; a mean over seeds counts as one accuracy.
        base_correct: queries that the base encoder has right.
        queries: how many there are.
    """
    above = (
        level for _, level in LEVELS if accuracy > binomial_interval(base_correct, queries, 1 - level).high
    )
    return next(above, None)


def level_of(p_value: float) -> float | None:
    """Return the smallest of the levels that a p-value is below; None where it is below none."""
    return next((level for _, level in LEVELS if p_value < level), None)


def stars(level: float | None) -> str:
    """Return the marks of a level: "***", "**", "*" or ""."""
    return next((marks for marks, own in LEVELS if own == level), "")


@dataclass(frozen=True)
class Line:
    """A row of a grid."""

    labels: tuple[str, ...]  # its first cells
    key: str  # its name in JSON
    scores: Mapping[str, Score | None]  # by column; None, or no entry, where nothing was measured
    paper: str = ""  # the name of the paper's row beside it; "" where it has none
    reasons: tuple[str, ...] = ()  # why something is missing, a sentence each

    @property
    def measured(self) -> dict[str, Score]:
        """The scores that were measured."""
        return {column: score for column, score in self.scores.items() if score is not None}


def grid(
    name: str,
    title: str,
    heads: tuple[str, ...],
    columns: Sequence[str] | Mapping[str, str],
    lines: Sequence[Line],
    *,
    printed: Callable[[str, str], str] = lambda row, column: "",
    verdict: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    missing: str = "–",
) -> Table:
    """Make a table of one shape: a row a system, a column a measure, the paper's figures beside ours.

    `heads` are over the labels; `columns` ours, or what people read by column. `printed` gives the paper's figure of a
    row, by the paper's name of it, and a column, "" where it has none; columns with such figures come once more after
    ours. `missing` is the text of a cell that was not measured; for the other arguments see `Table`.
    """
    figures = {line.key: {c: printed(line.paper, c) for c in columns} for line in lines if line.paper}
    beside = [column for column in columns if any(own[column] for own in figures.values())]
    measured = {line.key: line.measured for line in lines}
    rows = []
    for line in lines:
        own, paper = measured[line.key], figures.get(line.key, {})
        texts = (own[column].text if column in own else missing for column in columns)
        rows.append(Row((*line.labels, *texts, *(paper.get(column, "") for column in beside)), line.key))
    reasons = dict.fromkeys(reason for line in lines for reason in line.reasons)
    shown = columns.values() if isinstance(columns, Mapping) else columns
    return Table(
        name,
        title,
        (*heads, *shown, *(f"paper: {column}" for column in beside)),
        tuple(rows),
        verdict,
        notes=(*reasons, *notes, *_width([score for own in measured.values() for score in own.values()])),
        data={key: {column: score.facts() for column, score in own.items()} for key, own in measured.items()},
    )


def system_table(
    name: str,
    title: str,
    head: tuple[str, ...],
    systems: Iterable[tuple[str, str, OverSeeds]],
    show: Callable[[str, OverSeeds], tuple[tuple[str, ...], Any]],
    **others: Any,
) -> Table:
    """Make a table of a row a system: its own texts, or why it was not measured.

    `systems` are key, label and cells of each row; `show` gives the texts after the label and the data of one that was
    measured; for the other arguments see `Table`.
    """
    rows, data = list[Row](), dict[str, Any]()
    for key, label, row in systems:
        if row.cells:
            texts, data[key] = show(key, row)
            rows.append(Row((row.named(label), *texts), key))
        else:
            data[key] = {"not_measured": row.reason}
            rows.append(Row((label,), key, row.reason))
    return Table(name, title, head, tuple(rows), data=data, **others)


def _width(scores: Sequence[Score]) -> tuple[str, ...]:
    """Return how far the 95 % intervals over the queries reach, at most."""
    most = max((s.high - s.low for s in scores if s.high is not None and s.low is not None), default=0.0) / 2
    if not most:
        return ()
    over_seeds = ", mean over seeds ± standard deviation" if max(s.seeds for s in scores) > 1 else ""
    return (
        f"Percent{over_seeds}. The 95 % intervals over the queries are in report.json; the widest reaches {most:.1f} "
        "points to either side.",
    )


def warnings_of(trained: Sequence[tuple[str, OverSeeds]]) -> tuple[Warned, ...]:
    """Return what the training of each system warned of, by its label, each warning once."""
    told = (
        Warned(label, text)
        for label, row in trained
        for cell in row.cells
        for text in cell.facts.get("warnings", ())
    )
    return tuple(dict.fromkeys(told))


def costs_table(
    results: Results, lines: Sequence[tuple[tuple[str, str], str, OverSeeds]], note: str
) -> Table:
    """Make the table of time and memory.

    Args:
        results: all cells, whose warnings stand below.
        lines: labels (the system, what it was trained on), key and cells of each row.
        note: how seconds are counted.
    """
    rows, data = [], dict[str, Any]()
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


def why_missing(labels: Sequence[str], row: OverSeeds) -> tuple[str, ...]:
    """Return the sentence that says why cells of a row are missing; empty where none is."""
    if row.reason in ("", "not asked for"):
        return ()
    return (f"{', '.join(filter(None, labels))}, {NOT_MEASURED}: {row.reason}",)
