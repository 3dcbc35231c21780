"""The papers' printed figures (paper.json) beside ours, and the texts of their reports (words.toml)."""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from emu_core.runs.config import RunConfig


@cache
def paper_numbers(paper: str) -> dict[str, Any]:
    """Return the figures of a paper by table; `paper` is the package of its benchmark."""
    return json.loads(_file(paper, "paper.json"))


@cache
def paper_words(paper: str) -> dict[str, dict[str, str]]:
    """Return the labels, notes and differences of a paper's report, by name."""
    return tomllib.loads(_file(paper, "words.toml"))


def paper_figure(paper: str, table: str, row: str, column: str) -> str:
    """Return a figure as printed, such as "95.1" or "0.803 / 0.763" (dev / test); "" if the paper has none."""
    figures = paper_numbers(paper).get(table)
    if not figures or row not in figures["rows"] or column not in figures["columns"]:
        return ""
    return printed(paper, figures, figures["rows"][row][figures["columns"].index(column)])


def printed(paper: str, table: Mapping[str, Any], value: float | list[float] | None) -> str:
    """Format a figure with the decimals of its table, and FMDA's fractions in percent."""
    if isinstance(value, list):
        return " / ".join(f"{number:.3f}" for number in value)
    shown: str = table.get("shown", "{:.1f}")
    return "" if value is None else shown.format(paper_numbers(paper).get("times", 1) * value)


def differences(
    config: RunConfig, values: Mapping[str, Any], applies: Mapping[str, object]
) -> tuple[str, ...]:
    """Return what differs from a benchmark's paper, one sentence each, with `values` and the configuration filled in.

    A sentence is left out if `applies` is false for its name; one named "no_x" is also left out if it is true for "x".
    """
    applies = {**{f"no_{name}": not is_given for name, is_given in applies.items()}, **applies}
    paper = config.method.replace("-", "_")
    sentences, printed = paper_words(paper)["differences"].items(), paper_numbers(paper)
    filled = {f"paper_{name}": printed.get(name) for name in ("encoder", "data")}
    filled |= {"encoder": config.encoder, "data": config.data, **values}
    return tuple(sentence.format_map(filled) for name, sentence in sentences if applies.get(name, True))


def _file(paper: str, name: str) -> str:
    return (files("emu_core.bench") / paper / name).read_text("utf-8")
