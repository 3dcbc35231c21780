"""The lines of a plain or tab-separated text file, counted as an editor counts them."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.readers.opened import MAX_BYTES
from emu_core.data.readers.read import encoding_notes, read_table, read_text
from emu_core.data.readers.table import MAX_ROWS, check_rows
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError

_TABLES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".xlsx")


def read_lines(path: Path, *, max_bytes: int = MAX_BYTES) -> tuple[list[str], tuple[str, ...]]:
    r"""Read a text file, gzipped or not, in whatever encoding it is.

    Only line ends end a line: U+2028 and its like, at which `str.splitlines` breaks, stay in the text, for two parallel
    files would come apart there. Blank lines at the end are no lines.

    Returns:
        The lines without their ends (one or more), and a note if the file is not UTF-8.

    Raises:
        DataError: the file is missing, too large, empty or not text.
    """
    text, encoding = read_text(path, path.name, max_bytes=max_bytes)
    text = text.rstrip("\r\n")
    lines = text.split("\n") if "\n" in text else text.split("\r")
    lines = [line.removesuffix("\r") for line in lines]
    while not lines[-1].strip():  # there is a line with text, or the file would have been refused
        lines.pop()
    return lines, encoding_notes(path.name, encoding)


def read_cells(path: Path, *, max_rows: int = MAX_ROWS) -> tuple[list[list[str]], tuple[str, ...]]:
    """Read tab-separated text, gzipped or not: a row is a line, always, and as wide as the first.

    Quotes are characters of the text; only a cell that is quoted as spreadsheets do it (with its own quotes doubled) is
    unquoted. A blank line is a row of empty cells.

    Returns:
        The rows, row i from line i + 1, and a note if the file is not UTF-8.

    Raises:
        DataError: the file can't be read, has too many rows, or a line has more or fewer cells than the first.
    """
    lines, notes = read_lines(path)
    check_rows(len(lines), max_rows, path.name)
    width = lines[0].count("\t") + 1
    rows = []
    for number, line in enumerate(lines, 1):
        cells = line.split("\t") if line.strip() else [""] * width
        if len(cells) != width:
            raise DataError(
                f"{shown(path.name)}: line {number} has {counted(len(cells), 'cell')} but the first has {width}; "
                "write each row as one line with a tab between the cells"
            )
        rows.append([_unquoted(cell) for cell in cells] if '""' in line else cells)
    return rows, notes


def read_columns(path: Path) -> tuple[list[str], list[Sequence[str]], tuple[str, ...]]:
    """Read a table of texts: tab-separated lines as `read_cells` does, other formats as `read_table` does.

    Returns:
        The header, the columns below it, and a note if the file is not UTF-8.
    """
    if is_tsv(path):
        (header, *rows), notes = read_cells(path)
        return header, list(zip(*rows, strict=True)) if rows else [()] * len(header), notes
    frame = read_table(path, path.name)
    notes = encoding_notes(path.name, frame.attrs.get("encoding", "utf-8"))
    return list(frame.columns), [frame.iloc[:, place].tolist() for place in range(frame.shape[1])], notes


def is_table(path: Path) -> bool:
    """Return whether a file's name is one of a table, in whatever format."""
    return path.name.lower().removesuffix(".gz").endswith(_TABLES)


def is_tsv(path: Path) -> bool:
    """Return whether a file's name is one of tab-separated text."""
    return path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def _unquoted(cell: str) -> str:
    inner = cell[1:-1]
    is_quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '""' in inner
    return inner.replace('""', '"') if is_quoted and '"' not in inner.replace('""', "") else cell
