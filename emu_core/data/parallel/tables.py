"""Parallel text in a table: tab-separated lines, or any table of ours, with a language in each column."""

from collections.abc import Sequence
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.languages import is_known, language_code
from emu_core.data.parallel.rows import ParallelRows, check_languages
from emu_core.data.readers.lines import is_tsv, read_columns
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

_KEYS = frozenset({"id", "no"})


def read_columns_of_languages(path: Path, languages: Sequence[str] | None = None) -> ParallelRows:
    """Read a table whose column names are languages; of tab-separated text the languages may be given instead.

    Columns that are no language are left alone: `score`, and `id` or `no` where they hold keys and not sentences.

    Args:
        path: the file.
        languages: codes of all columns in order, for tab-separated text without a header.

    Raises:
        DataError: the file can't be read, does not name its languages, has one twice, or has too many rows.
    """
    names, columns, notes = read_columns(path)
    header = _header(names, columns)
    if not is_tsv(path):
        if len(header) < 2:
            raise DataError(
                f"{shown(path.name)}: the columns name no two languages: {listed(names)}; rename those of the "
                "sentences to codes such as en and de"
            )
        start = 1
    else:
        is_header = len(header) >= 2 and (languages is None or set(header.values()) == set(languages))
        if not is_header:
            header = _given(path.name, names, header, languages)
            columns = [(name, *column) for name, column in zip(names, columns, strict=True)]
        start = 2 if is_header else 1
    check_languages(list(header.values()), path.name)
    texts = {code: clean(columns[place]) for place, code in header.items()}
    return ParallelRows(
        texts,
        dict.fromkeys(texts, path.name),
        range(start, start + len(columns[0])),
        place="line" if is_tsv(path) else "row",
        notes=notes,
    )


def _given(
    name: str, cells: Sequence[str], header: dict[int, str], languages: Sequence[str] | None
) -> dict[int, str]:
    """Return the languages of the columns of a file whose first line does not name them."""
    if languages is None:
        raise DataError(
            f"{shown(name)}: the first line names no two languages: {listed(cells, 4)}; put codes such as en and "
            "de above the columns, or name the languages"
        )
    if len(header) == len(cells) >= 2:
        raise DataError(
            f"{shown(name)} is of {listed(header.values())} by its first line and not of {listed(languages)}; name "
            "these, or none"
        )
    if len(languages) != len(cells):
        raise DataError(
            f"{shown(name)} has {counted(len(cells), 'column')} and {counted(len(languages), 'language')} "
            f"{'is' if len(languages) == 1 else 'are'} named: {listed(languages)}; name one for each column"
        )
    return dict(enumerate(languages))


def _header(cells: Sequence[str], columns: Sequence[Sequence[str]]) -> dict[int, str]:
    """Place -> language of the cells that are a language we have a name for, and have no keys below them."""
    found = {}
    for place, cell in enumerate(cells):
        code = language_code(cell)
        if code is None or not is_known(code):
            continue
        # `id` is Indonesian, and `no` Norwegian, only above sentences.
        if code not in _KEYS or any(len(text.split()) > 1 for text in columns[place]):
            found[place] = code
    return found
