"""Files read, mapped and joined: labelled rows with the place of each, and sentences whose labels don't count."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.labelled.columns import ColumnMapping, apply_columns, guess_columns
from emu_core.data.labelled.sets import UnlabelledSet
from emu_core.data.languages import checked_language
from emu_core.data.readers.limits import MAX_ROWS, check_rows, named_paths
from emu_core.data.readers.tables import is_table, read_table
from emu_core.data.readers.text import encoding_notes, read_lines
from emu_core.data.wording import listed
from emu_core.errors import DataError


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


def read_unlabelled(
    paths: Sequence[str | Path], *, mapping: ColumnMapping | None = None, language: str | None = None
) -> UnlabelledSet:
    """Read sentences from tables, whatever their intents, or from plain files, one sentence a line.

    A file is plain when its name has no table's ending: `hotel.de.txt`, `train.de.gz`. Empty sentences are dropped,
    and of the same sentence in the same language one stays.

    Args:
        paths: the files.
        mapping: columns by name; those left None are guessed.
        language: the language of the files that have no language column; without it the file's name must
            state it.

    Raises:
        DataError: a file can't be read, has no text column, or states no language; or no sentence is left.
    """
    files = named_paths(paths, "no file of unlabelled sentences is named; name one or more")
    parts = []
    for path in files:
        parts.append(read_sentences(path, mapping, language)[list(UnlabelledSet.columns)])
        check_rows(sum(map(len, parts)), MAX_ROWS, "the unlabelled data")
    frame = pd.concat(parts, ignore_index=True).apply(stripped)
    frame = frame[(frame["text"] != "") & (frame["language"] != "")]
    for code in frame["language"].unique():
        checked_language(code)
    frame = frame.drop_duplicates(["text", "language"], ignore_index=True)
    if frame.empty:
        raise DataError(
            f"{listed(path.name for path in files)}: no sentence with a language is left; check the columns"
        )
    return UnlabelledSet(frame, listed((path.name for path in files), 4))


def read_sentences(path: Path, mapping: ColumnMapping | None, language: str | None) -> pd.DataFrame:
    """Return every row of a table, or line of a plain file, as the columns of COLUMNS; only text is required.

    Raises:
        DataError: the file can't be read, has no text column, or states no language.
    """
    if is_table(path):
        frame = read_table(path, path.name)
        columns = guess_columns(frame, mapping)
    else:
        frame = pd.DataFrame({"text": read_lines(path)[0]}, dtype="str")
        columns = ColumnMapping(text="text")
    return apply_columns(frame, columns, required=("text",), language=language, name=path.name)
