"""Excel workbooks (XLSX): their first sheet.

calamine reads the cells. It allocates the whole rectangle that they span, and reads the archive in its own way, so it
is given a new archive with the parts that were measured here.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from xml.parsers import expat

import pandas as pd
from python_calamine import CalamineSheet, SheetTypeEnum, load_workbook

from emu_core.data.readers.limits import (
    MAX_COLUMNS,
    MAX_FILE_BYTES,
    build_table,
    cell_text,
    check_rows,
    columns_of,
)
from emu_core.data.wording import shown
from emu_core.errors import DataError

# A workbook of ordinary text expands to five to ten times its size, far below this.
_MAX_UNFOLDED = 3 * MAX_FILE_BYTES
_MAX_PARTS = 10_000
_MAX_SHEET_ROWS = 1_048_576  # the limit of spreadsheet programs
_MAX_CELLS = 30_000_000  # each cell of the rectangle takes 32 bytes
_NEEDED = re.compile(r"(xl/.+|_rels/\.rels|\[Content_Types\]\.xml)(?<=\.xml|rels)")
# calamine reads an error, such as #N/A, as an empty cell; its text is the sheet's, as that of a formula is.
_ERROR_CELL = re.compile(rb"""(<(?:\w+:)?c\s[^>]*\bt=["'])e(?=["'])""")


def parse(payload: bytes, name: str) -> pd.DataFrame:
    """Read the first sheet: its first row that is not blank names the columns; a formula is its last value."""
    workbook = load_workbook(_measured(payload, name))
    sheets = [sheet.typ is SheetTypeEnum.WorkSheet for sheet in workbook.sheets_metadata]
    if True not in sheets:
        raise DataError(f"{shown(name)} has no sheet with cells; put the table on its first sheet")
    rows = _rows(workbook.get_sheet_by_index(sheets.index(True)))
    _, header = next(rows, (0, []))
    while header and not header[-1]:
        header.pop()
    if not header:
        raise DataError(f"{shown(name)} has an empty first sheet; put the table there")
    width = len(header)
    if width > MAX_COLUMNS:
        raise DataError(f"{shown(name)} has {width:,} columns; keep text, intent and language")
    body = []
    for number, cells in rows:
        if not any(cells[: width + 1]):
            continue
        if any(cells[width : width + 1]):
            raise DataError(
                f"{shown(name)}: row {number} has a cell beside the last named column; name or remove it"
            )
        body.append(cells[:width])
        check_rows(len(body), name)
    return build_table(header, columns_of(body, width), name)


def _rows(sheet: CalamineSheet) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row that is not blank; all have the same length."""
    left = [""] * (sheet.start or (0, 0))[1]
    for number, values in enumerate(sheet.iter_rows(), start=1):
        cells = list(map(cell_text, values))
        if any(cells):
            yield number, left + cells


def _measured(payload: bytes, name: str) -> io.BytesIO:
    """Return an archive with the parts of a workbook that hold cells, none of which is too large.

    Raises:
        DataError: this is not a workbook, or it is one that is made to use up the memory.
    """
    measured = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(payload)) as archive,
        zipfile.ZipFile(measured, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy,
    ):
        parts = archive.infolist()
        if "xl/workbook.xml" not in archive.namelist():
            raise DataError(
                f"{shown(name)} is a zip archive and not an XLSX workbook; unpack it and name its files"
            )
        if len(parts) > _MAX_PARTS or sum(part.file_size for part in parts) > _MAX_UNFOLDED:
            raise DataError(
                f"{shown(name)} expands to more than a workbook of text can; save the table as CSV"
            )
        for part in dict.fromkeys(archive.namelist()):
            if _NEEDED.fullmatch(part):
                xml = archive.read(part)
                _Part(xml, name)
                copy.writestr(part, _ERROR_CELL.sub(rb"\1str", xml))
    measured.seek(0)
    return measured


class _Part:
    """The XML of a part of a workbook, of which the rectangle of the cells is measured.

    Raises:
        DataError: the cells reach below the last row, span too large a rectangle, or there is a document type.
    """

    def __init__(self, xml: bytes, name: str) -> None:
        self._name = name
        self._row = self._cell_row = self._column = self._last_row = self._last_column = 0
        parser = expat.ParserCreate("utf-8")
        parser.StartElementHandler = self._start
        parser.StartDoctypeDeclHandler = self._refuse_document_type
        parser.Parse(xml, True)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if tag == "c":
            # A cell without a reference is beside the one before it.
            self._cell_row, self._column = self._row, self._column + 1
            if reference := attributes.get("r"):
                letters = reference.rstrip("0123456789")
                self._cell_row, self._column = max(self._row, int(reference[len(letters) :])), 0
                for letter in letters.upper():
                    self._column = self._column * 26 + ord(letter) - ord("A") + 1
        elif tag == "row":
            self._row, self._column = int(attributes.get("r") or self._row + 1), 0
        elif tag in ("v", "is", "f"):  # a cell that has nothing but a style is none
            self._last_row = max(self._last_row, self._cell_row)
            self._last_column = max(self._last_column, self._column)
            self._check()

    def _check(self) -> None:
        if self._last_row > _MAX_SHEET_ROWS:
            raise DataError(
                f"{shown(self._name)}: row {shown(f'{self._last_row:,}', 40)} is beyond the last row of a workbook, "
                f"{_MAX_SHEET_ROWS:,}; move it up, or save the table as CSV"
            )
        if self._last_row * self._last_column > _MAX_CELLS:
            raise DataError(
                f"{shown(self._name)} has a sheet whose cells reach over {self._last_row:,} rows and "
                f"{shown(f'{self._last_column:,}', 40)} columns; delete those far from the table, or save it as CSV"
            )

    def _refuse_document_type(self, *_: object) -> None:
        # Entity bombs need one, and no spreadsheet program writes it.
        raise DataError(f"{shown(self._name)} holds an XML document type; save the table as CSV in UTF-8")
