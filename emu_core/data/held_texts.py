"""Sentences as people hold them in Python: lists, Series and arrays."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from emu_core.data.column_names import column_name, listed_names
from emu_core.data.sets import SentenceSet
from emu_core.data.wording import kind_of, shown
from emu_core.errors import InputError

Texts: TypeAlias = Sequence[str] | Iterable[str]
"""Sentences: a list, a Series or an array of strings."""


_TO_LIST = ("to_pylist", "tolist", "to_list")  # of Arrow, of NumPy and pandas, of polars


def texts_of(texts: Texts) -> list[str]:
    """Return sentences as a list.

    Raises:
        InputError: they are a single string, a frame, or no strings.
    """
    if isinstance(texts, str):
        raise InputError(f"a str is a single sentence; give a list: [{shown(texts, 30)!r}]")
    if is_frame(texts):
        raise InputError(
            f"{kind_of(texts)} is no list of sentences; give one of its columns: {listed_names(column_names_of(texts))}"
        )
    if not (is_column(texts) or isinstance(texts, Iterable)) or isinstance(
        texts, bytes | dict | set | frozenset | SentenceSet
    ):
        raise InputError(f"{kind_of(texts)} holds no sentences; give a list, a Series or an array of strings")
    values = values_of(texts)
    for number, value in enumerate(values, 1):
        if not isinstance(value, str):
            where = f"sentence {number:,} of {len(values):,}"
            if _is_missing(value):
                raise InputError(f"{where} is missing; leave it out")
            raise InputError(f"{where} is {kind_of(value)} and no string; give strings")
    return values


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def is_frame(value: object) -> bool:
    """Return whether a value is a table of any library."""
    return hasattr(type(value), "column_names") or hasattr(type(value), "columns")


def column_names_of(frame: Any) -> list[str]:
    """Return the names of a table's columns."""
    names = getattr(frame, "column_names", None)
    if names is None:  # the columns of a pyarrow Table have no names
        names = frame.collect_schema().names() if hasattr(frame, "collect_schema") else frame.columns
    return [column_name(name) for name in names]


def is_column(value: object) -> bool:
    """Return whether a value is a list, an array, a Series or the like."""
    if isinstance(value, str | bytes | Path | dict | SentenceSet) or is_frame(value):
        return False
    return isinstance(value, Sequence) or any(hasattr(value, name) for name in _TO_LIST)


def values_of(column: Any) -> list[Any]:
    """Return the values of a column. Raises InputError if it has two dimensions."""
    if getattr(column, "ndim", 1) != 1:
        kind = kind_of(column) if hasattr(column, "tocoo") else "an array"
        raise InputError(
            f"{kind} of the shape {tuple(column.shape)} is no list of sentences; give one dimension"
        )
    convert = next((getattr(column, name) for name in _TO_LIST if hasattr(column, name)), None)
    return list(column) if convert is None else list(convert())
