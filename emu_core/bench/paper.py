"""The papers' printed figures (paper.json) and the texts of their reports (words.toml)."""

import json
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from emu_core.bench.tables import Row, Table
from emu_core.runs.config import RunConfig


@cache
def paper_numbers(paper: str) -> dict[str, Any]:
    """Return the figures of a paper by table; `paper` is the package of its benchmark."""
    numbers: dict[str, Any] = json.loads(_file(paper, "paper.json"))
    return numbers


@cache
def words(paper: str) -> dict[str, dict[str, str]]:
    """Return the labels, notes and differences of a paper's report, by name."""
    return tomllib.loads(_file(paper, "words.toml"))


def paper_figure(paper: str, table: str, row: str, column: str) -> str:
    """Return a figure as printed, such as "95.1" or "0.803 / 0.763" (dev / test); "" if the paper has none."""
    found = paper_numbers(paper).get(table)
    if not found or row not in found["rows"] or column not in found["columns"]:
        return ""
    return _printed(paper, found, found["rows"][row][found["columns"].index(column)])


def paper_table(
    paper: str,
    name: str,
    heads: tuple[str, ...] = ("model",),
    labels: Callable[[str], tuple[str, ...]] = lambda row: (row,),
    notes: tuple[str, ...] = (),
) -> Table:
    """Return a table such as "table2" or "section3.4" as printed; `labels` returns the cells of a row below `heads`."""
    numbers, of = paper_numbers(paper), name.replace("table", "Table ").replace("section", "section ")
    table, setup = numbers[name], words(paper)["paper"]["setup"].format_map(numbers)
    rows = [
        Row((*labels(row), *(_printed(paper, table, value) or "–" for value in values)))
        for row, values in table["rows"].items()
    ]
    title, file = f"The paper's {of}: {table['title']}{setup}", f"paper_{name.replace('.', '_')}"
    return Table(file, title, (*heads, *table["columns"]), tuple(rows), notes=notes)


def _printed(paper: str, table: Mapping[str, Any], value: float | list[float] | None) -> str:
    """Format a figure with the decimals of its table, and FMDA's fractions in percent."""
    if isinstance(value, list):
        return " / ".join(f"{one:.3f}" for one in value)
    shown: str = table.get("shown", "{:.1f}")
    return "" if value is None else shown.format(paper_numbers(paper).get("times", 1) * value)


def differences(
    config: RunConfig, values: Mapping[str, Any], applies: Mapping[str, object]
) -> tuple[str, ...]:
    """Return what differs from a benchmark's paper, one sentence each, with `values` and the configuration filled in.

    A sentence is left out if `applies` is false for its name.
    """
    paper = config.method.replace("-", "_")
    sentences, printed = words(paper)["differences"].items(), paper_numbers(paper)
    filled = {f"paper_{name}": printed.get(name) for name in ("encoder", "data")}
    filled |= {"encoder": config.encoder, "data": config.data, **values}
    return tuple(sentence.format_map(filled) for name, sentence in sentences if applies.get(name, True))


def _file(paper: str, name: str) -> str:
    return (files("emu_core.bench") / paper / name).read_text("utf-8")
