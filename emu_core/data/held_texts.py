"""Sentences as people hold them in Python: lists, Series and arrays."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from emu_core.data.cleaning import HALF, holds_half
from emu_core.data.column_names import column_name, listed_names
from emu_core.data.languages import UNDETERMINED, checked_language
from emu_core.data.sets import SentenceSet
from emu_core.data.wording import kind_of, shown
from emu_core.errors import DataError, InputError

Texts: TypeAlias = Sequence[str] | Iterable[str]
"""Sentences: a list, a Series or an array of strings."""


_TO_LIST = ("to_pylist", "tolist", "to_list")  # of Arrow, of NumPy and pandas, of polars


def texts_of(texts: Texts) -> list[str]:
    """Return sentences as a list.

    Raises:
        InputError: they are a single string, a frame, or no strings, or one holds half a character.
    """
    if isinstance(texts, str):
        raise InputError(f"a str is a single sentence; give a list: [{shown(texts, 30)!r}]")
    if is_frame(texts):
        raise InputError(
            f"{kind_of(texts)} is no list of sentences; give one of its columns: {listed_names(column_names_of(texts))}"
        )
    if not _is_list(texts):
        raise InputError(f"{kind_of(texts)} holds no sentences; give a list, a Series or an array of strings")
    values = values_of(texts)
    for number, value in enumerate(values, 1):
        if isinstance(value, str) and not holds_half(value):
            continue
        where = f"sentence {number:,} of {len(values):,}"
        if _is_missing(value):
            raise InputError(f"{where} is missing; leave it out")
        if isinstance(value, str):
            raise InputError(f"{where} holds {HALF}; fix it, or leave it out")
        raise InputError(f"{where} is {kind_of(value)} and no string; give strings")
    return values


def _is_list(value: object) -> bool:
    """Return whether a value has others one after another: a column, or what can be iterated once."""
    is_other = isinstance(value, bytes | dict | set | frozenset | SentenceSet) or is_frame(value)
    return not is_other and (is_column(value) or isinstance(value, Iterable))


def check_as_many(values: Sequence[Any], texts: Sequence[Any], name: str) -> None:
    """Raise an InputError unless there are as many values, which `name` names, as sentences."""
    if len(values) != len(texts):
        raise InputError(
            f"there are {len(texts):,} sentences and {len(values):,} {name}; give each sentence its own"
        )


def spoken_codes(languages: str | Sequence[str] | None, count: int) -> list[str]:
    """Return the code of the language of each of `count` sentences, "" for an unknown one; [] for no languages.

    Raises:
        InputError: there are languages, but not as many, or one is none.
    """
    named = languages_named(languages, count)
    try:
        codes = {name: "" if name in ("", UNDETERMINED) else checked_language(name) for name in set(named)}
    except DataError as error:
        raise InputError(error) from None
    return [codes[name] for name in named]


def languages_named(languages: str | Sequence[str] | None, count: int) -> list[str]:
    """Return the given language of each of `count` sentences, "" where it is missing; [] for no languages.

    Raises:
        InputError: there are languages, but not as many.
    """
    if languages is None or isinstance(languages, str):
        return [languages or ""] * count
    if not _is_list(languages):
        raise InputError(
            f"{kind_of(languages)} names no languages; give a code, such as 'en', or a list of codes"
        )
    named = ["" if _is_missing(name) else name for name in values_of(languages)]
    if named:
        check_as_many(named, range(count), "languages")
    for name in named:
        if not isinstance(name, str):
            checked_language(name)  # says what it is
    return named


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
