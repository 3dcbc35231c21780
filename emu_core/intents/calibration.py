"""How far the answers of a classifier hold: the probability of a right one, and the score below which none is known."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax

from emu_core.intents.regression import Matrix

LOG_TEMPERATURES = (-2.0, 4.0)
LEAST_OF_A_KIND = 5  # right and wrong answers that fitting a temperature needs
_LEAST_LOG = -50.0  # log-probability of an intent that a fold has not met


class Shift(NamedTuple):
    """How answers in a language are calibrated as those to held-out sentences are."""

    score: float  # added to the score of a known intent, at least 0
    sharpness: float  # multiplies the scores of the intents, above 0 and at most 1
    likeness: float = 1.0  # of the unlabelled sentences to the labelled ones, see `Subject.likeness`


@dataclass(frozen=True)
class Calibration:
    """The threshold below which no intent is known, and what divides the scores; None for what is unknown."""

    threshold: float | None
    temperature: float | None


class Agreement(NamedTuple):
    """How often what answers agrees, which it does less where it is wrong more often; shares from 0 to 1."""

    of_factors: float  # the regression and the kernel
    of_nearest: float  # both, and the nearest labelled sentence has the intent that is answered

    @classmethod
    def of(cls, is_one: NDArray[np.bool_], margins: NDArray[np.float32]) -> "Agreement":
        """Count it, given where both factors name one intent (Q,), and the margins (Q,), see `Answers`."""
        return cls(float(is_one.mean()), float((is_one & (margins > 0)).mean()))

    def expected(self, right: float, held_out: "Agreement") -> float:
        """Return which share of the answers is right, given that to held-out sentences and how these agree.

        That agreement falls as accuracy does was seen by Jiang et al. (2022) and Baek et al. (2022) of networks that
        are trained on the same labels.
        """
        shares = [
            min(1.0, here / there) if there else 1.0 for here, there in zip(self, held_out, strict=True)
        ]
        return right * sum(shares) / len(shares)


def least_surprise(scores: Matrix, labels: NDArray[np.int64]) -> tuple[float, float]:
    """Return the temperature by which labels (Q,) are the least surprising, and the cross-entropy then.

    The scores (Q, k) are divided by it (temperature scaling, Guo et al. 2017).
    """

    def at(log_temperature: float) -> float:
        logs = log_softmax(scores / np.exp(log_temperature), axis=1)
        return -float(np.maximum(logs[np.arange(len(logs)), labels], _LEAST_LOG).mean())

    found = minimize_scalar(at, bounds=LOG_TEMPERATURES, method="bounded", options={"xatol": 0.01})
    return float(np.exp(found.x)), float(found.fun)


def fitted_temperature(scores: Matrix, labels: NDArray[np.int64]) -> float | None:
    """Return the temperature of scores (Q, k) with right answers (Q,); None with too few right or wrong ones."""
    is_right = scores.argmax(axis=1) == labels
    if min(is_right.sum(), (~is_right).sum()) < LEAST_OF_A_KIND:
        return None
    return least_surprise(scores, labels)[0]


def temperature_of(scores: Matrix, share: float) -> float:
    """Return the temperature by which the mean of the highest probabilities of scores (Q, k) is a share."""
    behind = scores - scores.max(axis=1, keepdims=True)

    def over(log_temperature: float) -> float:
        return float((1 / np.exp(behind / np.exp(log_temperature)).sum(axis=1)).mean()) - share

    low, high = LOG_TEMPERATURES
    if over(low) <= 0 or over(high) >= 0:
        return float(np.exp(low if over(low) <= 0 else high))
    return float(np.exp(brentq(over, low, high, xtol=0.001)))
