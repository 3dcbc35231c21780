"""The papers' own figures, copied from their tables into a file paper.json each."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def paper_numbers(paper: str) -> dict[str, Any]:
    """Return the figures of a paper, each table under its number.

    Args:
        paper: the package of its benchmark: "emu" (Hirota et al. 2020, Tables 1 to 5), "fmda" (Wu et al., Tables 2 to
            6 and 9), "bicvm" (Hermann and Blunsom 2014, Table 1) or "dual_encoder" (Chidambaram et al. 2019, Tables 1
            to 7 and section 3.4).
    """
    numbers: dict[str, Any] = json.loads((files("emu_core.bench") / paper / "paper.json").read_text("utf-8"))
    return numbers
