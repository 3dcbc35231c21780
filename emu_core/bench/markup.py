"""The report as Markdown and as one HTML page that needs nothing else; names in it may be hostile."""

import html
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from emu_core.bench.table import NOT_MEASURED, Table

if TYPE_CHECKING:
    from emu_core.bench.report import Report

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1400px; padding: 0 1rem; color: #222; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.words { text-align: left; }
svg { max-width: 100%; height: auto; }
p.note { color: #555; max-width: 75em; }
"""


def as_markdown(report: "Report") -> str:
    """Return the report in Markdown, its pictures as links to their files."""
    lines = [f"# {plain(report.title)}", "", "## What was run", ""]
    lines += [f"- {_words(name)}: {plain(_shown(value))}" for name, value in report.facts.items()]
    lines += ["", "## What differs from the paper", "", *(f"- {plain(said)}" for said in report.differences)]
    for table in report.tables:
        lines += ["", *_markdown_table(table)]
    for picture in report.pictures:
        lines += ["", f"## {plain(picture.title)}", "", f"![{plain(picture.title)}]({picture.name}.svg)", ""]
        lines += [plain(picture.note)]
    for table in report.paper:
        lines += ["", *_markdown_table(table)]
    return "\n".join(lines) + "\n"


def as_html(report: "Report") -> str:
    """Return the report as one page, pictures included; it loads nothing and runs nothing."""
    parts = [f"<h1>{html.escape(report.title)}</h1>", "<h2>What was run</h2>"]
    parts += [_list(f"{_words(name)}: {_shown(value)}" for name, value in report.facts.items())]
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


def _markdown_table(table: Table) -> list[str]:
    lines = [f"## {plain(table.title)}", ""]
    lines += [_markdown_row(table.head), _markdown_row(["---", *["---:"] * (len(table.head) - 1)], raw=True)]
    lines += [_markdown_row(row) for row in table.rows]
    for note in (*table.verdict, *table.notes):
        lines += ["", plain(note)]
    return lines


def _markdown_row(cells: Iterable[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else plain(cell) for cell in cells) + " |"


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.head)
    rows = "\n".join(_html_row(row) for row in table.rows)
    notes = "".join(f"<p>{html.escape(said)}</p>" for said in table.verdict)
    notes += "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    return (
        f'<h2>{html.escape(table.title)}</h2>\n<div class="wide"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>\n{notes}"
    )


def _html_row(cells: Sequence[str]) -> str:
    first, *rest = (html.escape(cell) for cell in cells)
    if rest and rest[0].startswith(NOT_MEASURED):
        return f'<tr><td>{first}</td><td class="words" colspan="{len(rest)}">{rest[0]}</td></tr>'
    return f"<tr><td>{first}</td>" + "".join(f"<td>{cell}</td>" for cell in rest) + "</tr>"


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in items) + "</ul>"


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown}" for name, shown in value.items())
    return str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")
