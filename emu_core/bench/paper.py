"""The papers' own numbers, copied from their tables (paper.json is Emu's, fmda_paper.json FMDA's)."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def numbers_in(name: str) -> dict[str, Any]:
    """What a file of this package holds."""
    numbers: dict[str, Any] = json.loads((files("emu_core.bench") / name).read_text("utf-8"))
    return numbers


def paper_numbers() -> dict[str, Any]:
    """Tables 1 to 5 of Hirota et al. 2020, each under the table's number, accuracies in percent.

    `queries` holds the sizes of the test sets as Table 2's accuracies have them. Quora's differs from Table 1's.
    """
    return numbers_in("paper.json")


def paper_mean(dataset: str, method: str) -> float:
    """Return a method's mean accuracy over the 11 directions of Table 2, in percent."""
    row = paper_numbers()["table2"]["datasets"][dataset][method]["accuracy"]
    return float(sum(row) / len(row))
