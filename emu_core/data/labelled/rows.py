"""Labelled files read, mapped and joined into one table that remembers where each row stood."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from emu_core.data.labelled.columns import ColumnMapping, apply_columns, guess_columns
from emu_core.data.readers import encoding_notes, read_table
from emu_core.data.readers.table import MAX_ROWS, check_rows


def read_rows(
    paths: Sequence[Path], *, mapping: ColumnMapping | None, language: str | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read files into the six columns, and row (counted from 1 in each file) and source (the file's name).

    Returns:
        The rows of all files in order, and notes for the audit: which files were not UTF-8.

    Raises:
        DataError: a file can't be read or mapped, or they hold too many rows together.
    """
    names = [path.name for path in paths]
    parts: list[pd.DataFrame] = []
    notes: list[str] = []
    for path in paths:
        frame = read_table(path, path.name)
        part = apply_columns(frame, guess_columns(frame, mapping), language=language, name=path.name)
        parts.append(located(part, path.name if names.count(path.name) == 1 else str(path)))
        check_rows(sum(map(len, parts)), MAX_ROWS, "the data in all files together")
        notes += encoding_notes(path.name, frame.attrs.get("encoding", "utf-8"))
    return pd.concat(parts, ignore_index=True), tuple(notes)


def located(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a frame with its rows counted from 1 in a column row, and `source` in a column of that name."""
    return frame.assign(
        row=range(1, len(frame) + 1), source=pd.Series(source, index=frame.index, dtype="str")
    )
