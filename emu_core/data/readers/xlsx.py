"""The first sheet of an XLSX workbook, read as text and guarded against zip bombs."""

import io
import zipfile
from collections.abc import Iterator
from datetime import date, time
from typing import Any

import openpyxl
import pandas as pd

from emu_core.data.readers.opened import MAX_BYTES
from emu_core.data.readers.table import MAX_COLUMNS, as_text, build_table, check_rows
from emu_core.data.wording import shown
from emu_core.errors import DataError

# XML is wordy: a workbook of ordinary text unfolds to five to ten times its size and stays far below this.
_MAX_UNFOLDED = 3 * MAX_BYTES
_MAX_PARTS = 10_000
_MAX_SHEET_ROWS = 1_048_576  # what a spreadsheet program can hold


def parse_xlsx(payload: bytes, name: str, max_rows: int) -> pd.DataFrame:
    """Read the first sheet as text; its first row that isn't blank names the columns.

    A formula counts as the value it had when the workbook was saved.

    Raises:
        DataError: not a workbook, damaged, too large once unfolded, or a cell stands beside the named
            columns.
    """
    try:
        _check_archive(payload, name)
        workbook = openpyxl.load_workbook(io.BytesIO(payload), read_only=True, data_only=True)
        if not workbook.worksheets:
            raise DataError(f"{shown(name)} has no sheet with cells; put the table on its first sheet")
        return _sheet(workbook.worksheets[0], name, max_rows)
    except DataError:
        raise
    except Exception as error:  # a damaged workbook fails in dozens of ways, all of them the file's
        raise DataError(f"{shown(name)} can't be read as XLSX; save it again, or as CSV in UTF-8") from error


def _check_archive(payload: bytes, name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(payload)) as archive:
        parts = archive.infolist()
        if "xl/workbook.xml" not in archive.namelist():
            raise DataError(
                f"{shown(name)} is a zip archive and not an XLSX workbook; unpack it and name its files"
            )
        if len(parts) > _MAX_PARTS or sum(part.file_size for part in parts) > _MAX_UNFOLDED:
            raise DataError(
                f"{shown(name)} unfolds to more than a workbook of text can be; save the table as CSV"
            )
        for part in parts:
            with archive.open(part) as stream:
                # No spreadsheet program writes a document type; entity bombs need one.
                if b"<!DOCTYPE" in stream.read(4096):
                    raise DataError(
                        f"{shown(name)} holds an XML document type; save the table as CSV in UTF-8"
                    )


def _sheet(sheet: Any, name: str, max_rows: int) -> pd.DataFrame:
    empty: tuple[int, list[str]] = (0, [])
    first, header = next(_rows(sheet, 1, MAX_COLUMNS), empty)
    while header and not header[-1]:
        header.pop()
    if not header:
        raise DataError(f"{shown(name)} has an empty first sheet; put the table there")
    width = len(header)
    rows = []
    for number, cells in _rows(sheet, first + 1, width + 1):
        if cells[width]:
            raise DataError(
                f"{shown(name)}: row {number} has a cell beside the last named column; name or remove it"
            )
        rows.append(cells[:width])
        check_rows(len(rows), max_rows, name)
    columns: list[tuple[str, ...]] = list(zip(*rows, strict=True)) if rows else [()] * width
    return build_table(header, columns, name)


def _rows(
    sheet: openpyxl.worksheet._read_only.ReadOnlyWorksheet, start: int, width: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that aren't blank from row `start` on: each one's number and its `width` cells."""
    rows = sheet.iter_rows(min_row=start, max_row=_MAX_SHEET_ROWS, max_col=width, values_only=True)
    for number, values in enumerate(rows, start=start):
        if any(value is not None for value in values):
            cells = [_cell(value) for value in values]
            yield number, cells + [""] * (width - len(cells))


def _cell(value: object) -> str:
    return value.isoformat() if isinstance(value, date | time) else as_text(value)
