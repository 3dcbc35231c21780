"""The report of a benchmark: report.json, report.md, report.html, and a CSV file a table."""

import html
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.bench.figures import bars
from emu_core.bench.tables import Row, Table
from emu_core.data.export_csv import safe_csv
from emu_core.errors import RunError
from emu_core.files import write_json, write_whole

JSON, MARKDOWN, PAGE = "report.json", "report.md", "report.html"
_PARTS = ("title", "differences", "tables", "shown", "paper", "pictures", "errors")
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
    """A picture.

    Attributes:
        name: of its file, without the ending.
        title: above it.
        note: below it.
        svg: an `<svg>` element.
    """

    name: str
    title: str
    note: str
    svg: str


def bars_picture(
    table: str, title: str, note: str, values: Mapping[str, tuple[float, ...]], base: str | float, label: str
) -> Picture:
    """Return the bars of a table's rows.

    Args:
        table: the table's name.
        title: above them.
        note: below them.
        values: mean and standard deviation in percent, by the row's label.
        base: the row at whose mean the line is, or that mean.
        label: of the axis.
    """
    line = values[base][0] if isinstance(base, str) else base
    return Picture(f"figure_{table}", title, note, bars(values, line, label))


@dataclass(frozen=True)
class Report:
    """Everything that a benchmark found.

    Attributes:
        title: of the report.
        facts: what was run, by name.
        differences: what differs from the paper, a sentence each.
        tables: ours.
        pictures: ours.
        paper: the paper's own tables.
        errors: why a cell could not be measured, by its name; another run tries these again.
        folder: where its files are.
    """

    title: str
    facts: Mapping[str, Any]
    differences: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    paper: tuple[Table, ...]
    errors: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default=Path())

    def table(self, name: str) -> Table:
        """Return the table of that name. Raises KeyError where there is none."""
        return {table.name: table for table in (*self.tables, *self.paper)}[name]

    @property
    def files(self) -> list[str]:
        """The names of the report's files, without those of the pictures."""
        return [PAGE, MARKDOWN, JSON, *(f"{table.name}.csv" for table in (*self.tables, *self.paper))]

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with the tables' numbers unrounded."""
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
        """Write every file, each whole or not at all."""
        write_json(self.folder / JSON, self.to_json())
        for table in (*self.tables, *self.paper):
            frame = pd.DataFrame(table.texts, columns=list(table.head))
            write_whole(self.folder / f"{table.name}.csv", safe_csv(frame))
        for picture in self.pictures:
            write_whole(self.folder / f"{picture.name}.svg", picture.svg)
        write_whole(self.folder / MARKDOWN, as_markdown(self).encode("utf-8", "replace"))
        write_whole(self.folder / PAGE, as_html(self).encode("utf-8", "replace"))


def load_report(folder: Path) -> Report:
    """Read the report in a benchmark's folder, as it was last written.

    Raises:
        RunError: there is none, or it is damaged.
    """
    try:
        values = json.loads((folder / JSON).read_text("utf-8"))
        data, texts = values["tables"], values.get("picture_texts", {})
        tables = [Table.from_json(shown, data.get(name) or {}) for name, shown in values["shown"].items()]
        if any(Path(name).name != name for name in (*values["shown"], *values["pictures"])):
            raise ValueError("a file's name leads out of the folder")
        return Report(
            title=str(values["title"]),
            facts={name: value for name, value in values.items() if name not in (*_PARTS, "picture_texts")},
            differences=tuple(map(str, values["differences"])),
            tables=tuple(table for table in tables if table.name in data),
            pictures=tuple(_picture(folder, name, texts.get(name, {})) for name in values["pictures"]),
            paper=tuple(table for table in tables if table.name not in data),
            errors={str(cell): str(reason) for cell, reason in values.get("errors", {}).items()},
            folder=folder,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise RunError(
            f"the report in {folder} is not whole; go on with the benchmark, and it is written again"
        ) from None


def _picture(folder: Path, name: str, texts: Mapping[str, Any]) -> Picture:
    svg = (folder / f"{name}.svg").read_text("utf-8")
    return Picture(name, str(texts.get("title", name)), str(texts.get("note", "")), svg)


def as_markdown(report: Report) -> str:
    """Return the report in Markdown, its pictures as links to their files; names in it may be hostile."""
    lines = [f"# {plain(report.title)}", "", "## What was run", ""]
    lines += [f"- {_words(name)}: {plain(shown_fact(value))}" for name, value in report.facts.items()]
    lines += ["", "## What differs from the paper", "", *(f"- {plain(one)}" for one in report.differences)]
    for table in report.tables:
        lines += ["", *_markdown_table(table)]
    for picture in report.pictures:
        lines += ["", f"## {plain(picture.title)}", "", f"![{plain(picture.title)}]({picture.name}.svg)", ""]
        lines += [plain(picture.note)]
    for table in report.paper:
        lines += ["", *_markdown_table(table)]
    return "\n".join(lines) + "\n"


def as_html(report: Report) -> str:
    """Return the report as one page, pictures included; it loads nothing and runs nothing."""
    parts = [f"<h1>{html.escape(report.title)}</h1>", "<h2>What was run</h2>"]
    parts += [_list(f"{_words(name)}: {shown_fact(value)}" for name, value in report.facts.items())]
    parts += ["<h2>What differs from the paper</h2>", _list(report.differences)]
    parts += [_html_table(table) for table in report.tables]
    for picture in report.pictures:
        parts += [f"<h2>{html.escape(picture.title)}</h2>", picture.svg]
        parts += [f'<p class="note">{html.escape(picture.note)}</p>']
    parts += [_html_table(table) for table in report.paper]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{html.escape(report.title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is: on one line, with nothing in it read as markup."""
    line = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*{}\[\]|#!~$]|\b_|_\b)", r"\\\1", line)


def shown_fact(value: object) -> str:
    """Return a fact as people read it."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)


def _markdown_table(table: Table) -> list[str]:
    lines = [f"## {plain(table.title)}", ""]
    lines += [_markdown_row(table.head), _markdown_row(["---", *["---:"] * (len(table.head) - 1)], raw=True)]
    lines += [_markdown_row(texts) for texts in table.texts]
    for note in (*map(str, table.warnings), *table.verdict, *table.notes):
        lines += ["", plain(note)]
    return lines


def _markdown_row(cells: Iterable[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else plain(cell) for cell in cells) + " |"


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.head)
    rows = "\n".join(_html_row(row, len(table.head)) for row in table.rows)
    notes = "".join(f"<p>{html.escape(one)}</p>" for one in (*map(str, table.warnings), *table.verdict))
    notes += "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    return (
        f'<h2>{html.escape(table.title)}</h2>\n<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>\n{notes}"
    )


def _html_row(row: Row, width: int) -> str:
    first, *rest = (html.escape(cell) for cell in row.texts(width))
    if row.missing:
        return f'<tr><td>{first}</td><td class="words" colspan="{width - 1}">{rest[0]}</td></tr>'
    return f"<tr><td>{first}</td>" + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in items) + "</ul>"


def _words(name: str) -> str:
    return name.replace("_", " ")
