"""How far the answers of a classifier hold: the probability of a right one, and the score below which none is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sklearn.isotonic import IsotonicRegression

LEAST_OF_A_KIND = 5  # right and wrong answers that fitting a probability needs


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
    return _isotonic().fit(certainty[known], is_right[known])


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
        threshold is None or isinstance(threshold, float | int) for threshold in thresholds.values()
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
