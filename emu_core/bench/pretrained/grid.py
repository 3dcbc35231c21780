"""Tables of one shape: a row a system, a column a measure, the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emu_core.bench.score import Score
from emu_core.bench.table import Table

MISSING = "–"


@dataclass(frozen=True)
class Line:
    """A row.

    Attributes:
        labels: its first cells.
        key: its name in JSON.
        scores: by column; a column that is not there was not measured.
        paper: the paper's figures, by column.
        texts: what a cell says in place of the score's own text, by column.
        reason: why something is missing; empty where nothing is.
    """

    labels: tuple[str, ...]
    key: str
    scores: Mapping[str, Score]
    paper: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


def grid(
    name: str,
    title: str,
    heads: tuple[str, ...],
    columns: Sequence[str],
    lines: Sequence[Line],
    *,
    verdict: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    queries: bool = False,
) -> Table:
    """Make a table.

    Args:
        name: of its file.
        title: above it.
        heads: over the labels.
        columns: ours; those that the paper has figures of come once more after them.
        lines: the rows.
        verdict: what it says.
        notes: how to read it.
        queries: whether scores have intervals over queries, whose width is then told.
    """
    printed = [column for column in columns if any(column in line.paper for line in lines)]
    rows, data = [], dict[str, Any]()
    for line in lines:
        own = [line.texts.get(c) or (line.scores[c].text if c in line.scores else MISSING) for c in columns]
        rows.append((*line.labels, *own, *(line.paper.get(column, "") for column in printed)))
        data[line.key] = {column: score.facts() for column, score in line.scores.items()}
    reasons = [
        f"{', '.join(filter(None, line.labels))}, not measured: {line.reason}"
        for line in lines
        if line.reason
    ]
    return Table(
        name,
        title,
        (*heads, *columns, *(f"paper: {column}" for column in printed)),
        tuple(rows),
        verdict,
        (*dict.fromkeys(reasons), *notes, *(_width(lines) if queries else ())),
        data,
    )


def _width(lines: Sequence[Line]) -> tuple[str, ...]:
    """How far the 95 % intervals over the queries reach, at most."""
    every = [score for line in lines for score in line.scores.values()]
    most = max((s.high - s.low for s in every if s.high is not None and s.low is not None), default=0.0) / 2
    if not most:
        return ()
    return (
        f"Percent{', mean over seeds ± standard deviation' if max(s.seeds for s in every) > 1 else ''}. The 95 % "
        f"intervals over the queries are in report.json; the widest reaches {most:.1f} points to either side.",
    )
