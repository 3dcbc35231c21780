"""The paper's own numbers (bicvm_paper.json), and its table as printed."""

from typing import Any

from emu_core.bench.paper import numbers_in
from emu_core.bench.table import Table

PAPER_LABELS = {
    "majority": "majority class",
    "glossed": "glossed",
    "mt": "machine translation",
    "i-matrix": "I-Matrix (Klementiev et al. 2012)",
    "bicvm": "BiCVM",
    "bicvm+": "BiCVM+",
}


def paper_numbers() -> dict[str, Any]:
    """Table 1 of Hermann and Blunsom, accuracies in percent."""
    return numbers_in("bicvm_paper.json")


def paper_row(row: str) -> dict[str, str]:
    """A row of Table 1 by direction, such as {"en-de": "83.7", ...}."""
    table = paper_numbers()["table1"]
    return {way: f"{value:.1f}" for way, value in zip(table["columns"], table["rows"][row], strict=True)}


def paper_table() -> Table:
    """Table 1 as printed."""
    numbers = paper_numbers()
    table = numbers["table1"]
    return Table(
        "paper_table1",
        f"The paper's Table 1: {table['title']}; {numbers['encoder']}, documents of {numbers['data']}",
        ("model", *table["columns"]),
        tuple(
            (PAPER_LABELS[name], *(f"{value:.1f}" for value in row)) for name, row in table["rows"].items()
        ),
    )
