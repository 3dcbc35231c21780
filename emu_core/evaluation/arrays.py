"""Shared helpers of the measures: checked unit vectors, and strings as numbers."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.languages import ordered
from emu_core.errors import DataError, Fix

Vectors = NDArray[np.floating]
"""Sentence vectors, (N, d)."""

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts -> (N, d) sentence vectors."""

COPIED = 2**22
"""Numbers of a large array that are copied at once (16 MB)."""


class DistinctTexts:
    """Sentences without repeats (`texts`), in the order in which they first occur, so that each is encoded once."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Collect sentences, which may repeat."""
        self._rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        self.texts = list(self._rows)

    def rows(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """Return the row of each sentence among the distinct ones."""
        return np.fromiter((self._rows[text] for text in texts), np.int64)


def as_matrix(vectors: Vectors) -> NDArray[np.float32]:
    """Return vectors (N, d) as float32; a number too large for float32 becomes infinite.

    Raises:
        DataError: the array is not (N, d), or empty.
    """
    with np.errstate(over="ignore"):
        vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or 0 in vectors.shape:
        raise DataError(f"vectors are an array of (sentences, dimensions), not {vectors.shape}; give some")
    return vectors


def unit_vectors(vectors: Vectors) -> NDArray[np.float32]:
    """Scale vectors (N, d) to length 1, so that a dot product is a cosine; return a new array (N, d).

    Raises:
        DataError: the array is not (N, d), or a vector is zero or not finite.
    """
    vectors = as_matrix(vectors)
    # Dividing by the largest number first keeps the length of any finite vector from overflowing or vanishing.
    largest = np.maximum(vectors.max(axis=1, keepdims=True), -vectors.min(axis=1, keepdims=True))
    if not (finite := np.isfinite(largest)).all():
        raise DataError(
            f"the vector of row {finite.argmin()} (from 0) has a number that is not finite; "
            "leave the sentence out, or train again with a lower ",
            Fix("learning_rate"),
        )
    if not largest.all():
        raise DataError(
            f"the vector of row {largest.argmin()} (from 0) is zero and so has no cosine; leave the sentence out"
        )
    units = vectors / largest
    step = max(1, COPIED // units.shape[1])
    for start in range(0, len(units), step):
        rows = units[start : start + step]  # `norm` squares a copy
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def check_paired(first: Sequence[Any] | NDArray[Any], second: Sequence[Any] | NDArray[Any]) -> None:
    """Raise a DataError unless both have the same length."""
    if len(first) != len(second):
        raise DataError(f"{len(first):,} and {len(second):,} sentences can't be paired; give as many of both")


def check_dimensions(first: Vectors, second: Vectors) -> None:
    """Raise a DataError unless the vectors of two arrays, (N, d) and (M, d), have the same length."""
    if first.shape[1] != second.shape[1]:
        raise DataError(
            f"the vectors have {first.shape[1]} and {second.shape[1]} dimensions; encode both with the same encoder"
        )


def paired_cosines(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """Return the cosine (N,) of each row of two arrays (N, d), to six places, so that equal sentences have exactly 1.

    Raises:
        DataError: a vector is zero or not finite, or the shapes differ.
    """
    check_paired(first, second)
    units = unit_vectors(first), unit_vectors(second)
    check_dimensions(*units)
    return np.asarray(np.einsum("nd,nd->n", *units, dtype=np.float64).round(6), dtype=np.float64)


def check_length(values: Sequence[Hashable], rows: int, what: str) -> None:
    """Raise a DataError unless there is one value for each of `rows` vectors; `what` names the values."""
    if len(values) != rows:
        raise DataError(f"there are {len(values):,} {what} for {rows:,} vectors; give one for each vector")


def codes(values: Sequence[Hashable], rows: int, what: str) -> NDArray[np.int64]:
    """Number the values of `rows` vectors from 0, equal values alike, in the order in which they first occur.

    Raises:
        DataError: there are more or fewer values than vectors.
    """
    check_length(values, rows, what)
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.int64, rows)


def id_keys(ids: Sequence[str], rows: int) -> NDArray[np.int64]:
    """Return keys that are equal exactly where two rows share an id; a row without an id ("") equals only itself.

    Raises:
        DataError: there are more or fewer ids than vectors.
    """
    keys = codes(ids, rows, "ids")
    bare = np.fromiter((value == "" for value in ids), np.bool_, rows)
    return np.where(bare, -1 - np.arange(rows), keys)


def rows_by_language(languages: Sequence[str], rows: int) -> dict[str, NDArray[np.int64]]:
    """Return the row numbers of each language, English first, the others sorted.

    Raises:
        DataError: there are more or fewer languages than vectors.
    """
    numbers = codes(languages, rows, "languages")
    places = {language: rank for rank, language in enumerate(dict.fromkeys(languages))}
    return {language: np.flatnonzero(numbers == places[language]) for language in ordered(places)}


def turns(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each of N numbers how often it occurred before: 0 where it occurs for the first time."""
    return pd.Series(numbers).groupby(numbers).cumcount().to_numpy(np.int64)


def pair_name(source: str, target: str) -> str:
    """Return "s-t", the name of the pair with queries in s and the labelled pool in t."""
    return f"{source}-{target}"
