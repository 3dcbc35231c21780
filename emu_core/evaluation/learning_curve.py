"""What more labels would add: the gain of the last ones, carried on along a logarithmic learning curve."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors

COVERAGE = 0.8  # of the intervals


@dataclass(frozen=True)
class Gain:
    """A forecast gain in percentage points, with an 80 % prediction interval."""

    gain: float
    low: float
    high: float


def rows_to_leave_out(labels: Sequence[str], count: int, seed: int) -> NDArray[np.int64]:
    """Return up to `count` random rows of N labels, ascending, that leave a row of each label and half of all rows."""
    order = np.random.default_rng(seed).permutation(len(labels))
    shuffled = np.asarray(labels, dtype=object)[order]
    first = np.unique(shuffled.astype(str), return_index=True)[1]
    return np.sort(np.delete(order, first)[: min(count, len(labels) // 2)]).astype(np.int64)


def forecast_gain(gains: Vectors, labels: int, left_out: int, more: int, accuracy: float) -> Gain:
    """Forecast what `more` labels add, from what `left_out` of the labels added.

    Accuracy is taken to be linear in the logarithm of the number of labels. The interval is that of Student's t for
    one further gain, as they differ by which sentences were left out.

    Args:
        gains: (R,) how much the accuracy with all labels exceeds that without the ones left out, R times, in points.
        labels: the number of labels.
        left_out: how many were left out each time.
        more: the number of further labels.
        accuracy: that with all labels, in percent, which no gain takes beyond 100.

    Raises:
        DataError: there are fewer than two gains, or a number is below 1.
    """
    from scipy.stats import t

    if len(gains) < 2 or min(left_out, more) < 1 or left_out >= labels:
        raise DataError(
            "a forecast needs two repeats or more, in each of which some, but not all labels are left out"
        )
    flatter = np.log((labels + more) / labels) / np.log(labels / (labels - left_out))
    mean, spread = float(np.mean(gains)) * flatter, float(np.std(gains, ddof=1)) * np.sqrt(more / left_out)
    half = float(t.ppf((1 + COVERAGE) / 2, len(gains) - 1)) * spread * np.sqrt(1 + 1 / len(gains))
    most = 100 - accuracy
    return Gain(*(float(min(value, most)) for value in (mean, mean - half, mean + half)))
