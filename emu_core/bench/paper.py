"""The papers' printed figures (paper.json) and the words of their reports (words.toml)."""

import json
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from emu_core import __version__


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


def differences(paper: str, values: Mapping[str, Any], without: Collection[str] = ()) -> tuple[str, ...]:
    """Return what differs from the paper, a sentence each.

    Args:
        paper: the package of its benchmark.
        values: what is filled in.
        without: names of the sentences that do not apply.
    """
    sentences = words(paper)["differences"].items()
    return tuple(sentence.format_map(values) for name, sentence in sentences if name not in without)


def versions_of(*packages: str) -> dict[str, str]:
    """Return the versions of this library and of others, by name."""
    return {"emu_core": __version__, **{name: version(name) for name in packages}}


def _file(paper: str, name: str) -> str:
    return (files("emu_core.bench") / paper / name).read_text("utf-8")
