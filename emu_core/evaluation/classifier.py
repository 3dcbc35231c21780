"""A logistic regression on sentence vectors: what labels achieve with an unchanged encoder."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, as_matrix, check_length, id_keys
from emu_core.threads import one_thread_for_small_products

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)  # inverse penalties to choose from
USUAL_C = 1.0  # scikit-learn's default, where no sentence can be held out
PENALTY_FOLDS = 5
_MOST_ROWS = 3000  # for choosing C; of more, a random sample
MOST_ITERATIONS = 3000
TOLERANCE = 1e-6  # for the gradient: at scikit-learn's 1e-4 a warm start may end where it began
ALWAYS, NOT_DRAWN = -1, -2  # instead of a fold: sentences in every training part, and in none


def logistic_regression(
    vectors: Vectors, labels: Sequence[str], ids: Sequence[str] = ()
) -> "LogisticRegression":
    """Fit a logistic regression on vectors (N, d) with the C of `C_VALUES` that is most often right on held-out ones.

    Of equally good values the smallest is taken. The sentences of each class are dealt to `PENALTY_FOLDS` folds in
    turn, so that a class of two sentences is in two folds. The only sentence of a class is in every training part and
    never held out, since it could not be right with any C. Translations, which share one of the N ids, are held out
    together; "" is no id.

    Raises:
        DataError: there is a single label, or the lengths differ.
    """
    x, y = as_matrix(vectors), np.asarray(labels, dtype=str)
    check_length(labels, len(x), "labels")
    if len(set(labels)) < 2:
        raise DataError("a classifier needs sentences of two labels or more; add some of another")
    folds = held_out_folds(labels, ids)
    folds[np.random.default_rng(0).permutation(len(x))[_MOST_ROWS:]] = NOT_DRAWN
    right = dict.fromkeys(C_VALUES, 0)
    with one_thread_for_small_products():
        for fold in range(PENALTY_FOLDS):
            held, fitted_on = folds == fold, (folds != fold) & (folds != NOT_DRAWN)
            if not held.any() or len(set(y[fitted_on])) < 2:
                continue
            model = regression(C_VALUES[0])
            for value in C_VALUES:
                fitted(model.set_params(C=value), x[fitted_on], y[fitted_on])
                right[value] += int((model.predict(x[held]) == y[held]).sum())
        chosen = max(right, key=right.__getitem__) if any(right.values()) else USUAL_C
        return fitted(regression(chosen), x, y)


def held_out_folds(labels: Sequence[str], ids: Sequence[str] = ()) -> NDArray[np.int64]:
    """Return the fold, from 0, in which each sentence is held out, or `ALWAYS`."""
    keys = id_keys(ids or [""] * len(labels), len(labels))
    classes = {label: list[int]() for label in labels}  # the groups of translations in each class
    for label, key in zip(labels, keys.tolist(), strict=True):
        if key not in classes[label]:
            classes[label].append(key)
    fold_of: dict[int, int] = {}
    drawn = np.random.default_rng(0)
    for groups_of_class in classes.values():
        for number in drawn.permutation(len(groups_of_class)) if len(groups_of_class) > 1 else ():
            fold_of.setdefault(groups_of_class[number], len(fold_of) % PENALTY_FOLDS)
    return np.array([fold_of.get(key, ALWAYS) for key in keys.tolist()], dtype=np.int64)


def regression(inverse_penalty: float) -> "LogisticRegression":
    """Return an unfitted logistic regression; each fit begins with the one before."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=inverse_penalty, max_iter=MOST_ITERATIONS, tol=TOLERANCE, warm_start=True)


def fitted(
    model: "LogisticRegression", x: NDArray[np.floating], y: NDArray[np.int64] | NDArray[np.str_]
) -> "LogisticRegression":
    """Fit a regression, without scikit-learn's warning that a class has hardly more than one sentence."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return model.fit(x, y)
