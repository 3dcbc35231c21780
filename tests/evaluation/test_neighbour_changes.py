"""Which sentences get a right nearest neighbour by another encoder, by hand and as a comparison says."""

import numpy as np
import pandas as pd
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.comparison import Comparison
from emu_core.evaluation.neighbour_changes import Change, changes_of, neighbour_changes
from tests.support.sentences import random_sentences


def at(*degrees: float) -> np.ndarray:
    return np.array([[np.cos(angle), np.sin(angle)] for angle in np.radians(degrees)], dtype=np.float32)


def table(intents: str, ids: tuple[str, ...] = ()) -> pd.DataFrame:
    rows = range(len(intents))
    columns = {"text": [f"s{row}" for row in rows], "intent": list(intents), "language": "en"}
    return pd.DataFrame(columns | {"id": list(ids) or [""] * len(intents)})


def test_by_hand() -> None:
    #                    x  x   y   y   y    z: the last is near x first, then near y
    before, after = at(0, 10, 30, 41, 180, 5), at(0, 10, 30, 41, 39, 35)
    # 0: z -> x. 1: z -> x. 2: y -> z. 3: y -> another y. 4: the same y. 5: x -> y.
    expected = ["fixed", "fixed", "broken", "changed", "unchanged", "changed"]
    assert neighbour_changes(table("xxyyyz"), before, after).tolist() == expected
    # A translation is no neighbour: the second x is one of the first.
    paired = table("xxyyyz", ("a", "a", "b", "c", "d", "e"))
    assert neighbour_changes(paired, before, after).tolist()[:2] == ["changed", "changed"]
    assert (
        neighbour_changes(paired.assign(id="a"), before, after).tolist() == ["unchanged"] * 6
    )  # no neighbours
    assert neighbour_changes(table("x"), before[:1], after[:1]).tolist() == ["unchanged"]
    assert neighbour_changes(table(""), before[:0], after[:0]).tolist() == []
    with pytest.raises(DataError):
        neighbour_changes(table("xxyyyz"), before, np.zeros((6, 2), dtype=np.float32))


def test_every_kind_from_rows() -> None:
    intents = ["x", "x", "y", "x"]
    kinds = changes_of(intents, np.array([2, 2, 3, 1]), np.array([1, 3, 0, 0]))
    assert kinds.tolist() == [Change.FIXED, Change.FIXED, Change.CHANGED, Change.CHANGED]
    assert changes_of(intents, np.array([1, 0, 0, 0]), np.array([2, 0, 3, 2])).tolist() == [
        Change.BROKEN,
        Change.UNCHANGED,
        Change.CHANGED,
        Change.BROKEN,
    ]


def test_as_a_comparison_says() -> None:
    data = random_sentences(60, ("en", "de", "ja"), seed=3)
    other = data.vectors + np.random.default_rng(1).normal(size=data.vectors.shape)
    rows = {"text": [f"s{row}" for row in range(60)], "intent": data.intents, "language": data.languages}
    sentences = pd.DataFrame(rows | {"id": data.ids})
    found = neighbour_changes(sentences, data.vectors, other)
    assert found.tolist() == Comparison(sentences, data.vectors, other).changes()["change"].tolist()
    assert set(found) == set(Change)
