"""The paper's own numbers (fmda_paper.json), and its tables as printed."""

from typing import Any

from emu_core.bench.fmda.cells import LABELS, System, part_label
from emu_core.bench.paper import numbers_in
from emu_core.bench.table import Table
from emu_core.models.parts import Part

_FILE = "fmda_paper.json"


def paper_numbers() -> dict[str, Any]:
    """Tables 2 to 6 and 9 of Wu et al., each under "table" and its number; accuracies and MAP as shares of 1."""
    return numbers_in(_FILE)


def paper_figure(number: str, row: str, column: str) -> str:
    """Return a figure of the paper's in percent, such as "59.4"; "" where it has none.

    Args:
        number: of the table.
        row: system and embedding, such as "fmda meaning"; of Table 9 the task, such as "de-en".
        column: such as "en-de" or "en (en-de)".
    """
    table = paper_numbers()[f"table{number}"]
    if row not in table["rows"] or column not in table["columns"]:
        return ""
    return _percent(table["rows"][row][table["columns"].index(column)])


def paper_table(number: str) -> Table:
    """A table of the paper's, as printed but for percent."""
    numbers = paper_numbers()
    table = numbers[f"table{number}"]
    title = (
        f"The paper's Table {number}: {table['title']}; encoder {numbers['encoder']}, data {numbers['data']}"
    )
    columns = table["columns"]
    if number == "9":
        rows = tuple((name, *map(_percent, row)) for name, row in table["rows"].items())
        return Table("paper_table9", title, ("task", *columns), rows)
    rows = tuple((*_labels(name), *map(_percent, row)) for name, row in table["rows"].items())
    return Table(f"paper_table{number}", title, ("model", "embedding", *columns), rows)


def _labels(name: str) -> tuple[str, str]:
    system, part = name.split(" ")
    label = "XLM-R" if system == System.BASE else LABELS[System(system)]
    return label, part_label(Part(part))


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
