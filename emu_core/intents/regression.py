"""A logistic regression over all intents, with a prior: of many sentences on a sample, of many intents in groups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from emu_core.evaluation.arrays import Vectors
from emu_core.evaluation.classifier import TOLERANCE, fitted, regression

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

Matrix = NDArray[np.float64]
Classes = NDArray[np.int64]

MANY = 400  # intents; a regression over more of them at once takes minutes, so they are taken in groups
GROUP = 100  # intents that one regression distinguishes, where there are many
REGRESSION_MAX_SENTENCES = 20_000  # to learn from; of more, this many are drawn
LEAST_OF_INTENT = 3  # sentences that an intent keeps in a draw


def sampled_rows(labels: Sequence[int], most: int = REGRESSION_MAX_SENTENCES) -> list[int]:
    """Return the rows to learn from, ascending: all, or of more than `most` a draw with each intent's share.

    Rare intents keep `LEAST_OF_INTENT` sentences each, so that there may be a few more. `labels` are N class numbers,
    from 0.
    """
    if len(labels) <= most:
        return list(range(len(labels)))
    classes = np.asarray(labels, dtype=np.int64)
    count = np.bincount(classes)
    wanted = np.maximum(np.minimum(count, LEAST_OF_INTENT), count * most // len(classes))
    order = np.random.default_rng(0).permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]  # by class, each in random order
    rank = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    rows: list[int] = np.sort(order[rank < wanted[classes[order]]]).tolist()
    return rows


def weights_of_all(
    x: Vectors, classes: Classes, inverse_penalty: float, tolerance: float = TOLERANCE
) -> tuple[Matrix, Matrix]:
    """Return weights (k, d) and biases (k,) of a regression over all intents, or over random groups of many intents.

    A group's regression only distinguishes its own intents, like a sampled softmax: the work grows linearly with the
    sentences, and not with their square. The weights sum to 0 over a group, so that those of different groups compare.
    The search for them ends when the gradient is smaller than the tolerance.
    """
    k = int(classes.max()) + 1
    groups = [np.arange(k)]
    if k > MANY:
        groups = np.array_split(np.random.default_rng(0).permutation(k), -(-k // GROUP))
    weight, bias = np.zeros((k, x.shape[1])), np.zeros(k)
    for group in map(np.sort, groups):
        rows = np.flatnonzero(np.isin(classes, group))
        model = regression(inverse_penalty).set_params(tol=tolerance)
        weight[group], bias[group] = weights(fitted(model, x[rows], classes[rows]))
    return weight, bias


def weights(model: "LogisticRegression") -> tuple[Matrix, Matrix]:
    """Return weights (k, d) and biases (k,) whose softmax is the fitted probability, also for two classes."""
    weight, bias = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # scikit-learn gives the second class's log-odds
        return np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    return weight, bias


MOST_STEPS = 300  # of the search for weights with a prior


def weights_with_prior(
    x: Vectors,
    classes: Classes,
    prior: Matrix,
    inverse_penalty: float,
    tolerance: float = TOLERANCE,
    sample_weight: Matrix | None = None,
) -> tuple[Matrix, Matrix]:
    """Return weights W (k, d) and biases b (k,) of a regression whose ridge pulls towards a prior instead of 0.

    They minimise sum over i of -s_i log softmax(W x_i + b)[c_i] + ||W - prior||^2 / (2 C), after the visual classifier
    of LP++ (Huang et al. 2024), which blends in the vectors of the classes' names. Of many intents, random groups are
    fitted as in `weights_of_all`.

    Args:
        x: (N, d).
        classes: (N,) from 0; each intent has a sentence, if only its name.
        prior: (k, d); zeros for none.
        inverse_penalty: C.
        tolerance: of the largest number in the gradient, divided by N.
        sample_weight: s (N,), how much each sentence counts; None for 1.
    """
    k, x = len(prior), np.asarray(x, dtype=np.float32)
    groups = [np.arange(k)]
    if k > MANY:
        groups = np.array_split(np.random.default_rng(0).permutation(k), -(-k // GROUP))
    weight, bias = prior.astype(np.float64), np.zeros(k)
    for group in map(np.sort, groups):
        rows = np.flatnonzero(np.isin(classes, group))
        if len(rows):
            number = np.searchsorted(group, classes[rows])
            counts = None if sample_weight is None else sample_weight[rows]
            weight[group], bias[group] = _fit(
                x[rows], number, weight[group], inverse_penalty, tolerance, counts
            )
    return weight, bias


def _fit(
    x: NDArray[np.float32],
    classes: Classes,
    prior: Matrix,
    inverse_penalty: float,
    tolerance: float,
    sample_weight: Matrix | None,
) -> tuple[Matrix, Matrix]:
    (n, d), k = x.shape, len(prior)
    counts = None if sample_weight is None else sample_weight.astype(np.float32)
    start = x @ prior.T.astype(np.float32)  # (N, k)
    is_class = np.zeros((n, k), dtype=np.float32)
    is_class[np.arange(n), classes] = 1

    def loss(parameters: Matrix) -> tuple[float, Matrix]:
        change, bias = parameters[: k * d].reshape(k, d), parameters[k * d :]
        logits = start + x @ change.T.astype(np.float32) + bias.astype(np.float32)
        total = logsumexp(logits, axis=1, keepdims=True)
        losses = total[:, 0] - logits[np.arange(n), classes]
        value = float((losses if counts is None else counts * losses).sum(dtype=np.float64))
        value += float(np.square(change).sum()) / (2 * inverse_penalty)
        slope = np.exp(logits - total) - is_class  # (N, k)
        if counts is not None:
            slope *= counts[:, None]
        gradient = np.concatenate([(slope.T @ x + change / inverse_penalty).ravel(), slope.sum(axis=0)])
        return value / n, gradient / n

    found = minimize(
        loss,
        np.zeros(k * d + k),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "gtol": tolerance, "ftol": 1e-9},
    ).x
    weight: Matrix = prior + found[: k * d].reshape(k, d)
    return weight, found[k * d :]
