"""The posterior head's logistic regression, and how strongly it is held back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from emu_core.models.posterior_head import TINY

INVERSE_PENALTIES = (10.0, 30.0, 100.0, 300.0, 1000.0)  # C of the logistic regression
USUAL = 10.0
FOLDS = 5
MOST_ROWS = 2000  # held out in turn; of more, so many are drawn
ALIKE = 0.02
"""Nats of cross-entropy, a fiftieth of the right intent's probability, that a posterior may be worse than the best.

Held-out sentences share wordings with the others of their language, and those flatter a loose fit; other languages'
sentences do not."""
MOST_ITERATIONS = 3000
TOLERANCE = 1e-6  # of the gradient: at scikit-learn's 1e-4 the loose fits end where the one before them did
TEMPERATURES = (0.5, 8.0)  # the smallest and the largest
Matrix = NDArray[np.float64]
Classes = NDArray[np.int64]


def choose_inverse_penalty(
    x: Matrix, classes: Classes, kernel_temperature: float, ids: Sequence[str] = ()
) -> float:
    """C of the regression whose posterior tells sentences that are held out in turn best, or as good as best.

    By cross-entropy, each at the temperature that calibrates it (Guo et al. 2017, section 4.2): how sure a posterior is
    does not decide, but what it ranks above what. Of those that are worse than the best by no more than `ALIKE`, or by
    the standard error of the difference, the smallest C: the smoother a posterior, the closer it leaves two
    translations.

    Args:
        x: (N, d), of length 1.
        classes: N class numbers, from 0.
        kernel_temperature: of the cosines.
        ids: N, or none; sentences with the same one, but for the empty one, are held out together.

    Returns:
        `USUAL` where no sentence can be held out: each is its class's only one.
    """
    draws = np.random.default_rng(0)  # always the same: the labels decide, and nothing else
    group = groups(ids) if ids else np.arange(len(x))
    group = draws.permutation(group.max() + 1)[group]
    rows = np.argsort(group, kind="stable")[:MOST_ROWS]
    x, classes = x[rows], classes[rows]
    scores = _held_out_scores(x, classes, group[rows], kernel_temperature)
    usable = np.flatnonzero(~np.isnan(scores[0]).any(axis=1))
    if not len(usable):
        return USUAL
    losses = np.stack([_calibrated_losses(of[usable], classes[usable]) for of in scores])
    worse = losses - losses[int(np.argmin(losses.mean(axis=1)))]
    error = worse.std(axis=1) / np.sqrt(len(usable))
    as_good = worse.mean(axis=1) <= np.maximum(error, ALIKE)
    return INVERSE_PENALTIES[int(np.argmax(as_good))]


def regression(inverse_penalty: float, *, warm: bool = False) -> LogisticRegression:
    """A logistic regression that is not yet fitted; a warm one goes on from where it was last."""
    return LogisticRegression(C=inverse_penalty, max_iter=MOST_ITERATIONS, tol=TOLERANCE, warm_start=warm)


def weights(fitted: LogisticRegression) -> tuple[Matrix, Matrix]:
    """Weights (k, d) and biases (k,) whose softmax is the fitted probability, for two classes as for more."""
    weight, bias = fitted.coef_, fitted.intercept_
    if len(fitted.classes_) == 2:  # scikit-learn gives the second class's log-odds
        return np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return weight, bias


def members(classes: Classes, k: int) -> Matrix:
    """(N, k): 1 / sqrt(n_c) in the column of a sentence's class, 0 elsewhere."""
    count = np.bincount(classes, minlength=k)
    found = np.zeros((len(classes), k))
    found[np.arange(len(classes)), classes] = 1 / np.sqrt(count[classes])
    return found


def groups(ids: Sequence[str]) -> Classes:
    """Return a number for each id, and one for each sentence without an id, from 0 in the order in which they come."""
    number: dict[str | int, int] = {}
    return np.array([number.setdefault(name or row, len(number)) for row, name in enumerate(ids)])


def _held_out_scores(x: Matrix, classes: Classes, group: Classes, kernel_temperature: float) -> list[Matrix]:
    """For each penalty (N, k): log f(c), fitted without the sentence; NaN where its class was not there."""
    k = int(classes.max()) + 1
    scores = [np.full((len(x), k), np.nan) for _ in INVERSE_PENALTIES]
    names = np.unique(group)
    for held_out in np.array_split(names, min(FOLDS, len(names))):
        held = np.isin(group, held_out)
        part, others = np.flatnonzero(held), np.flatnonzero(~held)
        there = np.unique(classes[others])
        measured = part[np.isin(classes[part], there)]
        if len(there) < 2 or not len(measured):
            continue
        kernel = np.exp((x[measured] @ x[others].T - 1) / kernel_temperature)
        density = np.log(kernel @ members(classes[others], k) + TINY)
        fitted = regression(INVERSE_PENALTIES[0], warm=True)
        for penalty, found in zip(INVERSE_PENALTIES, scores, strict=True):
            fitted.set_params(C=penalty).fit(x[others], classes[others])
            weight, bias = weights(fitted)
            of_all = np.full((len(measured), k), np.log(TINY))
            of_all[:, there] = x[measured] @ weight.T + bias
            found[measured] = of_all + density
    return scores


def _calibrated_losses(scores: Matrix, classes: Classes) -> Matrix:
    """Each sentence's cross-entropy (N,), at the temperature where their mean is least."""

    def losses(log_temperature: float) -> Matrix:
        logs: Matrix = log_softmax(scores / np.exp(log_temperature), axis=1)
        return -logs[np.arange(len(logs)), classes]

    least = minimize_scalar(lambda t: losses(t).mean(), bounds=tuple(np.log(TEMPERATURES)), method="bounded")
    return losses(float(least.x))
