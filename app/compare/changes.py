"""Which sentences changed their nearest neighbour, and to what, as a table; it knows no page."""

from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from app.compare.measure import Comparison
from emu_core.data.labelled import LabelledSet
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.arrays import directions, pair_name


class Change(StrEnum):
    """What became of a sentence's nearest neighbour."""

    MENDED = "mended"
    BROKEN = "broken"
    MOVED = "moved"
    SAME = "same"


MEANING = {
    Change.MENDED: "the old neighbour had another intent, the new one has the sentence's own",
    Change.BROKEN: "the other way round",
    Change.MOVED: "another neighbour, as right or as wrong as the old one",
    Change.SAME: "the same neighbour",
}


def changes(
    comparison: Comparison, part: LabelledSet, base: FloatArray, new: FloatArray, pool: str | None
) -> pd.DataFrame:
    """Return a row for each sentence: what it is, its change, and its neighbour by both encoders.

    Args:
        comparison: measured on `part`.
        part: N sentences.
        base: (N, d) of the base encoder.
        new: (N, e) of the specialised encoder.
        pool: the language in which neighbours are looked for; None looks in all at once.
    """
    old_row, new_row = _rows(comparison, len(part), pool)
    frame = part.frame
    intents = frame["intent"].to_numpy()
    was_right, now_right = intents[old_row] == intents, intents[new_row] == intents
    change = np.select(
        [~was_right & now_right, was_right & ~now_right, old_row != new_row],
        [Change.MENDED.value, Change.BROKEN.value, Change.MOVED.value],
        Change.SAME.value,
    )
    columns: dict[str, object] = {
        "change": change,
        "sentence": frame["text"].to_numpy(),
        "language": frame["language"].to_numpy(),
        "intent": intents,
    }
    for name, vectors, row in (("base", base, old_row), ("specialised", new, new_row)):
        units = directions(vectors)
        columns |= {
            f"{name} neighbour": frame["text"].to_numpy()[row],
            f"{name} language": frame["language"].to_numpy()[row],
            f"{name} intent": intents[row],
            f"{name} cosine": np.einsum("nd,nd->n", units, units[row]),
        }
    return pd.DataFrame(columns)


def _rows(comparison: Comparison, n: int, pool: str | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if pool is None:
        return comparison.changed.old, comparison.changed.new
    both = np.empty((2, n), dtype=np.int64)
    for place, result in enumerate((comparison.base, comparison.new)):
        for source, queries in result.queries.items():
            both[place, queries] = result.nearest[pair_name(source, pool)]
    return both[0], both[1]
