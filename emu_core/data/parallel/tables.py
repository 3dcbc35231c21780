"""Parallel text in a table: tab-separated lines, or any table of ours, with a language in each column."""

from collections.abc import Callable, Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.languages import is_known, language_code
from emu_core.data.parallel.rows import ParallelRows, check_languages
from emu_core.data.readers import read_table
from emu_core.data.readers.lines import read_cells
from emu_core.data.readers.table import MAX_ROWS
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

_KEYS = frozenset({"id", "no"})


def read_tsv(path: Path, languages: Sequence[str] | None = None, *, max_rows: int = MAX_ROWS) -> ParallelRows:
    """Read tab-separated text, gzipped or not, whose first line names the columns' languages.

    Columns that are no language are left alone: `score`, and `id` or `no` where they hold keys and not sentences.

    Args:
        path: the file.
        languages: codes of all columns in order, for a file without such a first line.
        max_rows: the most rows to take.

    Raises:
        DataError: the file can't be read, says its languages nowhere, has one twice, has too many rows, or a line has
            more or fewer cells than the first.
    """
    rows, notes = read_cells(path, max_rows=max_rows)
    cells = rows[0]
    header = _header(cells, lambda place: [row[place] for row in rows[1:]])
    if languages is not None and len(header) == len(cells) >= 2 and set(header.values()) != set(languages):
        raise DataError(
            f"{shown(path.name)} says that it is of {listed(header.values())} and not of {listed(languages)}; name "
            "these, or none"
        )
    if len(header) >= 2 and (languages is None or set(header.values()) == set(languages)):
        start, columns = 1, header
    elif languages is None:
        raise DataError(
            f"{shown(path.name)}: the first line names no two languages: {listed(cells, 4)}; put codes such as en and "
            "de above the columns, or name the languages"
        )
    elif len(languages) != len(cells):
        raise DataError(
            f"{shown(path.name)} has {counted(len(cells), 'column')} and {counted(len(languages), 'language')} "
            f"{'is' if len(languages) == 1 else 'are'} named: {listed(languages)}; name one for each column"
        )
    else:
        start, columns = 0, dict(enumerate(languages))
    check_languages(list(columns.values()), path.name)
    return ParallelRows(
        {code: clean([row[place] for row in rows[start:]]) for place, code in columns.items()},
        dict.fromkeys(columns.values(), path.name),
        range(start + 1, len(rows) + 1),
        notes=notes,
    )


def read_columns(path: Path, *, max_rows: int = MAX_ROWS) -> ParallelRows:
    """Read CSV, JSON Lines, Parquet or XLSX whose column names are languages.

    Raises:
        DataError: the file is not such a table, or names a language twice.
    """
    frame = read_table(path, path.name, max_rows=max_rows)
    header = _header(list(frame.columns), lambda place: frame.iloc[:, place].tolist())
    if len(header) < 2:
        raise DataError(
            f"{shown(path.name)}: the columns name no two languages: {listed(frame.columns)}; rename those of the "
            "sentences to codes such as en and de"
        )
    check_languages(list(header.values()), path.name)
    return ParallelRows(
        {code: clean(frame.iloc[:, place].tolist()) for place, code in header.items()},
        dict.fromkeys(header.values(), path.name),
        range(1, len(frame) + 1),
        place="row",
    )


def _header(cells: Sequence[str], column: Callable[[int], list[str]]) -> dict[int, str]:
    """Place -> language of the cells that are a language we have a name for, and have no keys below them."""
    found = {}
    for place, cell in enumerate(cells):
        code = language_code(cell)
        if code is None or not is_known(code):
            continue
        # `id` is Indonesian, and `no` Norwegian, only above sentences.
        if code not in _KEYS or any(len(text.split()) > 1 for text in column(place)):
            found[place] = code
    return found
