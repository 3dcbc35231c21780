"""The logistic regression beside the methods: its folds, and the C that it chooses."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from emu_core.errors import DataError
from emu_core.evaluation.classifier import (
    ALWAYS,
    C_VALUES,
    PENALTY_FOLDS,
    held_out_folds,
    logistic_regression,
)


def crowded(per_class: int = 12) -> tuple[NDArray[np.float64], list[str]]:
    """Unit vectors of six classes whose means are near each other, so that a small C can't tell them."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 24)) * 0.12 + 1
    labels = [str(i % 6) for i in range(6 * per_class)]
    x = np.stack([centres[int(label)] for label in labels]) + rng.normal(size=(len(labels), 24)) * 0.05
    return x / np.linalg.norm(x, axis=1, keepdims=True), labels


def test_each_class_is_dealt_to_folds_and_a_single_sentence_is_never_held_out() -> None:
    labels = ["a"] * 7 + ["b"] * 2 + ["alone"] + ["c"] * 5
    folds = held_out_folds(labels)
    of = {
        label: [fold for fold, own in zip(folds, labels, strict=True) if own == label]
        for label in set(labels)
    }
    assert of["alone"] == [ALWAYS]
    assert (
        len(set(of["b"])) == 2
        and set(of["c"]) == set(range(PENALTY_FOLDS))
        and max(Counter(of["a"]).values()) == 2
    )
    assert np.bincount(folds[folds >= 0]).tolist() == [3, 3, 3, 3, 2]


def test_translations_are_held_out_together() -> None:
    labels, ids = ["a", "b"] * 6, [str(i // 4 * 2 + i % 2) for i in range(12)]
    folds = held_out_folds(labels, ids)
    assert all(len({folds[i] for i in range(12) if ids[i] == own}) == 1 for own in set(ids))
    assert (
        held_out_folds(["a", "a", "b"], ["1", "1", ""]).tolist() == [ALWAYS] * 3
    )  # translations of one sentence


@pytest.mark.slow
def test_an_intent_of_one_sentence_leaves_the_choice_of_c_as_it_is() -> None:
    x, labels = crowded()
    chosen = float(logistic_regression(x, labels).C)
    # By independent arithmetic: the right answers of each C, over folds dealt here.
    right = dict.fromkeys(C_VALUES, 0)
    folds, y = held_out_folds(labels), np.asarray(labels)
    for value in C_VALUES:
        for fold in range(PENALTY_FOLDS):
            fitted = LogisticRegression(C=value, max_iter=3000, tol=1e-6).fit(
                x[folds != fold], y[folds != fold]
            )
            right[value] += (fitted.predict(x[folds == fold]) == y[folds == fold]).sum()
    assert right[chosen] >= max(right.values()) - 1 and right[1.0] < right[chosen]
    assert chosen > 1
    alone = np.concatenate([x, -x[:1]]), [*labels, "alone"]
    fitted = logistic_regression(*alone)
    assert chosen == fitted.C and "alone" in fitted.classes_


def test_without_a_sentence_to_hold_out_the_usual_c_is_taken_and_one_label_is_refused() -> None:
    assert logistic_regression(np.eye(3), ["a", "b", "c"]).C == 1
    with pytest.raises(DataError, match="two labels"):
        logistic_regression(np.eye(3), ["a"] * 3)
