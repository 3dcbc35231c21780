"""How the nearest neighbours of sentences change from one encoder to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class Change(StrEnum):
    """The change of a sentence's nearest neighbour between two encoders."""

    FIXED = "fixed"
    BROKEN = "broken"
    CHANGED = "changed"
    UNCHANGED = "unchanged"

    @property
    def meaning(self) -> str:
        """An explanation of the change."""
        return _MEANINGS[self]


_MEANINGS = {
    Change.FIXED: "the old neighbour had another intent, the new one has the sentence's own",
    Change.BROKEN: "the old neighbour had the sentence's own intent, the new one has another",
    Change.CHANGED: "another neighbour, as right or as wrong as the old one",
    Change.UNCHANGED: "the same neighbour",
}


@dataclass(frozen=True, eq=False)
class Morph:
    """The same sentences on the maps of two encoders, and how the nearest neighbour of each changed."""

    sentences: pd.DataFrame  # N rows with the columns `text`, `intent` and `language`
    titles: tuple[str, str]  # of the maps
    places: NDArray[np.float32]  # (2, N, 2); the second map is rotated onto the first (`projection.aligned`)
    changes: NDArray[np.str_]  # (N,), a `Change` each
    shown: NDArray[np.bool_] | None = None  # (N,), those that are drawn, at the scale of all; None for all


def changes_of(
    intents: Sequence[str] | NDArray[np.generic], old: NDArray[np.int64], new: NDArray[np.int64]
) -> NDArray[np.str_]:
    """Return the `Change` of each of N sentences, (N,), from the rows of its old and its new neighbour, (N,) each."""
    intents = np.asarray(intents)
    was_right, is_right = intents[old] == intents, intents[new] == intents
    kinds = np.select(
        [~was_right & is_right, was_right & ~is_right, old != new],
        [Change.FIXED.value, Change.BROKEN.value, Change.CHANGED.value],
        Change.UNCHANGED.value,
    )
    return kinds.astype(str)
