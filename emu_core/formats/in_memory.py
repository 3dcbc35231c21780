"""Data as people hold it in Python: data frames, Arrow tables, Hugging Face data sets, lists, Series and arrays.

`as_sources` makes of them what `source_files` makes of files, so that all else is the same for both.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd
import pyarrow as pa

from emu_core.data.cleaning import cell_text, cleaned
from emu_core.data.column_names import column_name, listed_names
from emu_core.data.demo import DEMO
from emu_core.data.held_texts import column_names_of, is_column, is_frame, texts_of, values_of
from emu_core.data.sets import LabelledSet, SentenceSet
from emu_core.data.wording import kind_of, shown
from emu_core.errors import InputError
from emu_core.formats.collections.huggingface import cells_of_table
from emu_core.formats.limits import check_rows
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.formats import FILE_ENDINGS, STRUCTURED_ENDINGS, UNREAD_ENDINGS

_NO_SENTENCES = (*STRUCTURED_ENDINGS, *UNREAD_ENDINGS)  # ends of a word that is the name of a file


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


class Intents(Enum):
    """Whether sentences need an intent."""

    NEEDED = "needed"
    SOME = "where there are any"
    UNREAD = "not looked at"


@dataclass(frozen=True)
class Expected:
    """The data that a function expects.

    Attributes:
        remedy: what can be given, the end of a message.
        pair: the names of two lists in a tuple, of which the first has sentences; None if two lists are no such data.
        are_sentences: whether strings in a list that name no file, and the values of a Series, are sentences.
        may_be_blank: whether such a sentence may be empty.
        intents: whether sentences need an intent; if not, each line of a text file is one.
        required: roles that need a column.
    """

    remedy: str
    pair: tuple[str, str] | None = None
    are_sentences: bool = False
    may_be_blank: bool = False
    intents: Intents = Intents.NEEDED
    required: tuple[str, ...] = ("text", "intent", "language")


LABELLED = Expected(
    'give a file or a folder, "demo", a labelled set, a DataFrame, a pyarrow Table, a Hugging Face Dataset, or '
    "(texts, intents)",
    ("text", "intent"),
)


SENTENCES = Expected(
    "give sentences as a list, a Series or an array of strings, a DataFrame with a column of them, or files",
    ("text", "intent"),
    are_sentences=True,
    intents=Intents.UNREAD,
    required=("text", "language"),
)
PARTLY_LABELLED = replace(SENTENCES, intents=Intents.SOME)


TABLES = "a DataFrame, a pyarrow Table or a Hugging Face Dataset"


def as_sources(data: Sources, expected: Expected = LABELLED) -> list[Path | SourceFile]:
    """Return the paths that are named and the tables that are held; data are described at `Sources`.

    Raises:
        InputError: it is nothing that can be read; the message says what can.
    """
    if isinstance(data, tuple) and len(data) == 2 and any(map(is_column, data)) and expected.pair:
        return [_table_of_pair(data, expected.pair)]
    if isinstance(data, str | Path):
        if not str(data).strip():
            raise InputError(f"the name of a file is empty; {expected.remedy}")
        return [Path(data)]
    if not isinstance(data, list | tuple):
        return list(_tables_of(data, expected))
    items: list[Any] = list(data)
    if not items:
        raise InputError(f"the {type(data).__name__} is empty; {expected.remedy}")
    names = [item for item in items if isinstance(item, str | Path)]
    files = [name for name in names if is_file(name)]
    if expected.are_sentences and names and not files:
        return [_table_of_texts(items, "the list", expected)]
    if expected.are_sentences and len(files) < len(names):
        raise InputError(f"{shown(files[0])} is a file among sentences; give files, or sentences")
    sources: list[Path | SourceFile] = []
    for item in items:
        sources += [Path(item)] if isinstance(item, str | Path) else _tables_of(item, expected)
    return sources


def check_labelled(data: Sources) -> None:
    """Raise an InputError for a list of sentences alone, which would be read as names of files."""
    if isinstance(data, list | tuple) and are_sentences(data):
        raise InputError("a list of sentences has no intents; name files, or give a table, with both")


def are_sentences(data: object) -> bool:
    """Return whether data are a list, a Series or an array of sentences, and no names of files."""
    values = values_of(data) if is_column(data) and getattr(data, "ndim", 1) == 1 else []
    are_names = len(values) > 1 and all(isinstance(name, str) for name in values)
    return are_names and any(" " in name.strip() for name in values) and not any(map(is_file, values))


def is_file(name: str | Path) -> bool:
    """Return whether a name is that of a file, a folder or the demo set, and no sentence."""
    if isinstance(name, Path) or name == DEMO or name.lower().endswith(FILE_ENDINGS):
        return True
    if not name.strip():
        return False
    is_word = not any(map(str.isspace, name))
    if is_word and (name.lower().endswith(_NO_SENTENCES) or name.startswith(("./", "../"))):
        return True
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a name
        return False


def _table(cells: Cells, name: str) -> SourceFile:
    if not len(cells):
        raise InputError(f"{name} has no rows; give one with some")
    check_rows(len(cells), name)
    return SourceFile(name, cells)


def _table_of_texts(column: Any, name: str, expected: Expected) -> SourceFile:
    """Return a table with a column of sentences. Raises InputError if one is empty, unless it may be."""
    texts = [cleaned(text) for text in texts_of(column)]
    if not expected.may_be_blank and not all(texts):
        raise InputError(f"sentence {texts.index('') + 1:,} is empty; leave it out")
    return _table(Cells(["text"], [texts]), name)


def _table_of_pair(pair: tuple[Any, Any], names: tuple[str, str]) -> SourceFile:
    first, second = names
    for values, name in zip(pair, names, strict=True):
        if is_frame(values):
            columns = listed_names(column_names_of(values))
            raise InputError(f"the {name}s are {kind_of(values)}; give one of its columns: {columns}")
        if not is_column(values):
            raise InputError(f"the {name}s are {kind_of(values)}; give a list, a Series or an array")
    sentences, others = texts_of(pair[0]), values_of(pair[1])
    if len(sentences) != len(others):
        raise InputError(
            f"there are {len(sentences):,} {first}s and {len(others):,} {second}s; give each {first} its {second}"
        )
    if (bad := next((value for value in others if isinstance(value, bytes)), None)) is not None:
        raise InputError(f"the {second} {shown(str(bad))} is {kind_of(bad)}; give strings or numbers")
    return _table(Cells(names, [sentences, list(map(_cell, others))]), f"({first}s, {second}s)")


def _tables_of(data: Any, expected: Expected) -> Iterable[SourceFile]:
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
    if expected.are_sentences and is_column(data):
        return [_table_of_texts(data, name, expected)]
    if is_column(data) and not isinstance(data, list | tuple):
        raise InputError(f"{kind_of(data)} is a single column; {expected.remedy}")
    if (table := _arrow_table(data)) is not None:
        return [_table(cells_of_table(table, name), name)]
    if isinstance(data, dict | list | tuple):
        raise InputError(
            f"{kind_of(data)} is no table; make it one by pandas.DataFrame, or {expected.remedy}"
        )
    raise InputError(f"{kind_of(data)} is no data; {expected.remedy}")


def _splits_of(data: Any, name: str) -> Iterable[SourceFile]:
    """Return the parts of a `DatasetDict` as the files of a folder, whose names state splits or languages."""
    tree: dict[str, SourceFile] = {}
    for key, part in data.items():
        if len(part):
            table = _data_set(part, str(key))
            tree[str(key)] = SourceFile(str(key), table.source, name, is_named=False, tree=tree)
    if not tree:
        raise InputError(f"{name} has no rows; give one with some")
    return tree.values()


def _data_set(data: Any, name: str) -> SourceFile:
    # In Arrow's format, rows that were selected or shuffled come in their order, with the names of classes.
    return _table(cells_of_table(data.with_format("arrow")[:], name), name)


def _cells_of_frame(frame: pd.DataFrame) -> Cells:
    """Return the cells of a pandas frame; an index with a name is a column, too."""
    check_rows(len(frame), "the DataFrame")
    index = {
        name: frame.index.get_level_values(level)
        for level, name in enumerate(frame.index.names)
        if name is not None and name not in frame.columns
    }
    named: list[tuple[object, Any]] = [(name, level.to_series()) for name, level in index.items()]
    named += [(name, frame.iloc[:, number]) for number, name in enumerate(frame.columns)]
    cells = {
        number: texts
        for number, (_, column) in enumerate(named)
        if (texts := _texts_of_series(column)) is not None
    }
    if named and not cells:
        raise InputError("the DataFrame has no column of strings, but bytes; decode them")
    return Cells([column_name(named[number][0]) for number in cells], list(cells.values()))


def _texts_of_series(column: "pd.Series[Any]") -> list[str] | None:
    """Return the values as strings; None if there are bytes among them, which are no text."""
    values = column.astype(object).where(column.notna(), None).tolist()
    if any(isinstance(value, bytes | bytearray) for value in values):
        return None
    return [value if isinstance(value, str) else _cell(value) for value in values]


def _cell(value: object) -> str:
    """Return the text of a cell or an intent; a value of NumPy is that of Python."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return "" if plain is pd.NA or plain is pd.NaT else cell_text(plain)


def _arrow_table(data: Any) -> pa.Table | None:
    """Return a table of any other library, lazy ones computed; None if it is none."""
    import narwhals.stable.v2 as nw

    if isinstance(data, pa.Table):
        return data
    if isinstance(data, type):
        return None
    frame: Any = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        try:
            frame = frame.collect("pyarrow")
        except Exception as error:  # each library has errors of its own, for what was asked of it before
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(f"{kind_of(data)} can't be computed: {reason}; collect it yourself") from error
    if isinstance(frame, nw.DataFrame):
        return frame.to_arrow()
    is_arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return pa.table(data) if is_arrow else None
