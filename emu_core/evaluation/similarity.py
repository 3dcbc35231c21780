"""Cosines between sentences that a person chose, and an order that shows intents as blocks."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emu_core.data.languages import ordered
from emu_core.errors import DataError
from emu_core.evaluation.arrays import check_length, unit_vectors

MAX_SENTENCES = 5000
"""Above this a matrix takes 100 MB and nobody can read it."""


def cosine_matrix(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return the cosine of every two of N vectors (N, d): (N, N), symmetric, from -1 to 1, exactly 1 on the diagonal.

    Raises:
        DataError: a vector is zero or not finite, or there are more than `MAX_SENTENCES`.
    """
    if len(vectors) > MAX_SENTENCES:
        raise DataError(f"{len(vectors):,} sentences are too many to compare; choose up to {MAX_SENTENCES:,}")
    units = unit_vectors(vectors)
    cosines = np.clip(units @ units.T, -1, 1)
    np.fill_diagonal(cosines, 1)
    return cosines


def heat_map_order(intents: Sequence[str], languages: Sequence[str]) -> NDArray[np.int64]:
    """Return the row numbers by intent, then by language (English first), then as they were.

    Raises:
        DataError: the two differ in length.
    """
    check_length(languages, len(intents), "languages")
    language_places = {language: place for place, language in enumerate(ordered(languages))}
    places = [
        (intent, language_places[language]) for intent, language in zip(intents, languages, strict=True)
    ]
    return np.array(sorted(range(len(places)), key=places.__getitem__), dtype=np.int64)
