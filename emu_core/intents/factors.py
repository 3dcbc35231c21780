"""The two factors of an intent's probability, fitted on labelled sentences and names: a regression and a kernel."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from emu_core.intents.calibration import least_surprise
from emu_core.intents.kernel import Kernel
from emu_core.intents.regression import Matrix, weights_with_prior
from emu_core.intents.space import SentenceSpace

INVERSE_PENALTY = 30.0  # C of the regression
TOLERANCE = 1e-4  # of the regression's gradient: a smaller one changes no answer
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0)  # of the kernel, in a language whose own sentences can be held out
MOST_STACKED = 2_000_000  # numbers in a factor, from which a weight is chosen
_LEAST_STACKED = 100  # sentences


class Rule(StrEnum):
    """The factors that decide on the intent of a sentence."""

    REGRESSION = "regression"
    """A logistic regression on the vectors."""
    BOTH = "both"
    """The regression's probabilities times a kernel density of the labelled sentences."""

    @property
    def weight(self) -> float:
        """The power of the density: 1, or 0 where it is left out."""
        return float(self is Rule.BOTH)


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression over k intents: weights (k, d) and biases (k,), -inf for an intent without a sentence or name."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]

    @classmethod
    def fit(
        cls,
        x: NDArray[np.float32],
        labels: NDArray[np.int64],
        prior: Matrix,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> "Regression":
        """Fit it on unit vectors (N, d) with their intents (N,) and how much each counts, given a prior (k, d)."""
        weight, bias = np.zeros(prior.shape, dtype=np.float32), np.full(len(prior), -np.inf, dtype=np.float32)
        present, classes = np.unique(labels, return_inverse=True)
        if len(present) > 1:
            weight[present], bias[present] = weights_with_prior(
                x, classes, prior[present], INVERSE_PENALTY, TOLERANCE, sample_weight
            )
        else:
            bias[present] = 0
        return cls(weight, bias)

    @classmethod
    def from_arrays(cls, weight: NDArray[Any], bias: NDArray[Any], k: int, d: int) -> "Regression":
        """Return the regression with weights (k, d) and biases (k,) that were read. Raises ValueError for others."""
        are_whole = (
            weight.dtype == bias.dtype == np.float32
            and weight.shape == (k, d)
            and bias.shape == (k,)
            and bool(np.isfinite(weight).all() and np.isfinite(np.maximum(bias, 0)).all())
        )
        if not are_whole:
            raise ValueError("no regression over intents")
        return cls(weight, bias)

    def logits(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return (Q, k)."""
        logits: NDArray[np.float32] = x @ self.weight.T + self.bias
        return logits


@dataclass(frozen=True, eq=False)
class Factors:
    """A regression, on neutral vectors, and a kernel, on evened ones, fitted on some of the examples."""

    space: SentenceSpace
    regression: Regression
    kernel: Kernel
    bare: Regression  # without names: its logits tell better whether an intent is known

    def factors(self, x: NDArray[np.float32]) -> tuple[Matrix, Matrix]:
        """Return the log-probabilities of intents by the regression and by the kernel, (B, k) each."""
        by_regression: Matrix = log_softmax(self.regression.logits(x).astype(np.float64), axis=1)
        densities = self.kernel.log_densities(self.space.evened(x), by_regression)
        return by_regression, log_softmax(densities, axis=1)

    def scores(self, x: NDArray[np.float32], weight: float | Matrix) -> Matrix:
        """Return the log of how probable each intent is, but for a constant, (B, k); see `weighted`."""
        return weighted(self.factors(x), weight)

    def leads(self, x: NDArray[np.float32], scores: Matrix, weight: float | Matrix) -> Matrix:
        """Return how far the most probable intent is ahead of the next, in log-probability, (B,); NaN of a single one.

        It is computed in float64 for these two, as the kernel enlarges a rounding that depends on a sentence's
        neighbours.

        Args:
            x: (B, d).
            scores: (B, k), those of x in any precision.
            weight: as for `scores`.
        """
        if scores.shape[1] == 1:
            return np.full(len(x), np.nan)
        second, first = np.argpartition(scores, -2, axis=1)[:, -2:].T
        coefficients, bias = self.regression.weight, self.regression.bias
        exact: NDArray[Any] = x.astype(np.float64)
        leads: Matrix = ((coefficients[first].astype(np.float64) - coefficients[second]) * exact).sum(axis=1)
        leads += bias[first].astype(np.float64) - bias[second]
        evened = self.space.evened(exact)
        leads += weight * (self.kernel.log_density(evened, first) - self.kernel.log_density(evened, second))
        return np.minimum(np.abs(leads), np.finfo(np.float32).max)


def weighted(factors: tuple[Matrix, Matrix], weight: float | Matrix) -> Matrix:
    """Return log-probabilities (B, k) by a regression, and a weight times those by a kernel, added.

    The weight is one for all, or (B,).
    """
    by_regression, by_kernel = factors
    return by_regression + np.reshape(weight, (-1, 1)) * by_kernel


def stacked_weight(factors: tuple[Matrix, Matrix], labels: NDArray[np.int64], usual: float) -> float:
    """Return the weight of the kernel by which the intents of held-out sentences are the least surprising.

    The measure is the cross-entropy at the temperature that is best for each weight, so that not the confidence of the
    scores decides, but their ranking (stacking, Wolpert 1992). The usual weight is kept where none is better.

    Args:
        factors: (Q, k) each, fitted without the sentences.
        labels: (Q,).
        usual: the weight of other sentences.
    """
    most = min(len(labels), max(_LEAST_STACKED, MOST_STACKED // factors[0].shape[1]))
    rows = np.linspace(0, len(labels) - 1, most).astype(np.intp)
    factors, labels = (factors[0][rows], factors[1][rows]), labels[rows]
    return min((usual, *WEIGHTS), key=lambda weight: least_surprise(weighted(factors, weight), labels)[1])
