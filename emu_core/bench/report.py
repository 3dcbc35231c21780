"""One report of a benchmark: report.json, report.md, report.html, and a CSV file a table."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.bench.markup import as_html, as_markdown
from emu_core.bench.store import write_json, write_whole
from emu_core.bench.table import Table
from emu_core.data.export_csv import safe_csv


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        name: of its file.
        title: above it.
        note: below it.
        svg: an `<svg>` element.
    """

    name: str
    title: str
    note: str
    svg: str


@dataclass(frozen=True)
class Report:
    """All that a benchmark says.

    Attributes:
        title: of the report.
        facts: what was run, by name.
        differences: what differs from the paper, a sentence each.
        tables: ours.
        pictures: ours.
        paper: the paper's own tables.
        folder: where its files are.
    """

    title: str
    facts: dict[str, Any]
    differences: tuple[str, ...]
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    paper: tuple[Table, ...]
    folder: Path = field(default=Path())

    def to_json(self) -> dict[str, Any]:
        """As plain values, with the tables' numbers unrounded."""
        return {
            "title": self.title,
            **self.facts,
            "differences": list(self.differences),
            "tables": {table.name: table.data for table in self.tables},
            "shown": {table.name: {**asdict(table), "data": None} for table in (*self.tables, *self.paper)},
            "pictures": [picture.name for picture in self.pictures],
        }

    def write(self) -> None:
        """Write every file, each whole or not at all."""
        write_json(self.folder / "report.json", self.to_json())
        for table in (*self.tables, *self.paper):
            frame = pd.DataFrame(list(table.rows), columns=list(table.head))
            write_whole(self.folder / f"{table.name}.csv", safe_csv(frame))
        for picture in self.pictures:
            write_whole(self.folder / f"{picture.name}.svg", picture.svg.encode())
        write_whole(self.folder / "report.md", as_markdown(self).encode("utf-8", "replace"))
        write_whole(self.folder / "report.html", as_html(self).encode("utf-8", "replace"))
