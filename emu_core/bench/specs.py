"""Specifications of a report's tables, and the one engine that makes a table of one and the tidy results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import partial
from typing import Any, Self

from emu_core.bench.paper import paper_figure, paper_numbers, paper_words, printed
from emu_core.bench.results import COSTS, OverSeeds, Results, Score
from emu_core.bench.tables import Row, RowData, Table, Warned, warnings_of

Address = Mapping[str, Any]  # arguments of `Results.score`
Figures = Mapping[str, Any]  # of a line, by column
Verdict = Callable[[Mapping[str, Figures]], tuple[str, ...]]  # sentences, from the figures of each line
MISSING = "–"
MEMORY_NOTE = (
    "Peak memory is the largest resident memory of the cell's process, sampled every 20 ms from its start until the "
    "test sentences are measured. It includes Python and its libraries, the encoder's weights, training and encoding."
)


@dataclass(frozen=True)
class Column:
    """A column of a table: where its figures are, and how they are shown."""

    name: str  # of its figures in a line, and in JSON
    head: str = ""  # what stands above it; "" for the name
    shown: str | Callable[[Figures], str] = "{}"  # the format of a figure, or of the line's figures a text
    at: Address = field(default_factory=dict)  # its part of a figure's address
    paper: str = ""  # the column of the paper's table; "" for the name


@dataclass(frozen=True)
class Line:
    """A row of a table: its labels, and its figures or where they are."""

    labels: tuple[str, ...]  # its first cells
    key: str = ""  # its name in JSON; "" if it is not in it
    at: Address = field(default_factory=dict)  # its part of a figure's address, which wins over the column's
    figures: Figures = field(default_factory=dict)  # those that are not looked up
    shown: Mapping[str, str] = field(default_factory=dict)  # cells that are not made of figures, by column
    paper: str = ""  # the row of the paper's table; "" if there is none
    reasons: tuple[str, ...] = ()  # why figures are missing, one sentence each, below the table
    missing: str = ""  # why there are none at all, in their place

    @classmethod
    def of(
        cls, key: str, label: str, row: OverSeeds, measure: Callable[[OverSeeds], Figures], **shown: str
    ) -> Self:
        """Return the line of a system: the figures that `measure` takes of its cells, or why there are none."""
        if not row.cells:
            return cls((label,), key, missing=row.reason)
        return cls((row.named(label),), key, figures=measure(row), shown=shown)


@dataclass(frozen=True)
class TableSpec:
    """A table: its columns, and what stands around them.

    The title, and the notes by name, are in the words of the paper. Where its table has figures for a line and a
    column, they stand beside ours.
    """

    paper: str  # the package of its benchmark
    name: str  # of its CSV file
    heads: tuple[str, ...]  # above the labels
    columns: Sequence[Column]
    notes: tuple[str, ...] | None = None  # names of its notes; None for the one with the table's name
    printed: str = ""  # the paper's table; "" for the one with this name
    missing: str = MISSING  # the text of a cell without a figure
    measured_only: bool = False  # leave lines without figures out

    def table(
        self,
        lines: Sequence[Line],
        results: Results | None = None,
        *,
        verdict: Verdict = lambda _: (),
        warnings: tuple[Warned, ...] = (),
        more_notes: Sequence[str] = (),
        **values: object,
    ) -> Table:
        """Make the table of some lines; those with an address have the scores of the results that are there.

        `values` are filled into the title and the notes, after which `more_notes` stand.
        """
        words = paper_words(self.paper)
        # First the figures: ours, and the paper's, whose columns are left out where it has none.
        looked_up = (
            scores_at(results, self.columns, line.at) if results and line.at else {} for line in lines
        )
        ours = [(line, {**scores, **line.figures}) for line, scores in zip(lines, looked_up, strict=True)]
        ours = [(line, figures) for line, figures in ours if figures or not self.measured_only]
        theirs = [self._printed(line) for line, _ in ours]
        beside = [column.name for column in self.columns if any(row[column.name] for row in theirs)]
        # Then a row of cells for each line: its labels, our figures, and the paper's.
        rows = []
        for (line, figures), printed_figures in zip(ours, theirs, strict=True):
            texts = (self._text(column, line, figures) for column in self.columns)
            printed_texts = (printed_figures[name] for name in beside)
            cells = line.labels if line.missing else (*line.labels, *texts, *printed_texts)
            rows.append(Row(cells, line.key, line.missing))
        # At last the notes: why figures are missing, what the words say, and how wide the intervals are.
        reasons = dict.fromkeys(reason for line, _ in ours for reason in line.reasons)
        names = (self.name,) if self.notes is None else self.notes
        notes = (words["notes"][name].format(**values) for name in names)
        heads = (column.head or column.name for column in self.columns)
        return Table(
            self.name,
            words["titles"][self.name].format(**values),
            (*self.heads, *heads, *(f"paper: {name}" for name in beside)),
            tuple(rows),
            verdict({line.key: figures for line, figures in ours}),
            warnings,
            (*reasons, *notes, *more_notes, *_width([figures for _, figures in ours])),
            {line.key: _data(line, figures) for line, figures in ours if line.key},
        )

    def _printed(self, line: Line) -> dict[str, str]:
        printed = partial(paper_figure, self.paper, self.printed or self.name, line.paper)
        return {
            column.name: printed(column.paper or column.name) if line.paper else "" for column in self.columns
        }

    def _text(self, column: Column, line: Line, figures: Figures) -> str:
        if column.name in line.shown:
            return line.shown[column.name]
        if callable(column.shown):
            return column.shown(figures)
        figure = figures.get(column.name)
        return self.missing if figure is None else column.shown.format(figure)


def scores_at(results: Results, columns: Sequence[Column], at: Address) -> dict[str, Score]:
    """Return the scores of a line that were measured, by column; `at` is the line's part of their addresses."""
    scores = {column.name: results.score(**{**column.at, **at}) for column in columns}
    return {name: score for name, score in scores.items() if score is not None}


