"""The limits of every reader.

All bytes come through `opened`, which unpacks gzip and counts them, all cells of tables through `build_table`, and
plain text through `encodings.read_lines`. Readers call `check_rows` while they read.
"""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from emu_core.data.cleaning import HALF, holds_half
from emu_core.data.column_names import listed_names
from emu_core.data.wording import shown
from emu_core.errors import DataError

MAX_FILE_BYTES = 200 * 1024 * 1024


_GZIP = b"\x1f\x8b"


MAX_ROWS = 1_000_000


MAX_COLUMNS = 1_000


MAX_CELL = 100_000  # characters of a cell or a line; a sentence has a hundred


class Opened:
    """An open file that raises a DataError once more than `max_bytes` bytes of it are read."""

    def __init__(self, stream: BinaryIO | gzip.GzipFile, name: str, max_bytes: int) -> None:
        self.is_gzipped = isinstance(stream, gzip.GzipFile)  # `read` then returns unpacked bytes
        self._stream, self._name, self._max_bytes, self._size = stream, name, max_bytes, 0

    def read(self, size: int | None = None) -> bytes:
        """Return the next `size` bytes, fewer at the end; by default all."""
        return self._counted(self._stream.read(self._max_bytes + 1 if size is None else size))

    def readline(self, size: int) -> bytes:
        """Return the next line with its end, or the first `size` bytes of it."""
        return self._counted(self._stream.readline(size))

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        check_size(self._size, self._name, self._max_bytes, ", unpacked" if self.is_gzipped else "")
        return piece


@contextmanager
def opened(source: Path | bytes, name: str, max_bytes: int | None = None) -> Iterator[Opened]:
    """Open a path or bytes, named `name` in messages, and unpack gzipped content.

    Raises:
        DataError: the file is missing, has more than `max_bytes` bytes (by default MAX_FILE_BYTES), packed or unpacked,
            can't be opened, or is a damaged gzip file. A path's size is checked before it is read, the rest while it is
            read.
    """
    limit = MAX_FILE_BYTES if max_bytes is None else max_bytes
    try:
        if isinstance(source, Path) and source.is_dir():
            raise DataError(f"{shown(name)} is a folder; name the files in it")
        if isinstance(source, Path) and not source.is_file():
            raise DataError(f"{shown(name)}: no such file; check the path")
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        check_size(size, name, limit)
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            is_gzipped = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            yield Opened(gzip.GzipFile(fileobj=file) if is_gzipped else file, name, limit)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{shown(name)} is a damaged gzip file; compress it again") from error
    except OSError as error:
        raise DataError(f"{shown(name)} can't be opened; check the path and that you may read it") from error


def check_size(size: int, name: str, max_bytes: int, how: str = "") -> None:
    """Raise a DataError if a file has more than `max_bytes` bytes; `how` qualifies the size."""
    if size > max_bytes:
        raise DataError(
            f"{shown(name)} is larger than {max_bytes / 2**20:,.0f} MB{how}; split it, or leave out columns that are "
            "not needed"
        )


def build_table(header: Sequence[str], columns: Sequence[Sequence[str]], name: str) -> pd.DataFrame:
    """Return a frame of strings from column names and as many columns of equal length.

    Names are stripped. A column without a name gets one ("column 3"), or is dropped if it is empty, as spreadsheets
    leave them behind.

    Raises:
        DataError: there are no rows, two columns share a name, or a cell is not valid text.
    """
    names = [column.strip() for column in header]
    labelled_columns = [
        (label or f"column {number}", values)
        for number, (label, values) in enumerate(zip(names, columns, strict=True), start=1)
        if label or any(values)
    ]
    labels = [label for label, _ in labelled_columns]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise DataError(
            f"{shown(name)} has two columns named {listed_names(twice)}; rename or remove one of them"
        )
    if not labelled_columns or not len(labelled_columns[0][1]):
        raise DataError(f"{shown(name)} has column names but no rows; add the sentences below them")
    if any(map(holds_half, labels)):
        raise DataError(f"{shown(name)} holds {HALF} in the name of a column; fix it")
    check_characters(sum(sum(map(len, values)) for _, values in labelled_columns), name)
    return pd.DataFrame({label: _strings(values, label, name) for label, values in labelled_columns})


def columns_of(rows: Sequence[Sequence[str]], width: int) -> list[Sequence[str]]:
    """Return the `width` columns of rows of that length."""
    return list(zip(*rows, strict=True)) if rows else [()] * width


def check_rows(count: int, name: str, max_rows: int | None = None) -> None:
    """Raise a DataError if a file has more rows than `max_rows`, by default MAX_ROWS."""
    limit = MAX_ROWS if max_rows is None else max_rows
    if count > limit:
        raise DataError(f"{shown(name)} has more than {limit:,} rows; split it or take a sample of it")


def check_characters(count: int, name: str) -> None:
    """Raise a DataError if compressed or shared cells expand to more text than fits into memory."""
    if count > 2 * MAX_FILE_BYTES:
        raise DataError(
            f"{shown(name)} expands to {count:,} characters; keep only the columns that are needed"
        )


def check_lengths(texts: Sequence[str], name: str, unit: str, column: str = "") -> None:
    """Raise a DataError for a text of over MAX_CELL characters, whose number is that of a `unit`: "row" or "line"."""
    lengths = list(map(len, texts))
    if max(lengths, default=0) > MAX_CELL:
        number = next(number for number, length in enumerate(lengths, 1) if length > MAX_CELL)
        raise DataError(
            f"{shown(name)}: {unit} {number} has {lengths[number - 1]:,} characters{column}, and at most {MAX_CELL:,} "
            "are read; shorten it, or split it into sentences"
        )


def _strings(values: Sequence[str], label: str, name: str) -> "pd.Series[str]":
    column = f" in column '{shown(label)}'"
    check_lengths(values, name, "row", column)
    try:
        series = pd.Series(values, dtype="str")
    except UnicodeEncodeError as error:
        raise DataError(f"{shown(name)} holds {HALF}{column}; fix it") from error
    if (nul := series.str.contains("\0", regex=False)).any():
        raise DataError(
            f"{shown(name)}: row {int(nul.to_numpy().argmax()) + 1} holds a NUL character{column}; remove it"
        )
    return series
