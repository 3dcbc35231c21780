"""Tables of one shape: a row a system and embedding, a column a measure, the paper's figures beside ours."""

from collections.abc import Sequence
from typing import Any

from emu_core.bench.fmda.cells import LABELS, System, part_label
from emu_core.bench.fmda.columns import Column
from emu_core.bench.fmda.paper import paper_figure
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.score import Score
from emu_core.bench.table import NOT_MEASURED, Table
from emu_core.models.parts import Part

Line = tuple[System, Part]
MISSING = "not measured"
FIVE_LINES: tuple[Line, ...] = (
    (System.BASE, Part.CLS),
    (System.BASE, Part.MEAN),
    (System.BASELINE, Part.MEANING),
    (System.FMDA, Part.MEANING),
    (System.FMDA, Part.TEMPLATE),
    (System.FMDA, Part.RESIDUAL),
)


def grid(
    number: str,
    title: str,
    lines: Sequence[Line],
    columns: Sequence[Column],
    results: FmdaResults,
    *,
    verdict: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Table:
    """Make a table.

    Args:
        number: of the paper's table.
        title: after the number.
        lines: a row each.
        columns: ours; the paper's of the same name come after them.
        results: the finished cells.
        verdict: what it says.
        notes: how to read it.
    """
    names = [line_name(*line) for line in lines]
    printed = [c.name for c in columns if any(paper_figure(number, name, c.name) for name in names)]
    head = (
        "model",
        "embedding",
        *(column.name for column in columns),
        *(f"paper: {name}" for name in printed),
    )
    rows, data, reasons = [], dict[str, Any](), list[str]()
    every: list[Score] = []
    for name, (system, part) in zip(names, lines, strict=True):
        scores = [column.score(results, system, part) for column in columns]
        every += [score for score in scores if score is not None]
        data[name] = {
            column.name: score.facts()
            for column, score in zip(columns, scores, strict=True)
            if score is not None
        }
        rows.append(
            (
                LABELS[system],
                part_label(part),
                *(MISSING if score is None else score.text for score in scores),
                *(paper_figure(number, name, column) for column in printed),
            )
        )
        reasons += _missing(results, system, columns)
    return Table(
        f"table{number}",
        f"Table {number}: {title}",
        head,
        tuple(rows),
        verdict,
        (*dict.fromkeys(reasons), *notes, *_width(every)),
        data,
    )


def line_name(system: System, part: Part) -> str:
    """What a row is called in JSON and in the paper's file."""
    return f"{system} {part}"


def _missing(results: FmdaResults, system: System, columns: Sequence[Column]) -> list[str]:
    said = []
    for pair in dict.fromkeys(column.pair for column in columns):
        row = results.row(system, [pair])
        if row.reason:
            said.append(f"{LABELS[system]} on {'-'.join(pair)}, {NOT_MEASURED} {row.reason}")
        elif system is not System.BASE and len(row.cells) < len(results.seeds):
            said.append(
                f"{LABELS[system]} on {'-'.join(pair)}: {len(row.cells)} of {len(results.seeds)} seeds."
            )
    return said


def _width(scores: Sequence[Score]) -> tuple[str, ...]:
    """How far the 95 % intervals over the queries reach, at most."""
    most = max((s.high - s.low for s in scores if s.high is not None and s.low is not None), default=0.0) / 2
    if not most:
        return ()
    seeds = max(score.seeds for score in scores)
    return (
        f"Percent{', mean over seeds ± standard deviation' if seeds > 1 else ''}. The 95 % intervals over the queries "
        f"are in report.json; the widest reaches {most:.1f} points to either side.",
    )
