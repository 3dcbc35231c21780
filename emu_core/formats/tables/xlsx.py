"""Excel workbooks (XLSX): their sheets by language or by split, or else one of them.

calamine reads the cells. It allocates the whole rectangle that they span, and reads the archive in its own way, so it
is given a new archive with the parts that were measured here.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from xml.parsers import expat

from python_calamine import CalamineSheet, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum, load_workbook

from emu_core.data.cleaning import cell_text
from emu_core.data.column_names import folded_name, has_role
from emu_core.data.languages import is_known, language_code
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.formats.file_names import statements
from emu_core.formats.limits import MAX_COLUMNS, MAX_FILE_BYTES, check_rows, columns_of
from emu_core.formats.tables.cells import Cells

# A workbook of ordinary text expands to five to ten times its size, far below this.
_MAX_UNFOLDED = 3 * MAX_FILE_BYTES
_MAX_PARTS = 10_000
_MAX_SHEET_ROWS = 1_048_576  # the limit of spreadsheet programs
_MAX_CELLS = 30_000_000  # each cell of the rectangle takes 32 bytes
_NEEDED = re.compile(r"(xl/.+|_rels/\.rels|\[Content_Types\]\.xml)(?<=\.xml|rels)")
# calamine reads an error, such as #N/A, as an empty cell; its text is the sheet's, as that of a formula is.
_ERROR_CELL = re.compile(rb"""(<(?:\w+:)?c\s[^>]*\bt=["'])e(?=["'])""")


@dataclass(frozen=True, eq=False)
class _Sheet:
    """A sheet whose first row that is not blank is taken for the names of its columns."""

    name: str
    header: list[str]
    rows: Iterator[tuple[int, list[str]]]  # their numbers, and their cells
    states: Mapping[str, str] = field(
        default_factory=lambda: {"language": "", "split": ""}
    )  # language and split by its name; "" for none

    @property
    def columns(self) -> list[str]:
        """The folded names of the columns, sorted."""
        return sorted(map(folded_name, self.header))

    def has_rows(self) -> bool:
        """Return whether there is a row below the header."""
        first = next(self.rows, None)
        if first is not None:
            object.__setattr__(self, "rows", chain([first], self.rows))
        return first is not None

    def body(self, where: str) -> list[list[str]]:
        """Return the rows below the header. Raises a DataError for a cell beside them."""
        width = len(self.header)
        body = []
        for number, cells in self.rows:
            if not any(cells[: width + 1]):
                continue
            if any(cells[width : width + 1]):
                raise DataError(
                    f"{where}: row {number} has a cell beside the last named column; name or remove it"
                )
            body.append(cells[:width])
            check_rows(len(body), where)
        return body


def parse(payload: bytes, name: str) -> Cells:
    """Read a workbook, in which a formula is its last value.

    Sheets with the same columns whose names are languages or splits are one table; of others, the first with a column
    of sentences is read, or else the first. Blank and hidden ones do not count.
    """
    workbook = load_workbook(_measured(payload, name))
    sheets = _sheets(workbook, name)
    read = next(filter(None, (_alike(sheets, role) for role in ("language", "split"))), [])
    read = read or [next((sheet for sheet in sheets if has_role(sheet.header, "text")), sheets[0])]
    where, notes = shown(name), _notes(sheets, read, name)
    if len(read) > 1:
        return _joined(read, name, notes)
    header = read[0].header
    return Cells(header, columns_of(read[0].body(where), len(header)), is_first_row=True, notes=notes)


def _notes(sheets: Sequence[_Sheet], read: Sequence[_Sheet], name: str) -> tuple[str, ...]:
    """Say which sheets were left, if any."""
    titles = {sheet: f"'{shown(sheet.name)}'" for sheet in sheets}
    left = [title for sheet, title in titles.items() if sheet not in read]
    what = "the sheets " + listed(titles[sheet] for sheet in read)
    if len(read) == 1:
        what = f"sheet {sheets.index(read[0]) + 1} of {len(sheets)} ({titles[read[0]]})"
    return (f"{shown(name)}: read {what}; left: {listed(left)}.",) if left else ()


def _sheets(workbook: CalamineWorkbook, name: str) -> list[_Sheet]:
    """Return the visible sheets that are not blank. Raises a DataError if there is none."""
    shown_sheets = [
        about.name
        for about in workbook.sheets_metadata
        if about.typ is SheetTypeEnum.WorkSheet and about.visible is SheetVisibleEnum.Visible
    ]
    if not shown_sheets:
        raise DataError(f"{shown(name)} has no sheet with cells; put the table on its first sheet")
    sheets = []
    for title in shown_sheets:
        rows = _rows(workbook.get_sheet_by_name(title))
        _, header = next(rows, (0, []))
        while header and not header[-1]:
            header.pop()
        if len(header) > MAX_COLUMNS:
            raise DataError(f"{shown(name)} has {len(header):,} columns; keep text, intent and language")
        if header:
            sheets.append(_Sheet(title, header, rows))
    if not sheets:
        raise DataError(f"{shown(name)} has an empty first sheet; put the table there")
    filled = [*filter(_Sheet.has_rows, sheets)]
    return [_stating(sheet, filled) if sheet in filled else sheet for sheet in sheets]


def _stating(sheet: _Sheet, sheets: Sequence[_Sheet]) -> _Sheet:
    """Return a sheet with what its name states among those with the same columns; others are no part of its table."""
    names = [other.name for other in sheets if other.columns == sheet.columns]
    states = statements(names, [""] * len(names))[names.index(sheet.name)]
    code = language_code(sheet.name)
    by_name = code if code and is_known(code) else states.by_names
    return replace(sheet, states={"language": by_name or "", "split": states.split})


def _alike(sheets: Sequence[_Sheet], role: str) -> list[_Sheet]:
    """Return the sheets with the same columns whose names state a language or a split, if there are two or more."""
    for first in sheets:
        alike = [sheet for sheet in sheets if sheet.states[role] and sheet.columns == first.columns]
        if len(alike) > 1:
            return alike
    return []


def _joined(sheets: Sequence[_Sheet], name: str, notes: tuple[str, ...]) -> Cells:
    """Return the rows of sheets with the same columns, and what the names of the sheets state."""
    first = sheets[0]
    order = [folded_name(label) for label in first.header]
    stated = [
        role
        for role in ("language", "split")
        if not has_role(first.header, role) and any(sheet.states[role] for sheet in sheets)
    ]
    rows: list[list[str]] = []
    for sheet in sheets:
        positions = [list(map(folded_name, sheet.header)).index(label) for label in order]
        values = [sheet.states[role] for role in stated]
        where = f"{shown(name)}, sheet '{shown(sheet.name)}'"
        rows += [[*(cells[position] for position in positions), *values] for cells in sheet.body(where)]
        check_rows(len(rows), name)
    titles = listed(sheet.name for sheet in sheets)
    recognised = f"Workbook with a sheet per {' and '.join(stated) or 'language'} ({titles})"
    header = [*first.header, *stated]
    return Cells(header, columns_of(rows, len(header)), False, recognised, notes)


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
