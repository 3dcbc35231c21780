"""The report of a benchmark for people: report.md, report.html and its pictures."""

import html
import re
from collections.abc import Iterable, Mapping

from emu_core.bench.pictures import Picture
from emu_core.bench.report import MARKDOWN, PAGE, Report, lists_of
from emu_core.bench.tables import Table
from emu_core.files import write_whole
from emu_core.reports.bench_pictures import svg_of

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1400px; padding: 0 1rem; color: #222; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, td.words { text-align: left; }
svg { max-width: 100%; height: auto; }
p.note { color: #555; max-width: 75em; }
"""


def write_report(report: Report) -> None:
    """Write report.md, report.html and a file for each picture into the report's folder, each atomically."""
    drawn = {picture.name: svg_of(picture.drawing) for picture in report.pictures if picture.drawing}
    for name, svg in drawn.items():
        write_whole(report.folder / f"{name}.svg", svg)
    write_whole(report.folder / MARKDOWN, as_markdown(report).encode("utf-8", "replace"))
    write_whole(report.folder / PAGE, as_html(report, drawn).encode("utf-8", "replace"))


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


def as_html(report: Report, drawn: Mapping[str, str]) -> str:
    """Return the report as one HTML page that loads nothing and runs no script; `drawn` are its pictures as SVG."""
    parts = [_tag("h1", report.title)]
    for title, items in lists_of(report).items():
        parts += [_tag("h2", title), f"<ul>{''.join(_tag('li', item) for item in items)}</ul>"]
    for shown in report.shown:
        parts += [_tag("h2", shown.title), *_html_block(shown, drawn)]
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


def _html_block(shown: Table | Picture, drawn: Mapping[str, str]) -> list[str]:
    if isinstance(shown, Picture):
        return [drawn[shown.name], _tag("p", shown.note, ' class="note"')]
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
