"""Folds of a cross-validation that have their share of every class and keep groups together."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rows = NDArray[np.intp]


def stratified_group_folds(
    classes: ArrayLike, groups: ArrayLike, folds: int, seed: int
) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows to learn from and the rows held out, ascending, of each fold.

    The folds are those of scikit-learn's `StratifiedGroupKFold` with `shuffle=True`, found several times faster: the
    groups, those of the most unequal classes first, go in turn to the fold that leaves the classes spread most evenly.

    Args:
        classes: N labels.
        groups: N group names; a group is in one fold.
        folds: their number, at most that of the groups.
        seed: of the order of equal groups.
    """
    _, class_of, class_sizes = np.unique(np.asarray(classes), return_inverse=True, return_counts=True)
    names, group_of = np.unique(np.asarray(groups), return_inverse=True)
    counts = np.zeros((len(names), len(class_sizes)))
    np.add.at(counts, (group_of, class_of), 1)
    order = np.arange(len(names))
    np.random.RandomState(seed).shuffle(order)
    order = order[np.argsort(-np.std(counts[order], axis=1), kind="stable")]
    filled = np.zeros((folds, len(class_sizes)))
    candidates = np.eye(folds)[:, :, None]  # row i: the group goes to fold i
    fold_of = np.empty(len(names), dtype=np.int64)
    for group in order:
        spread = np.std((filled + candidates * counts[group]) / class_sizes, axis=1).mean(axis=1)
        best = _best(spread.tolist(), filled.sum(axis=1).tolist())
        filled[best] += counts[group]
        fold_of[group] = best
    held_in = fold_of[group_of]
    for fold in range(folds):
        yield np.flatnonzero(held_in != fold), np.flatnonzero(held_in == fold)


def _best(spread: list[float], sizes: list[float]) -> int:
    """Return the fold of the least spread, and of about equal ones the smallest."""
    best = 0
    for fold in range(1, len(spread)):
        equal = abs(spread[fold] - spread[best]) <= 1e-8 + 1e-5 * spread[best]
        if spread[fold] < spread[best] or (equal and sizes[fold] < sizes[best]):
            best = fold
    return best
