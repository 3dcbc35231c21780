"""Columns of strings made into a table, with the checks that hold for every file format."""

from collections.abc import Sequence

import pandas as pd

from emu_core.data.readers.opened import MAX_BYTES
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError

MAX_ROWS = 1_000_000
MAX_COLUMNS = 1_000


def build_table(header: Sequence[str], columns: Sequence[Sequence[str]], name: str) -> pd.DataFrame:
    """Return a frame of strings from column names and as many columns of equal length.

    Names lose the spaces around them. A column without a name gets one ("column 3") or, if it is empty, goes:
    it is what spreadsheets leave behind.

    Raises:
        DataError: there are no rows, two columns share a name, or a cell holds what no text holds.
    """
    names = [column.strip() for column in header]
    named = [
        (label or f"column {number}", values)
        for number, (label, values) in enumerate(zip(names, columns, strict=True), start=1)
        if label or any(values)
    ]
    labels = [label for label, _ in named]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise DataError(f"{shown(name)} has two columns named {listed(twice)}; rename or remove one of them")
    if not named or not len(named[0][1]):
        raise DataError(f"{shown(name)} has column names but no rows; add the sentences below them")
    check_characters(sum(sum(map(len, values)) for _, values in named), name)
    return pd.DataFrame({label: _strings(values, label, name) for label, values in named})


def check_rows(count: int, max_rows: int, name: str) -> None:
    """Raise a DataError when a file has more rows than `max_rows`."""
    if count > max_rows:
        raise DataError(f"{shown(name)} has more than {max_rows:,} rows; split it or take a sample of it")


def check_characters(count: int, name: str) -> None:
    """Raise a DataError when compressed or shared cells unfold to more text than fits a computer's memory."""
    if count > 2 * MAX_BYTES:
        raise DataError(
            f"{shown(name)} unfolds to {count:,} characters; keep only the columns that are needed"
        )


def as_text(value: object) -> str:
    """Return a typed cell as text: nothing as "", true and false in lower case, the rest by str()."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _strings(values: Sequence[str], label: str, name: str) -> "pd.Series[str]":
    try:
        series = pd.Series(values, dtype="str")
    except UnicodeEncodeError as error:
        raise DataError(
            f"{shown(name)}: column '{shown(label)}' holds half a character (a lone surrogate); fix it"
        ) from error
    if (nul := series.str.contains("\0", regex=False)).any():
        raise DataError(
            f"{shown(name)}: row {int(nul.to_numpy().argmax()) + 1} holds a NUL character in column "
            f"'{shown(label)}'; remove it"
        )
    return series
