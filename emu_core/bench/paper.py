"""The papers' printed figures (paper.json) and the words of their reports (words.toml)."""

import json
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from emu_core import __version__
from emu_core.bench.tables import Row, Table


@cache
def paper_numbers(paper: str) -> dict[str, Any]:
    """Return the figures of a paper, each table under its number.

    Args:
        paper: the package of its benchmark: "emu" (Hirota et al. 2020, Tables 1 to 5), "fmda" (Wu et al., Tables 2 to
            6 and 9), "bicvm" (Hermann and Blunsom 2014, Table 1) or "dual_encoder" (Chidambaram et al. 2019, Tables 1
            to 7 and section 3.4).
    """
    numbers: dict[str, Any] = json.loads(_file(paper, "paper.json"))
    return numbers


@cache
def words(paper: str) -> dict[str, dict[str, str]]:
    """Return the labels, notes and differences of a paper's report, by name."""
    return tomllib.loads(_file(paper, "words.toml"))


def paper_figure(paper: str, table: str, row: str, column: str) -> str:
    """Return a figure as the paper prints it, such as "95.1" or "0.803 / 0.763" (dev / test); "" where it has none.

    Args:
        paper: the package of its benchmark.
        table: such as "table2".
        row: such as "multi-task en-fr".
        column: such as "fr".
    """
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
    """Return a table as the paper prints it.

    Args:
        paper: the package of its benchmark.
        name: such as "table2" or "section3.4".
        heads: over the labels.
        labels: gives those of a row.
        notes: how to read it.
    """
    numbers, of = paper_numbers(paper), name.replace("table", "Table ").replace("section", "section ")
    table, setup = numbers[name], words(paper)["paper"]["setup"].format_map(numbers)
    rows = [
        Row((*labels(row), *(_printed(paper, table, value) or "–" for value in values)))
        for row, values in table["rows"].items()
    ]
    title, file = f"The paper's {of}: {table['title']}{setup}", f"paper_{name.replace('.', '_')}"
    return Table(file, title, (*heads, *table["columns"]), tuple(rows), notes=notes)


def _printed(paper: str, table: Mapping[str, Any], value: float | list[float] | None) -> str:
    """Return a figure in the decimals of its table; FMDA's are fractions, and are shown in percent."""
    if isinstance(value, list):
        return " / ".join(f"{one:.3f}" for one in value)
    shown: str = table.get("shown", "{:.1f}")
    return "" if value is None else shown.format(paper_numbers(paper).get("times", 1) * value)


def differences(
    paper: str, values: Mapping[str, Any], applies: Mapping[str, object] = MappingProxyType({})
) -> tuple[str, ...]:
    """Return what differs from the paper, a sentence each.

    Args:
        paper: the package of its benchmark.
        values: what is filled in.
        applies: whether a sentence does, by its name; one that is not there does.
    """
    sentences = words(paper)["differences"].items()
    return tuple(sentence.format_map(values) for name, sentence in sentences if applies.get(name, True))


def versions_of(*packages: str) -> dict[str, str]:
    """Return the versions of this library and of others, by name."""
    return {"emu_core": __version__, **{name: version(name) for name in packages}}


def _file(paper: str, name: str) -> str:
    return (files("emu_core.bench") / paper / name).read_text("utf-8")
