"""The paper's own numbers (dual_encoder_paper.json), and its tables as printed."""

from typing import Any

from emu_core.bench.paper import numbers_in
from emu_core.bench.table import Table

TITLES = {
    "table1": "Table 1",
    "section3.4": "section 3.4",
    "table2": "Table 2",
    "table3": "Table 3",
    "table4": "Table 4",
    "table5": "Table 5",
    "table6": "Table 6",
    "table7": "Table 7",
}
_THREE_PLACES = ("table2", "table3", "table7")


def paper_numbers() -> dict[str, Any]:
    """Tables 1 to 7 and the figures of section 3.4 of Chidambaram et al. 2019, each under "table1" to "table7"."""
    return numbers_in("dual_encoder_paper.json")


def paper_figure(table: str, row: str, column: str) -> str:
    """A figure as the paper prints it, such as "95.1" or "0.803 / 0.763" (dev / test); "" where it has none.

    Args:
        table: such as "table2".
        row: such as "multi-task en-fr".
        column: such as "fr".
    """
    found = paper_numbers()[table]
    if row not in found["rows"] or column not in found["columns"]:
        return ""
    return _printed(found["rows"][row][found["columns"].index(column)], table)


def paper_table(name: str) -> Table:
    """A table as printed."""
    numbers = paper_numbers()
    table = numbers[name]
    head = ("target language, training" if name == "table6" else "model", *table["columns"])
    rows = tuple(
        (row, *(_printed(value, name) or "–" for value in own)) for row, own in table["rows"].items()
    )
    notes = (
        (
            "The columns' heads are in the order of the paper's other tables: the print at hand has lost three of the "
            "four.",
        )
        if name == "table7"
        else ()
    )
    title = f"The paper's {TITLES[name]}: {table['title']}; {numbers['encoder']}"
    return Table(f"paper_{name.replace('.', '_')}", title, head, rows, (), notes)


def _printed(value: float | list[float] | None, table: str) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " / ".join(f"{part:.3f}" for part in value)
    return f"{value:.3f}" if table in _THREE_PLACES else f"{value:.1f}"
