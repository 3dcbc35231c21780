"""A benchmark's report read back from its folder, as a page shows it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from emu_core.bench.cells import Kind, label_of
from emu_core.bench.table import NOT_MEASURED
from emu_core.bench.table2 import NO_TRANSLATIONS
from emu_core.errors import RunError

BELOW = "directions below base"
NOT_FACTS = ("title", "differences", "tables", "shown", "pictures")


@dataclass(frozen=True)
class Gain:
    """What a system gained over the base encoder, in points of mean Acc@1.

    Attributes:
        label: the system.
        gain: mean over directions and seeds.
        deviation: standard deviation over seeds; 0 for a single one.
        below: directions in which it is below the base, in words; "none".
    """

    label: str
    gain: float
    deviation: float
    below: str


@dataclass(frozen=True, eq=False)
class ShownTable:
    """A table.

    Attributes:
        name: of its CSV file, without the ending.
        title: above it.
        frame: its cells as people read them; what was not measured is left out.
        missing: a system and why it was not measured.
        verdict: what it says, a sentence each.
        notes: how to read it.
        gains: of its systems; empty for a table that has none.
    """

    name: str
    title: str
    frame: pd.DataFrame
    missing: tuple[tuple[str, str], ...]
    verdict: tuple[str, ...]
    notes: tuple[str, ...]
    gains: tuple[Gain, ...]


@dataclass(frozen=True, eq=False)
class ShownReport:
    """A report.

    Attributes:
        title: of the report.
        facts: what was run, by name.
        differences: what differs from the paper, a sentence each.
        tables: ours.
        paper: the paper's own.
        figure: the maps of Figure 2, an `<svg>` element; "" where they were not asked for.
        files: the files to take away, by name.
        retry: whether what was not measured may be by another try.
    """

    title: str
    facts: Mapping[str, str]
    differences: tuple[str, ...]
    tables: tuple[ShownTable, ...]
    paper: tuple[ShownTable, ...]
    figure: str
    files: Mapping[str, bytes]
    retry: bool


def read_report(out: Path) -> ShownReport:
    """Read the report in a benchmark's folder.

    Raises:
        RunError: a file is missing or damaged.
    """
    try:
        values = json.loads((out / "report.json").read_text("utf-8"))
        data = values["tables"]
        tables = [_table(shown, data.get(name, {})) for name, shown in values["shown"].items()]
        figure = (out / "figure2.svg").read_text("utf-8") if "figure2" in values["pictures"] else ""
        named = ["report.html", "report.md", "report.json", *(f"{table.name}.csv" for table in tables)]
        return ShownReport(
            title=str(values["title"]),
            facts={name: _words(value) for name, value in values.items() if name not in NOT_FACTS},
            differences=tuple(map(str, values["differences"])),
            tables=tuple(table for table in tables if table.name in data),
            paper=tuple(table for table in tables if table.name not in data),
            figure=figure,
            files={name: (out / _file_name(name)).read_bytes() for name in named},
            retry=any(reason != NO_TRANSLATIONS for table in tables for _, reason in table.missing),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, IndexError):
        raise RunError(
            f"the report in {out} is not whole; go on with the benchmark, and it is written again"
        ) from None


def _table(shown: Mapping[str, Any], data: Mapping[str, Any]) -> ShownTable:
    rows = [tuple(map(str, row)) for row in shown["rows"]]
    missing = tuple((row[0], row[1].removeprefix(NOT_MEASURED).strip()) for row in rows if _is_missing(row))
    frame = pd.DataFrame([row for row in rows if not _is_missing(row)], columns=_distinct(shown["head"]))
    return ShownTable(
        name=str(shown["name"]),
        title=str(shown["title"]),
        frame=frame,
        missing=missing,
        verdict=tuple(map(str, shown["verdict"])),
        notes=tuple(map(str, shown["notes"])),
        gains=tuple(_gains(data, frame)) if BELOW in frame else (),
    )


def _gains(data: Mapping[str, Any], frame: pd.DataFrame) -> Iterable[Gain]:
    """The gain of each system that was measured; its row stands where its numbers stand in `data`."""
    measured = [(name, values) for name, values in data.items() if "not_measured" not in values]
    # The table of peers has a row more: the base encoder's, which comes first.
    below = frame[BELOW].tolist()[-len(measured) :]
    for (name, values), directions in zip(measured, below, strict=True):
        if name != Kind.BASE:
            deviation = float(values["mean_deviation"])
            yield Gain(label_of(name), float(values["gain"]), deviation, directions)


def _is_missing(row: tuple[str, ...]) -> bool:
    return len(row) > 1 and row[1].startswith(NOT_MEASURED)


def _file_name(name: str) -> str:
    """The name itself, which came from a file. Raises ValueError where it is a path that could lead elsewhere."""
    if Path(name).name != name:
        raise ValueError(f"{name} is no file's name")
    return name


def _distinct(head: Iterable[object]) -> list[str]:
    """The columns' names, each once: a language may be called anything."""
    names: list[str] = []
    for name in map(str, head):
        number = 1 + sum(known == name or known.startswith(f"{name} (") for known in names)
        names.append(name if name not in names else f"{name} ({number})")
    return names


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return str(value)
