"""Which sentences get a right nearest neighbour by another encoder, by hand and as a comparison says."""

import numpy as np

from emu_core.evaluation.neighbour_changes import Change, changes_of


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
