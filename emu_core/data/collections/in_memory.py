"""Data as people hold it in Python: data frames, Arrow tables, Hugging Face data sets, lists, Series and arrays.

`as_sources` makes of them what `source_files` makes of files, so that all else is the same for both.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd
import pyarrow as pa

from emu_core.data.cleaning import cleaned
from emu_core.data.collections.huggingface import cells_of_table
from emu_core.data.collections.source_files import SourceFile
from emu_core.data.column_names import listed_names
from emu_core.data.labelled.sets import LabelledSet, SentenceSet
from emu_core.data.readers.cells import Cells
from emu_core.data.readers.formats import FILE_ENDINGS
from emu_core.data.readers.limits import cell_text, check_rows
from emu_core.data.wording import shown
from emu_core.errors import InputError

DEMO = "demo"
"""The word for the demo set wherever files are named."""


class ArrowTable(Protocol):
    """A pyarrow Table, a polars DataFrame, or any other table that Narwhals or Arrow can read."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as a stream of Arrow."""


class HubDataset(Protocol):
    """A `Dataset` of Hugging Face, or a `DatasetDict`, whose keys are read like the names of files."""

    def with_format(self, type: str | None = None) -> Any:
        """Return the data set in another format."""


Sources: TypeAlias = str | Path | SentenceSet | pd.DataFrame | ArrowTable | HubDataset | Sequence[Any]
"""Data wherever it is expected: a file, a folder or an archive, the word demo, a labelled set, a data frame (pandas,
polars), a pyarrow Table, a Hugging Face `Dataset` or `DatasetDict`; a list of several; or `(texts, intents)`."""

Texts: TypeAlias = Sequence[str] | Iterable[str]
"""Sentences: a list, a Series or an array of strings."""

_LABELLED = (
    'give a file or a folder, "demo", a labelled set, a DataFrame, a pyarrow Table, a Hugging Face Dataset, or '
    "(texts, intents)"
)
_SENTENCES = (
    "give sentences as a list, a Series or an array of strings, a DataFrame with a column of them, or files"
)
_TO_LIST = ("to_pylist", "tolist", "to_list")  # of Arrow, of NumPy and pandas, of polars


def as_sources(
    data: Sources, *, sentences: bool = False, pair: tuple[str, str] = ("text", "intent")
) -> list[Path | SourceFile]:
    """Return the paths that are named and the tables that are held.

    Args:
        data: as described at `Sources`.
        sentences: whether sentences without intents are expected; strings in a list that name no file are then such.
        pair: the names of two lists in a tuple, of which the first has sentences.

    Raises:
        InputError: it is nothing that can be read; the message says what can.
    """
    if isinstance(data, tuple) and len(data) == 2 and all(map(_is_column, data)):
        return [_table_of_pair(data, pair)]
    if isinstance(data, str | Path):
        return [Path(data)]
    if isinstance(data, list | tuple):
        items: list[Any] = list(data)
    else:
        return list(_tables_of(data, sentences))
    if not items:
        raise InputError(f"the {type(data).__name__} is empty; {_SENTENCES if sentences else _LABELLED}")
    names = [item for item in items if isinstance(item, str | Path)]
    files = [name for name in names if is_file(name)]
    if sentences and names and not files:
        return [_table(Cells(["text"], [_filled(texts_of(items))]), "the list")]
    if sentences and len(files) < len(names):
        raise InputError(f"{shown(files[0])} is a file among sentences; give files, or sentences")
    sources: list[Path | SourceFile] = []
    for item in items:
        sources += [Path(item)] if isinstance(item, str | Path) else _tables_of(item, sentences)
    return sources


def texts_of(texts: Texts) -> list[str]:
    """Return sentences as a list.

    Raises:
        InputError: they are a single string, a frame, or no strings.
    """
    if isinstance(texts, str):
        raise InputError(f"a str is a single sentence; give a list: [{shown(texts, 30)!r}]")
    if _is_frame(texts):
        columns: Any = getattr(texts, "column_names", None) or getattr(texts, "columns", ())
        raise InputError(
            f"{_kind(texts)} is no list of sentences; give one of its columns: {listed_names(map(str, columns))}"
        )
    if not (_is_column(texts) or isinstance(texts, Iterable)) or isinstance(
        texts, bytes | dict | SentenceSet
    ):
        raise InputError(f"{_kind(texts)} holds no sentences; give a list, a Series or an array of strings")
    values = _values(texts)
    for number, value in enumerate(values, 1):
        if not isinstance(value, str):
            what = "missing" if _is_missing(value) else f"{_kind(value)} and no string"
            raise InputError(f"sentence {number:,} of {len(values):,} is {what}; give strings")
    return values


def check_labelled(data: Sources) -> None:
    """Raise an InputError for a list of sentences alone, which would be read as names of files."""
    names = data if isinstance(data, list | tuple) else []
    are_names = len(names) > 1 and all(isinstance(name, str) for name in names)
    if are_names and any(" " in name.strip() for name in names) and not any(map(is_file, names)):
        raise InputError("a list of sentences has no intents; name files, or give a table, with both")


