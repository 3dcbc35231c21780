"""The report of a benchmark: as data, and its files for programs and for people."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from emu_core.bench.pictures import Picture
from emu_core.bench.tables import Table
from emu_core.data.export_csv import safe_csv
from emu_core.errors import RunError
from emu_core.files import write_json, write_whole
from emu_core.reports.templating import render_html, render_markdown

JSON, MARKDOWN, PAGE = "report.json", "report.md", "report.html"
_PARTS = ("title", "differences", "tables", "shown", "paper", "pictures", "picture_texts", "errors")


@dataclass(frozen=True)
class BenchReport:
    """The findings of a benchmark."""

    title: str
    facts: Mapping[str, Any]  # what was run, by name
    differences: tuple[str, ...]  # what differs from the paper, one sentence each
    tables: tuple[Table, ...]  # ours
    pictures: tuple[Picture, ...]  # ours
    paper: tuple[Table, ...]  # the paper's own tables
    errors: Mapping[str, str] = field(default_factory=dict)  # why a cell was not measured
    folder: Path = field(default=Path())  # where its files are

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

    def to_json(self) -> dict[str, object]:
        """Return plain values, with unrounded numbers."""
        return {
            "title": self.title,
            **self.facts,
            "differences": list(self.differences),
            "tables": {table.name: table.data for table in self.tables},
            "shown": {table.name: table.to_json() for table in (*self.tables, *self.paper)},
            "pictures": [picture.name for picture in self.pictures],
            "picture_texts": {
                chart.name: {"title": chart.title, "note": chart.note} for chart in self.pictures
            },
            "errors": dict(self.errors),
        }

    def write(self) -> None:
        """Write every file into the folder, each atomically."""
        from emu_core.bench.drawing import svg_of  # takes long: matplotlib

        write_json(self.folder / JSON, self.to_json())
        for table in (*self.tables, *self.paper):
            frame = pd.DataFrame(table.texts, columns=list(table.head))
            write_whole(self.folder / f"{table.name}.csv", safe_csv(frame))
        drawn = {picture.name: svg_of(picture.drawing) for picture in self.pictures if picture.drawing}
        for name, svg in drawn.items():
            write_whole(self.folder / f"{name}.svg", svg)
        write_whole(self.folder / MARKDOWN, as_markdown(self).encode("utf-8", "replace"))
        write_whole(self.folder / PAGE, as_html(self, drawn).encode("utf-8", "replace"))


def load_report(folder: Path) -> BenchReport:
    """Read the report in a benchmark's folder. Raises RunError if there is none, or it is damaged."""
    try:
        values = json.loads((folder / JSON).read_text("utf-8"))
        data, texts = values["tables"], values["picture_texts"]
        tables = [Table.from_json(shown, data.get(name) or {}) for name, shown in values["shown"].items()]
        if any(Path(name).name != name for name in (*values["shown"], *values["pictures"])):
            raise ValueError("a file's name leads out of the folder")
        if not all((folder / f"{name}.svg").is_file() for name in values["pictures"]):
            raise ValueError("a picture is missing")
        return BenchReport(
            title=str(values["title"]),
            facts={name: value for name, value in values.items() if name not in _PARTS},
            differences=tuple(map(str, values["differences"])),
            tables=tuple(table for table in tables if table.name in data),
            pictures=tuple(
                Picture(name, str(texts[name]["title"]), str(texts[name]["note"]))
                for name in values["pictures"]
            ),
            paper=tuple(table for table in tables if table.name not in data),
            errors={str(cell): str(reason) for cell, reason in values["errors"].items()},
            folder=folder,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise RunError(
            f"the report in {folder} is incomplete; resume the benchmark to write it again"
        ) from None


def shown_fact(value: object) -> str:
    """Return a fact as text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    return str(value)


def lists_of(report: BenchReport) -> dict[str, Sequence[str]]:
    """Return the lists of a report, by title."""
    facts = [f"{name.replace('_', ' ')}: {shown_fact(value)}" for name, value in report.facts.items()]
    return {"What was run": facts, "What differs from the paper": report.differences}


def as_markdown(report: BenchReport) -> str:
    """Return the report in Markdown, with links to the files of its pictures."""
    return render_markdown("bench_report.md.j2", report=report, lists=lists_of(report))


def as_html(report: BenchReport, drawn: Mapping[str, str]) -> str:
    """Return the report as one HTML page that loads nothing and runs no script; `drawn` are its pictures as SVG."""
    pictures = {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704 - matplotlib's, which escapes texts
    return render_html(
        "bench_report.html.j2", title=report.title, report=report, lists=lists_of(report), pictures=pictures
    )