def _data(line: Line, figures: Figures) -> RowData:
    """Return a line's figures as plain values, for JSON."""
    if line.missing:
        return {"not_measured": line.missing}
    return {name: _plain(value) for name, value in figures.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Score):
        return value.facts()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _width(figures: Iterable[Figures]) -> tuple[str, ...]:
    """Return a note on the widest 95 % interval over the queries."""
    scores = [score for line in figures for score in line.values() if isinstance(score, Score)]
    width = max((s.high - s.low for s in scores if s.high is not None and s.low is not None), default=0.0) / 2
    if not width:
        return ()
    over_seeds = ", mean over seeds ± standard deviation" if max(s.seeds for s in scores) > 1 else ""
    return (
        f"Percent{over_seeds}. The 95 % intervals over the queries are in report.json; the widest reaches {width:.1f} "
        "points to either side.",
    )


COST_COLUMNS = (
    Column("seconds", "seconds of training", "{:.1f}"),
    Column("cpu_seconds", "CPU seconds", "{:.1f}"),
    Column("seconds_whole", "seconds in all", "{:.1f}"),
    Column("peak_mb", "peak MB", "{:.0f}"),
    Column("gpu_mb", "GPU MB", "{:.0f}"),
)


def costs_table(
    paper: str, results: Results, lines: Sequence[tuple[tuple[str, str], str, OverSeeds]]
) -> Table:
    """Make the table of time and memory, with the warnings of all cells.

    `lines` are the labels (the system, what it was trained on), key and cells of each row.
    """
    measured = []
    for labels, key, row in lines:
        if row.cells:
            costs = {name: row.mean(name) for name in COSTS}
            chosen = [cell.facts.get("selected_epoch") for cell in row.cells]
            figures = {**costs, **({"selected_epochs": chosen} if any(chosen) else {})}
            measured.append(Line(labels, key, figures=figures))
    warnings = warnings_of([(cell.label, OverSeeds((result,))) for cell, result in results.measured()])
    spec = TableSpec(paper, "costs", ("model", "trained on"), COST_COLUMNS)
    return spec.table(measured, warnings=warnings, more_notes=[MEMORY_NOTE])


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
        Row((*labels(row), *(printed(paper, table, value) or MISSING for value in values)))
        for row, values in table["rows"].items()
    ]
    title, file = f"The paper's {of}: {table['title']}{setup}", f"paper_{name.replace('.', '_')}"
    notes = tuple(text for name, text in paper_words(paper)["notes"].items() if name == file)
    return Table(file, title, (*heads, *table["columns"]), tuple(rows), notes=notes)
