"""Tables in any of the formats of `formats`; text may be gzipped."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from emu_core.data.missing import without_missing
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.formats.encodings import checked_text, encoding_notes, read_lines
from emu_core.formats.limits import check_rows, columns_of, opened
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.delimited import stated_delimiter
from emu_core.formats.tables.formats import CSV, JSON_LINES, TABLE_FORMATS, TSV, format_of, unpacked_name
from emu_core.formats.tables.json_tables import cells_of_json, looks_like_json


def read_table(
    source: Path | bytes | Cells,
    name: str,
    shape: Callable[[Cells, str], Cells] | None = None,
    decoded_json: object = None,
) -> pd.DataFrame:
    """Read a table as strings, without interpreting its values: "NA", "null" and "007" stay text.

    The content decides the format, and the ending of the name if the content is ambiguous. Missing values are "".
    Among `frame.attrs` are `encoding`, that of a text file, and `recognised` and `notes`, which are those of `Cells`.

    Args:
        source: a path, the content of a file, or cells that were read already.
        name: the file's name.
        shape: gives a table another shape before it is checked, such as `shaped`; by default the first row always names
            the columns.
        decoded_json: the value in the content, if that is JSON that is decoded already.

    Raises:
        DataError: the file is missing, too large, empty, not a table, or broken; the message says where and
            what to do.
    """
    if isinstance(source, Cells):
        frame = (shape(source, name) if shape else source).frame(name)
        frame.attrs["encoding"] = "utf-8"
        return frame
    with opened(source, name) as file:
        payload = file.read()
    if file.is_gzipped:
        name = unpacked_name(name)
    if decoded_json is not None:
        cells, encoding = cells_of_json(decoded_json, name), checked_text(payload, name)[1]
    else:
        cells, encoding = _read_cells(payload, name, may_be_binary=not file.is_gzipped)
    frame = (shape(cells, name) if shape else cells).frame(name)
    frame.attrs["encoding"] = encoding
    return frame


def _read_cells(payload: bytes, name: str, *, may_be_binary: bool) -> tuple[Cells, str]:
    """Return the cells of a file's content, and the encoding of its text."""
    for table in TABLE_FORMATS if may_be_binary else ():
        if table.magic and payload.startswith(table.magic):
            try:
                return table.parse(payload, name), "utf-8"
            except DataError:
                raise
            except Exception as error:  # a damaged file fails in dozens of ways
                raise DataError(
                    f"{shown(name)} can't be read as {table.title}; save it again, or as CSV in UTF-8"
                ) from error
    text, encoding = checked_text(payload, name)
    table = JSON_LINES if format_of(name) is JSON_LINES or looks_like_json(text) else CSV
    return table.parse(text, name), encoding


def read_columns(
    path: Path, *, by_tabs: bool = False
) -> tuple[list[str], list[Sequence[str]], tuple[str, ...]]:
    """Return the header, the columns and the notes of a table: of a .tsv line by line, else by `read_table`.

    In a .tsv, gzipped or not, and in any text with `by_tabs`, a line is always a row, and a blank line is a row of
    empty cells. Quotes are part of the text, except those that spreadsheets put round a cell with quotes inside
    (doubled). Errors of spreadsheets are empty cells.

    Raises:
        DataError: the file can't be read, has too many rows, or a line has more or fewer cells than the first.
    """
    if format_of(path.name) is not TSV and not by_tabs:
        frame = read_table(path, path.name)
        notes = encoding_notes(path.name, frame.attrs.get("encoding", "utf-8"))
        return (
            list(frame.columns),
            [without_missing(frame.iloc[:, number], "text").tolist() for number in range(frame.shape[1])],
            notes,
        )
    lines, notes = read_lines(path, path.name, are_aligned=True)
    check_rows(len(lines), path.name)
    delimiter = stated_delimiter(lines[0])[0] if len(lines) > 1 else None
    first = 0 if delimiter is None else 1
    delimiter = delimiter or "\t"
    width = lines[first].count(delimiter) + 1
    rows = []
    for number, line in enumerate(lines[first:], first + 1):
        cells = line.split(delimiter) if line.strip() else [""] * width
        if len(cells) != width:
            raise DataError(
                f"{shown(path.name)}: line {number} has {counted(len(cells), 'cell')} but the first has {width}; "
                "write each row as one line with a tab between the cells"
            )
        rows.append([_unquoted(cell) for cell in cells] if '""' in line else cells)
    header, *body = rows
    return header, columns_of(body, width), notes


def _unquoted(cell: str) -> str:
    inner = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '""' in inner
    return inner.replace('""', '"') if is_quoted and '"' not in inner.replace('""', "") else cell
