"""How far the answers of a classifier hold: the probability of a right one, and the score below which none is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

if TYPE_CHECKING:
    from sklearn.isotonic import IsotonicRegression

_MOST_DOUBLED, _HALVINGS = (
    40.0,
    60,
)  # how often the number that sharpens or softens probabilities is doubled or halved
LEAST_OF_A_KIND = 5  # right and wrong answers that fitting a probability needs


class Shift(NamedTuple):
    """How answers in a language are calibrated as those to held-out sentences are."""

    score: float  # added to the score of a known intent, at least 0
    lead: float  # multiplies the lead of the most probable intent, from 0 to 1
    likeness: float = 1.0  # of the unlabelled sentences to the labelled ones, see `Subject.likeness`


@dataclass(frozen=True)
class Calibration:
    """The threshold below which no intent is known, and the probabilities by certainty; None for what is unknown."""

    threshold: float | None
    probability: "IsotonicRegression | None"


def fitted_probability(
    certainty: NDArray[np.float64], is_right: NDArray[np.bool_]
) -> "IsotonicRegression | None":
    """Return the probability of a right answer by its certainty; None with too few right or too few wrong ones."""
    if min(is_right.sum(), (~is_right).sum()) < LEAST_OF_A_KIND:
        return None
    known = np.isfinite(certainty)
    certainty, is_right = certainty[known], is_right[known]
    # A right answer at the lowest certainty and a wrong one at the highest: few answers make none sure, as in Laplace's
    # rule of succession.
    ends = [certainty.min(), certainty.max()]
    return _isotonic().fit(np.append(certainty, ends), np.append(is_right, [True, False]))


def arrays_of(calibrations: Mapping[str, Calibration]) -> dict[str, NDArray[Any]]:
    """Return the steps of the probabilities of each language, by names that `calibrations_from` knows."""
    arrays: dict[str, NDArray[Any]] = {}
    for code, calibration in calibrations.items():
        if (probability := calibration.probability) is not None:
            arrays[f"certainty {code}"] = probability.X_thresholds_
            arrays[f"probability {code}"] = probability.y_thresholds_
    return arrays


def calibrations_from(
    thresholds: Mapping[str, float | None], arrays: Mapping[str, NDArray[Any]]
) -> dict[str, Calibration]:
    """Return the calibrations of which `thresholds` and `arrays_of` are known.

    Raises:
        ValueError: these are no calibrations.
    """
    if "" not in thresholds or not all(
        threshold is None or (isinstance(threshold, float | int) and np.isfinite(threshold))
        for threshold in thresholds.values()
    ):
        raise ValueError("no thresholds")
    return {
        code: Calibration(
            threshold,
            _with_steps(arrays[f"certainty {code}"], arrays[f"probability {code}"])
            if f"certainty {code}" in arrays
            else None,
        )
        for code, threshold in thresholds.items()
    }


def _with_steps(certainty: NDArray[Any], probability: NDArray[Any]) -> "IsotonicRegression":
    """Return the regression with these steps, exactly as it was fitted; fitting it on them could round them again."""
    are_steps = (
        certainty.ndim == 1
        and certainty.shape == probability.shape
        and len(certainty) > 0
        and certainty.dtype.kind == probability.dtype.kind == "f"
        and np.isfinite(certainty).all()
        and (np.diff(certainty) > 0).all()
        and ((probability >= 0) & (probability <= 1)).all()
        and (np.diff(probability) >= 0).all()
    )
    if not are_steps:
        raise ValueError("no steps of an isotonic regression")
    regression = _isotonic()
    regression.__setstate__(
        regression.__getstate__()
        | {
            "X_min_": certainty[0],
            "X_max_": certainty[-1],
            "X_thresholds_": certainty,
            "y_thresholds_": probability,
            "increasing_": True,
        }
    )
    return regression


def _isotonic() -> "IsotonicRegression":
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")


def with_highest(scores: NDArray[np.float64], highest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of log-probabilities (Q, k) times a number for each row, whose highest are these (Q,).

    A row whose highest is NaN is that of its log-probabilities as they are.
    """
    behind = scores - scores.max(axis=1, keepdims=True)
    low, high = np.full(len(scores), -_MOST_DOUBLED), np.full(len(scores), _MOST_DOUBLED)
    for _ in range(_HALVINGS):  # of the interval in which the logarithm of the number lies
        middle = (low + high) / 2
        is_low = 1 / np.exp(np.exp2(middle)[:, None] * behind).sum(axis=1) < highest
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    by = np.where(np.isnan(highest), 1, np.exp2((low + high) / 2))
    probabilities: NDArray[np.float64] = softmax(by[:, None] * behind, axis=1)
    return probabilities