def is_file(name: str | Path) -> bool:
    """Return whether a name is that of a file, a folder or the demo set, and no sentence."""
    if isinstance(name, Path) or name == DEMO or name.lower().endswith(FILE_ENDINGS):
        return True
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a name
        return False


def _kind(value: object) -> str:
    """Return what a value is: "a dict", "an int", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _is_frame(value: object) -> bool:
    return hasattr(type(value), "column_names") or hasattr(type(value), "columns")


def _is_column(value: object) -> bool:
    """Return whether a value is a list, an array, a Series or the like."""
    if isinstance(value, str | bytes | Path | dict | SentenceSet) or _is_frame(value):
        return False
    return isinstance(value, Sequence) or any(hasattr(value, name) for name in _TO_LIST)


def _values(column: Any) -> list[Any]:
    """Return the values of a column. Raises InputError if it has two dimensions."""
    if getattr(column, "ndim", 1) != 1:
        raise InputError(
            f"an array of the shape {tuple(column.shape)} is no list of sentences; give one dimension"
        )
    convert = next((getattr(column, name) for name in _TO_LIST if hasattr(column, name)), None)
    return list(column) if convert is None else list(convert())


def _filled(texts: Sequence[str]) -> list[str]:
    """Return texts without blanks at either end. Raises InputError if one is empty."""
    filled = [cleaned(text) for text in texts]
    if not all(filled):
        raise InputError(f"sentence {filled.index('') + 1:,} is empty; leave it out")
    return filled


def _table(cells: Cells, name: str) -> SourceFile:
    check_rows(len(cells), name)
    return SourceFile(name, cells)


def _table_of_pair(pair: tuple[Any, Any], names: tuple[str, str]) -> SourceFile:
    sentences, others = texts_of(pair[0]), _values(pair[1])
    first, second = names
    if len(sentences) != len(others):
        raise InputError(
            f"there are {len(sentences):,} {first}s and {len(others):,} {second}s; give each {first} its {second}"
        )
    return _table(Cells(names, [sentences, list(map(_cell, others))]), f"({first}s, {second}s)")


def _tables_of(data: Any, sentences: bool) -> Iterable[SourceFile]:
    name = f"the {type(data).__name__}"
    if isinstance(data, SentenceSet):
        rows = data.all_rows() if isinstance(data, LabelledSet) else data.frame
        return [_table(_cells_of_frame(rows), data.name)]
    if isinstance(data, pd.DataFrame):
        return [_table(_cells_of_frame(data), name)]
    if (datasets := sys.modules.get("datasets")) is not None:
        if isinstance(data, datasets.DatasetDict):
            return _splits_of(data, name)
        if isinstance(data, datasets.Dataset):
            return [_data_set(data, name)]
    if sentences and _is_column(data):
        return [_table(Cells(["text"], [_filled(texts_of(data))]), name)]
    if _is_column(data) and not isinstance(data, list | tuple):
        raise InputError(f"{_kind(data)} has no intents; {_LABELLED}")
    if (table := _arrow_table(data)) is not None:
        return [_table(cells_of_table(table, name), name)]
    raise InputError(f"{_kind(data)} is no data; {_SENTENCES if sentences else _LABELLED}")


def _splits_of(data: Any, name: str) -> Iterable[SourceFile]:
    """Return the parts of a `DatasetDict` as the files of a folder, whose names state splits or languages."""
    tree: dict[str, SourceFile] = {}
    for key, part in data.items():
        tree[str(key)] = SourceFile(
            str(key), _data_set(part, str(key)).source, name, is_named=False, tree=tree
        )
    if not tree:
        raise InputError(f"{name} is empty; {_LABELLED}")
    return tree.values()


def _data_set(data: Any, name: str) -> SourceFile:
    # In Arrow's format, rows that were selected or shuffled come in their order, with the names of classes.
    return _table(cells_of_table(data.with_format("arrow")[:], name), name)


def _cells_of_frame(frame: pd.DataFrame) -> Cells:
    """Return the cells of a pandas frame; an index with a name is a column, too."""
    check_rows(len(frame), "the DataFrame")
    if any(name is not None and name not in frame.columns for name in frame.index.names):
        frame = frame.reset_index()
    columns = [frame.iloc[:, number] for number in range(frame.shape[1])]
    return Cells([str(name) for name in frame.columns], [_texts_of_series(column) for column in columns])


def _texts_of_series(column: "pd.Series[Any]") -> list[str]:
    values = column.astype(object).where(column.notna(), None)
    return [value if isinstance(value, str) else _cell(value) for value in values.tolist()]


def _cell(value: object) -> str:
    """Return the text of a cell or an intent; a value of NumPy is that of Python."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return "" if plain is pd.NA or plain is pd.NaT else cell_text(plain)


def _arrow_table(data: Any) -> pa.Table | None:
    """Return a table of any other library, lazy ones computed; None if it is none."""
    import narwhals.stable.v2 as nw

    if isinstance(data, pa.Table):
        return data
    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect("pyarrow")
    if isinstance(frame, nw.DataFrame):
        return frame.to_arrow()
    is_arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return pa.table(data) if is_arrow else None
