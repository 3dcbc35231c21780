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
def paper_words(paper: str) -> dict[str, dict[str, str]]:
    """Return the labels, notes and differences of a paper's report, by name."""
    return tomllib.loads(_file(paper, "words.toml"))


def paper_figure(paper: str, table: str, row: str, column: str) -> str:
    """Return a figure as printed, such as "95.1" or "0.803 / 0.763" (dev / test); "" if the paper has none."""
    figures = paper_numbers(paper).get(table)
    if not figures or row not in figures["rows"] or column not in figures["columns"]:
        return ""
    return _printed(paper, figures, figures["rows"][row][figures["columns"].index(column)])


def paper_table(
    paper: str,
    name: str,
    heads: tuple[str, ...] = ("model",),
    labels: Callable[[str], tuple[str, ...]] = lambda row: (row,),
) -> Table:
    """Return a table such as "table2" or "section3.4" as printed; `labels` returns the cells of a row below `heads`."""
    numbers, of = paper_numbers(paper), name.replace("table", "Table ").replace("section", "section ")
    table, setup = numbers[name], paper_words(paper)["paper"]["setup"].format_map(numbers)
    rows = [
        Row((*labels(row), *(_printed(paper, table, value) or "–" for value in values)))
        for row, values in table["rows"].items()
    ]
    title, file = f"The paper's {of}: {table['title']}{setup}", f"paper_{name.replace('.', '_')}"
    notes = tuple(text for name, text in paper_words(paper)["notes"].items() if name == file)
    return Table(file, title, (*heads, *table["columns"]), tuple(rows), notes=notes)


def _printed(paper: str, table: Mapping[str, Any], value: float | list[float] | None) -> str:
    """Format a figure with the decimals of its table, and FMDA's fractions in percent."""
    if isinstance(value, list):
        return " / ".join(f"{number:.3f}" for number in value)
    shown: str = table.get("shown", "{:.1f}")
    return "" if value is None else shown.format(paper_numbers(paper).get("times", 1) * value)


@dataclass(frozen=True)
class GridLine:
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
    lines: Sequence[GridLine],
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
    # First the figures: what was measured, and what the paper prints, whose columns are left out where it has none.
    texts, printed = paper_words(paper), printed or partial(paper_figure, paper, name)
    measured = {line.key: line.measured for line in lines}
    figures = {
        line.key: {column: printed(line.paper, column) for column in columns} for line in lines if line.paper
    }
    paper_columns = [column for column in columns if any(row[column] for row in figures.values())]
    # Then a row of cells for each line: its labels, our scores, and the paper's figures.
    rows = []
    for line in lines:
        scores, paper_row = measured[line.key], figures.get(line.key, {})
        our_cells = (scores[column].text if column in scores else missing for column in columns)
        paper_cells = (paper_row.get(column, "") for column in paper_columns)
        rows.append(Row((*line.labels, *our_cells, *paper_cells), line.key))
    # At last the notes: why scores are missing, what the paper's words say, and how wide the intervals are.
    reasons = dict.fromkeys(reason for line in lines for reason in line.reasons)
    notes = (texts["notes"][name],) if notes is None else notes
    all_scores = [score for scores in measured.values() for score in scores.values()]
    our_heads = columns.values() if isinstance(columns, Mapping) else columns
    return Table(
        name,
        texts["titles"][name],
        (*heads, *our_heads, *(f"paper: {column}" for column in paper_columns)),
        tuple(rows),
        verdict,
        notes=(*reasons, *notes, *_width(all_scores)),
        data={
            key: {column: score.facts() for column, score in scores.items()}
            for key, scores in measured.items()
        },
    )


def _width(scores: Sequence[Score]) -> tuple[str, ...]:
    """Return a note on the widest 95 % interval over the queries."""
    width = max((s.high - s.low for s in scores if s.high is not None and s.low is not None), default=0.0) / 2
    if not width:
        return ()
    over_seeds = ", mean over seeds ± standard deviation" if max(s.seeds for s in scores) > 1 else ""
    return (
        f"Percent{over_seeds}. The 95 % intervals over the queries are in report.json; the widest reaches {width:.1f} "
        "points to either side.",
    )


def differences(
    config: RunConfig, values: Mapping[str, Any], applies: Mapping[str, object]
) -> tuple[str, ...]:
    """Return what differs from a benchmark's paper, one sentence each, with `values` and the configuration filled in.

    A sentence is left out if `applies` is false for its name; one named "no_x" is also left out if it is true for "x".
    """
    applies = {**{f"no_{name}": not is_given for name, is_given in applies.items()}, **applies}
    paper = config.method.replace("-", "_")
    sentences, printed = paper_words(paper)["differences"].items(), paper_numbers(paper)
    filled = {f"paper_{name}": printed.get(name) for name in ("encoder", "data")}
    filled |= {"encoder": config.encoder, "data": config.data, **values}
    return tuple(sentence.format_map(filled) for name, sentence in sentences if applies.get(name, True))


def _file(paper: str, name: str) -> str:
    return (files("emu_core.bench") / paper / name).read_text("utf-8")
