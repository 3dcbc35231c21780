"""The report of a benchmark: report.json, report.md, report.html, and a CSV file for each table."""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.bench.tables import Table
from emu_core.charts.report_figures import bars
from emu_core.data.export_csv import safe_csv
from emu_core.errors import RunError
from emu_core.files import write_json, write_whole

JSON, MARKDOWN, PAGE = "report.json", "report.md", "report.html"
_PARTS = ("title", "differences", "tables", "shown", "paper", "pictures", "picture_texts", "errors")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1400px; padding: 0 1rem; color: #222; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.words { text-align: left; }
svg { max-width: 100%; height: auto; }
p.note { color: #555; max-width: 75em; }
"""


@dataclass(frozen=True)
class Picture:
    """A picture."""

    name: str  # the stem of its file name
    title: str  # above it
    note: str  # below it
    svg: str  # an `<svg>` element


def bars_picture(
    table: str,
    title: str,
    note: str,
    scores: Mapping[str, Sequence[tuple[float, float]]],
    base: str,
    label: str,
) -> Picture:
    """Return a bar for each label that has means and deviations, with a line at the bar of `base`; each is averaged."""
    values = {
        name: tuple(sum(each) / len(own) for each in zip(*own, strict=True))
        for name, own in scores.items()
        if own
    }
    return Picture(f"figure_{table}", title, note, bars(values, values[base][0], label))


@dataclass(frozen=True)
class Report:
    """The findings of a benchmark."""

    title: str
    facts: Mapping[str, Any]  # what was run, by name
    differences: tuple[str, ...]  # what differs from the paper, one sentence each
    tables: tuple[Table, ...]  # ours
    pictures: tuple[Picture, ...]  # ours
    paper: tuple[Table, ...]  # the paper's own tables
    errors: Mapping[str, str] = field(default_factory=dict)  # why a cell was not measured
    folder: Path = field(default=Path())  # of its files

    def table(self, name: str) -> Table:
        """Return the table of that name. Raises KeyError if there is none."""
        return {table.name: table for table in (*self.tables, *self.paper)}[name]

    @property
    def files(self) -> list[str]:
        """The names of the report's files, except the pictures."""
        return [PAGE, MARKDOWN, JSON, *(f"{table.name}.csv" for table in (*self.tables, *self.paper))]

    @property
    def shown(self) -> tuple[Table | Picture, ...]:
        """Tables and pictures in the order of the page."""
        return (*self.tables, *self.pictures, *self.paper)

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with unrounded numbers."""
        return {
            "title": self.title,
            **self.facts,
            "differences": list(self.differences),
            "tables": {table.name: table.data for table in self.tables},
            "shown": {table.name: table.to_json() for table in (*self.tables, *self.paper)},
            "pictures": [picture.name for picture in self.pictures],
            "picture_texts": {one.name: {"title": one.title, "note": one.note} for one in self.pictures},
            "errors": dict(self.errors),
        }

    def write(self) -> None:
        """Write every file, each atomically."""
        write_json(self.folder / JSON, self.to_json())
        for table in (*self.tables, *self.paper):
            frame = pd.DataFrame(table.texts, columns=list(table.head))
            write_whole(self.folder / f"{table.name}.csv", safe_csv(frame))
        for picture in self.pictures:
            write_whole(self.folder / f"{picture.name}.svg", picture.svg)
        write_whole(self.folder / MARKDOWN, as_markdown(self).encode("utf-8", "replace"))
        write_whole(self.folder / PAGE, as_html(self).encode("utf-8", "replace"))


def load_report(folder: Path) -> Report:
    """Read the report in a benchmark's folder. Raises RunError if there is none, or it is damaged."""
    try:
        values = json.loads((folder / JSON).read_text("utf-8"))
        data, texts = values["tables"], values["picture_texts"]
        tables = [Table.from_json(shown, data.get(name) or {}) for name, shown in values["shown"].items()]
        if any(Path(name).name != name for name in (*values["shown"], *values["pictures"])):
            raise ValueError("a file's name leads out of the folder")
        return Report(
            title=str(values["title"]),
            facts={name: value for name, value in values.items() if name not in _PARTS},
            differences=tuple(map(str, values["differences"])),
            tables=tuple(table for table in tables if table.name in data),
            pictures=tuple(
                Picture(
                    name, str(text["title"]), str(text["note"]), (folder / f"{name}.svg").read_text("utf-8")
                )
                for name in values["pictures"]
                for text in [texts[name]]
            ),
            paper=tuple(table for table in tables if table.name not in data),
            errors={str(cell): str(reason) for cell, reason in values["errors"].items()},
            folder=folder,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise RunError(
            f"the report in {folder} is incomplete; resume the benchmark to write it again"
        ) from None


def as_markdown(report: Report) -> str:
    """Return the report in Markdown, with links to the files of its pictures; all texts are escaped."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    blocks = [f"# {plain(report.title)}"]
    for title, items in lists_of(report).items():
        blocks += [f"## {title}", "\n".join(f"- {plain(item)}" for item in items)]
    for shown in report.shown:
        title = plain(shown.title)
        if isinstance(shown, Picture):
            blocks += [f"## {title}", f"![{title}]({shown.name}.svg)", plain(shown.note)]
            continue
        rows = [map(plain, shown.head), ["---", *["---:"] * (len(shown.head) - 1)]]
        rows += [map(plain, texts) for texts in shown.texts]
        words = (*map(str, shown.warnings), *shown.verdict, *shown.notes)
        blocks += [f"## {title}", "\n".join(map(line, rows)), *map(plain, words)]
    return "\n\n".join(blocks) + "\n"


def as_html(report: Report) -> str:
    """Return the report as one HTML page with its pictures; it loads nothing and runs no script."""
    parts = [_tag("h1", report.title)]
    for title, items in lists_of(report).items():
        parts += [_tag("h2", title), f"<ul>{''.join(_tag('li', item) for item in items)}</ul>"]
    for shown in report.shown:
        parts += [_tag("h2", shown.title), *_html_block(shown)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"{_tag('title', report.title)}<style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def plain(text: str) -> str:
    """Return a text on one line, escaped for Markdown."""
    line = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*{}\[\]|#!~$]|\b_|_\b)", r"\\\1", line)


def shown_fact(value: object) -> str:
    """Return a fact as text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)


def lists_of(report: Report) -> dict[str, Sequence[str]]:
    """Return the lists of a report, by title."""
    facts = [f"{name.replace('_', ' ')}: {shown_fact(value)}" for name, value in report.facts.items()]
    return {"What was run": facts, "What differs from the paper": report.differences}


def _html_block(shown: Table | Picture) -> list[str]:
    if isinstance(shown, Picture):
        return [shown.svg, _tag("p", shown.note, ' class="note"')]
    wide, rows = f' class="words" colspan="{len(shown.head) - 1}"', []
    for row, texts in zip(shown.rows, shown.texts, strict=True):
        cells = [_tag("td", cell) for cell in texts]
        if row.missing:
            cells = [cells[0], _tag("td", texts[1], wide)]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    head = "".join(_tag("th", cell) for cell in shown.head)
    words = [_tag("p", one) for one in (*map(str, shown.warnings), *shown.verdict)]
    words += [_tag("p", note, ' class="note"') for note in shown.notes]
    body = "\n".join(rows)
    return [
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>',
        f"<tbody>{body}</tbody></table></div>",
        "".join(words),
    ]


def _tag(name: str, text: str, attributes: str = "") -> str:
    return f"<{name}{attributes}>{html.escape(text)}</{name}>"
