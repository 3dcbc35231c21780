"""The folds are scikit-learn's."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedGroupKFold

from emu_core.evaluation.folds import stratified_group_folds


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize(
    ("classes", "groups", "folds"), [(3, 40, 5), (2, 7, 7), (30, 60, 5), (4, 150, 2), (1, 9, 3)]
)
def test_they_are_those_of_the_library(classes: int, groups: int, folds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([rng.integers(classes, size=150), rng.permutation(150) % classes])
    names = np.concatenate([rng.permutation(150) % groups, rng.integers(groups, size=150)]).astype(str)
    expected = StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(labels, labels, names)
    found = list(stratified_group_folds(labels, names, folds, seed))
    assert len(found) == folds
    for (learnt, held), (known, left_out) in zip(found, expected, strict=True):
        assert learnt.tolist() == known.tolist() and held.tolist() == left_out.tolist()
    if groups == 150:
        assert all(0.4 < len(held) / 300 < 0.6 for _, held in found)


def test_translations_of_a_set_are_dealt_as_the_library_deals_them() -> None:
    languages, ids = ["en", "de", "ja"] * 60, np.repeat(np.arange(60), 3)
    expected = StratifiedGroupKFold(5, shuffle=True, random_state=0).split(ids, languages, ids)
    for (_, held), (_, left_out) in zip(stratified_group_folds(languages, ids, 5, 0), expected, strict=True):
        assert held.tolist() == left_out.tolist() and len(held) == 36
