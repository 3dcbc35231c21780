"""A table as a file holds it, before its shape is looked at and its cells are checked."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from emu_core.formats.limits import build_table

_NUMBERED = "column "


@dataclass(frozen=True)
class Cells:
    """The names and the cells of a table's columns, all of them strings.

    Attributes:
        header: the names of the columns.
        columns: the cells of each column; all have the same length.
        is_first_row: whether the header is the first row of the file, which may hold data instead of names.
        recognised: the shape of the table, as the audit states it; "" for an ordinary one.
        notes: sentences for the audit.
        split: what a name around the rows says of all of them, which counts as the name of a file does; "" for nothing.
    """

    header: Sequence[str]
    columns: Sequence[Sequence[str]]
    is_first_row: bool = False
    recognised: str = ""
    notes: tuple[str, ...] = ()
    split: str = ""

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def frame(self, name: str) -> pd.DataFrame:
        """Return the table as a frame; `recognised`, `notes` and `split` are in its attrs. Raises as `build_table`."""
        frame = build_table(self.header, self.columns, name)
        frame.attrs |= {"recognised": self.recognised, "notes": self.notes, "split": self.split}
        return frame


def numbered(width: int) -> list[str]:
    """Return names for columns that have none: "column 1", ..."""
    return [f"{_NUMBERED}{number}" for number in range(1, width + 1)]


def is_numbered(name: str) -> bool:
    """Return whether a column has one of the names of `numbered`."""
    return name.startswith(_NUMBERED)
