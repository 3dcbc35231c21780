"""The papers' printed figures (paper.json) beside ours, and the texts of their reports (words.toml)."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

from emu_core.bench.results import Score
from emu_core.bench.tables import Row, Table
from emu_core.runs.config import RunConfig


@cache
def paper_numbers(paper: str) -> dict[str, Any]:
    """Return the figures of a paper by table; `paper` is the package of its benchmark."""
    return json.loads(_file(paper, "paper.json"))


@cache
def words(paper: str) -> dict[str, dict[str, str]]:
    """Return the labels, notes and differences of a paper's report, by name."""
    return tomllib.loads(_file(paper, "words.toml"))


def paper_figure(paper: str, table: str, row: str, column: str) -> str:
    """Return a figure as printed, such as "95.1" or "0.803 / 0.763" (dev / test); "" if the paper has none."""
    found = paper_numbers(paper).get(table)
    if not found or row not in found["rows"] or column not in found["columns"]:
        return ""
    return _printed(paper, found, found["rows"][row][found["columns"].index(column)])


def paper_table(
    paper: str,
    name: str,
    heads: tuple[str, ...] = ("model",),
    labels: Callable[[str], tuple[str, ...]] = lambda row: (row,),
) -> Table:
    """Return a table such as "table2" or "section3.4" as printed; `labels` returns the cells of a row below `heads`."""
    numbers, of = paper_numbers(paper), name.replace("table", "Table ").replace("section", "section ")
    table, setup = numbers[name], words(paper)["paper"]["setup"].format_map(numbers)
    rows = [
        Row((*labels(row), *(_printed(paper, table, value) or "–" for value in values)))
        for row, values in table["rows"].items()
    ]
    title, file = f"The paper's {of}: {table['title']}{setup}", f"paper_{name.replace('.', '_')}"
    notes = tuple(text for name, text in words(paper)["notes"].items() if name == file)
    return Table(file, title, (*heads, *table["columns"]), tuple(rows), notes=notes)


def _printed(paper: str, table: Mapping[str, Any], value: float | list[float] | None) -> str:
    """Format a figure with the decimals of its table, and FMDA's fractions in percent."""
    if isinstance(value, list):
        return " / ".join(f"{one:.3f}" for one in value)
    shown: str = table.get("shown", "{:.1f}")
    return "" if value is None else shown.format(paper_numbers(paper).get("times", 1) * value)


@dataclass(frozen=True)
class Line:
    """A row of a grid."""

    labels: tuple[str, ...]  # its first cells
    key: str  # its name in JSON
    scores: Mapping[str, Score | None]  # by column; None, or no entry, if not measured
    paper: str = ""  # the corresponding row of the paper; "" if there is none
    reasons: tuple[str, ...] = ()  # why scores are missing, one sentence each

    @property
    def measured(self) -> dict[str, Score]:
        """The scores that were measured."""
        return {column: score for column, score in self.scores.items() if score is not None}


def grid(
    paper: str,
    name: str,
    heads: tuple[str, ...],
    columns: Sequence[str] | Mapping[str, str],
    lines: Sequence[Line],
    *,
    printed: Callable[[str, str], str] | None = None,
    verdict: tuple[str, ...] = (),
    notes: Sequence[str] | None = None,
    missing: str = "–",
) -> Table:
    """Make a table with a row a system and a column a measure, followed by the paper's own figures.

    The paper's words have its title and its note; `notes` stand instead of the latter. `heads` are the heads of the
    labels, `columns` the measures, or their heads by measure. `printed` returns the paper's figure for a row and a
    column, "" if it has none; None takes its table of that name. `missing` is the text of a cell that was not measured.
    """
    texts, printed = words(paper), printed or partial(paper_figure, paper, name)
    figures = {line.key: {c: printed(line.paper, c) for c in columns} for line in lines if line.paper}
    beside = [column for column in columns if any(own[column] for own in figures.values())]
    measured = {line.key: line.measured for line in lines}
    rows = []
    for line in lines:
        own, theirs = measured[line.key], figures.get(line.key, {})
        ours = (own[column].text if column in own else missing for column in columns)
        rows.append(Row((*line.labels, *ours, *(theirs.get(column, "") for column in beside)), line.key))
    reasons = dict.fromkeys(reason for line in lines for reason in line.reasons)
    shown = columns.values() if isinstance(columns, Mapping) else columns
    notes = (texts["notes"][name],) if notes is None else notes
    return Table(
        name,
        texts["titles"][name],
        (*heads, *shown, *(f"paper: {column}" for column in beside)),
        tuple(rows),
        verdict,
        notes=(*reasons, *notes, *_width([score for own in measured.values() for score in own.values()])),
        data={key: {column: score.facts() for column, score in own.items()} for key, own in measured.items()},
    )


def _width(scores: Sequence[Score]) -> tuple[str, ...]:
    """Return a note on the widest 95 % interval over the queries."""
    most = max((s.high - s.low for s in scores if s.high is not None and s.low is not None), default=0.0) / 2
    if not most:
        return ()
    over_seeds = ", mean over seeds ± standard deviation" if max(s.seeds for s in scores) > 1 else ""
    return (
        f"Percent{over_seeds}. The 95 % intervals over the queries are in report.json; the widest reaches {most:.1f} "
        "points to either side.",
    )


def differences(
    config: RunConfig, values: Mapping[str, Any], applies: Mapping[str, object]
) -> tuple[str, ...]:
    """Return what differs from a benchmark's paper, one sentence each, with `values` and the configuration filled in.

    A sentence is left out if `applies` is false for its name; one named "no_x" is also left out if it is true for "x".
    """
    applies = {**{f"no_{name}": not there for name, there in applies.items()}, **applies}
    paper = config.method.replace("-", "_")
    sentences, printed = words(paper)["differences"].items(), paper_numbers(paper)
    filled = {f"paper_{name}": printed.get(name) for name in ("encoder", "data")}
    filled |= {"encoder": config.encoder, "data": config.data, **values}
    return tuple(sentence.format_map(filled) for name, sentence in sentences if applies.get(name, True))


def _file(paper: str, name: str) -> str:
    return (files("emu_core.bench") / paper / name).read_text("utf-8")
