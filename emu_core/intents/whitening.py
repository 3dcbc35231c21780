"""The map that evens out the variance within intents, and whether more of it helps intents without labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import softmax
from torch import Tensor

from emu_core.errors import Fix, TrainingError
from emu_core.evaluation.changes import LEAST_INTENTS
from emu_core.evaluation.retrieval import blocks
from emu_core.intents.regression import Classes, Matrix

EVEN = 1e-9  # a variance below this share of the largest counts as none
DIVISIONS = 3  # random divisions of the intents into halves
TEMPERATURE = 0.05  # divides the cosines whose softmax weighs a sentence's neighbours
RELIABLE = (
    0.6  # share of the measured covariance, from which on the whitening is as strong as its setting says
)
LEAST_GAIN = 0.5  # points
ERRORS = 2.0  # standard errors that a gain must exceed


@dataclass(frozen=True)
class Within:
    """How sentences of one intent differ: the eigenvalues (d,) and axes (d, d) of their covariance, of mean 1.

    With covariance S and whitening w, from 0 to 1, the map is (w S + (1 - w) I) ^ (-1/2). The directions in which
    sentences of one intent differ say little about the intent, also for intents without labels.
    """

    values: Matrix
    axes: Matrix
    count: int  # sentences

    def spread(self, whitening: float) -> Matrix:
        """Return the map (d, d).

        Raises:
            TrainingError: the sentences do not differ in some direction that the whitening would even out.
        """
        values = whitening * self.values + (1 - whitening)
        if values.min() <= EVEN * values.max():
            raise TrainingError(
                f"{self.count} sentences do not differ in each of {len(values)} directions, which a whitening of "
                f"{whitening:g} would even out; lower ",
                Fix("whitening"),
            )
        inverse_root: Matrix = (self.axes * values**-0.5) @ self.axes.T
        return inverse_root


def within_intents(x: Matrix, classes: Classes) -> Within | None:
    """Return how the sentences of one intent differ, given vectors (N, d); None if no intent has two that do."""
    n, d = x.shape
    count = np.bincount(classes)
    # The mean of a sample that includes the sentence is too near to it: by n / (n - 1) of the variance.
    unbiased = np.sqrt(count / np.maximum(count - 1, 1))[classes, None]
    apart = (x - class_means(x, classes)[classes]) * unbiased
    variance = np.square(apart).sum() / d
    if not variance > 0:
        return None
    values, axes = np.linalg.eigh(apart.T @ apart / variance)
    return Within(np.maximum(values, 0), axes, n)


def learn_spread(x: Matrix, classes: Classes, group: Classes, whitening: float) -> Tensor:
    """Return the map (d, d) of `Within`; (0, d) for no whitening, or if no intent has two sentences that differ.

    A covariance measured from a few sentences is mostly noise. A map learnt from it draws these sentences together, and
    no others, which then seem to be unlike all labelled ones. So below a `reliability` of `RELIABLE`, the whitening is
    weakened in proportion.

    Raises:
        TrainingError: the whitening is too large for so few sentences.
    """
    within = within_intents(x, classes) if whitening else None
    if within is None:
        return torch.zeros(0, x.shape[1])
    strength = whitening * min(1.0, reliability(x, classes, group) / RELIABLE)
    return torch.from_numpy(within.spread(strength).astype(np.float32))


def reliability(x: Matrix, classes: Classes, group: Classes) -> float:
    """Estimate which share of the covariance within intents is no accident of the sentences, from 0 to 1.

    It is one minus the shrinkage intensity of Ledoit and Wolf (2004, "A well-conditioned estimator for
    large-dimensional covariance matrices"). Their estimate is of independent rows: so translations and repeats, which
    `group` numbers alike, count as one sentence, their mean, and each further sentence of an intent is compared with
    the mean of those before it (Helmert contrasts), which leaves n - 1 independent rows of n sentences. It is 0 with
    fewer than two rows: the estimate is of how much they vary, and it takes a single one for no accident at all.
    """
    from sklearn.covariance import ledoit_wolf_shrinkage

    _, first, sentence = np.unique(np.stack([classes, group]), axis=1, return_index=True, return_inverse=True)
    distinct, intents = class_means(x, sentence), classes[first]
    contrasts = []
    for intent in range(int(intents.max()) + 1):
        rows = distinct[intents == intent]
        before = np.arange(1, len(rows))[:, None]  # sentences
        contrasts.append((np.cumsum(rows[:-1], axis=0) / before - rows[1:]) * np.sqrt(before / (before + 1)))
    independent = np.concatenate(contrasts)
    if len(independent) < 2:
        return 0.0
    return 1 - float(ledoit_wolf_shrinkage(independent, assume_centered=True))


def class_means(x: NDArray[Any], classes: Classes) -> Matrix:
    """Return the mean of each class (k, d)."""
    count, ends = np.bincount(classes), np.arange(len(x) + 1)
    is_class = csr_matrix((np.ones(len(x)), classes, ends), shape=(len(x), len(count)))
    sums: Matrix = np.zeros((len(count), x.shape[1]))
    for block in blocks(len(x), x.shape[1]):  # which the product copies in float64
        sums += is_class[block].T @ x[block]
    return sums / count[:, None]


@dataclass(frozen=True)
class NewIntentGain:
    """The gain by a stronger whitening of sentences whose intents were left out, in points of `own_share`."""

    mean: float
    error: float  # standard error over the sentences

    @property
    def is_clear(self) -> bool:
        """Whether it is large enough, and not by chance."""
        return self.mean > max(LEAST_GAIN, ERRORS * self.error)


def gain_of_new_intents(
    x: Matrix, classes: Classes, group: Classes, whitening: float, stronger: float
) -> NewIntentGain | None:
    """Learn two maps on random halves of the intents, and compare the other halves' sentences under them.

    Whether a sentence's nearest neighbour has its intent is too coarse for the comparison on a few hundred sentences:
    most are right under both maps. So it is the share of the neighbours, see `own_share`.

    Args:
        x: (N, d), of length 1.
        classes: their intents (N,).
        group: (N,), the same number for translations, which are not each other's neighbours.
        whitening: that of the first map.
        stronger: that of the second.

    Returns:
        None with fewer than four intents, or if no intent of some half has two sentences that differ.
    """
    k = int(classes.max()) + 1
    if k < LEAST_INTENTS:
        return None
    draws = np.random.default_rng(0)
    gains = np.zeros((DIVISIONS, len(x)))
    for of_division in gains:
        half = np.isin(classes, draws.permutation(k)[: k // 2])
        for new in (half, ~half):
            within = within_intents(x[~new], np.unique(classes[~new], return_inverse=True)[1])
            if within is None:
                return None
            shares = [
                own_share(x[new] @ within.spread(amount), classes[new], group[new])
                for amount in (whitening, stronger)
            ]
            of_division[new] = 100 * (shares[1] - shares[0])
    sentence_gains = gains.mean(axis=0)
    return NewIntentGain(
        float(sentence_gains.mean()), float(sentence_gains.std() / np.sqrt(len(sentence_gains)))
    )


def own_share(x: Matrix, classes: Classes, group: Classes) -> Matrix:
    """Return the share of each sentence's neighbours (N,) that have its intent, 0 to 1.

    Sentence j is the neighbour of i with a probability ~ exp(cos(i, j) / TEMPERATURE), as in neighbourhood components
    analysis (Goldberger et al. 2004, eq. 1), unless both are of one group.
    """
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = units @ units.T / TEMPERATURE
    cosines[group[:, None] == group] = -np.inf
    cosines[np.isinf(cosines).all(axis=1)] = 0  # a single group has no neighbours: chance
    shares: Matrix = (softmax(cosines, axis=1) * (classes[:, None] == classes)).sum(axis=1)
    return shares
