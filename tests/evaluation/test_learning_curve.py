"""The forecast of what more labels add, by hand."""

import math

import pytest

from emu_core.errors import DataError
from emu_core.evaluation.learning_curve import forecast_gain, rows_to_leave_out


def test_the_last_labels_gain_goes_on_along_the_logarithm() -> None:
    forecast = forecast_gain([3.0, 5.0], labels=40, left_out=20, more=40, accuracy=50)
    assert forecast.gain == pytest.approx(4.0), "from 20 to 40 as from 40 to 80"
    # Student's t with one degree of freedom is Cauchy's: its 90 % point is tan(0.4 pi).
    half = math.tan(0.4 * math.pi) * math.sqrt(2) * math.sqrt(2) * math.sqrt(1.5)
    assert forecast.low == pytest.approx(4 - half) and forecast.high == pytest.approx(4 + half)
    flatter = forecast_gain([4.0, 4.0], labels=40, left_out=20, more=20, accuracy=50)
    assert flatter.gain == flatter.low == flatter.high == pytest.approx(4 * math.log(1.5) / math.log(2))


def test_no_gain_goes_beyond_all_right() -> None:
    forecast = forecast_gain([3.0, 5.0], labels=40, left_out=20, more=40, accuracy=99)
    assert forecast.gain == forecast.high == pytest.approx(1.0) and forecast.low < 0


@pytest.mark.parametrize("seed", range(4))
def test_each_intent_and_half_of_the_labels_stay(seed: int) -> None:
    labels = ["a"] * 6 + ["b"] + ["c"] * 3
    rows = rows_to_leave_out(labels, 20, seed)
    kept = [label for row, label in enumerate(labels) if row not in set(rows.tolist())]
    assert len(rows) == 5 == len(set(rows.tolist())) and set(kept) == {"a", "b", "c"}
    assert len(rows_to_leave_out(labels, 2, seed)) == 2
    assert not len(rows_to_leave_out(["a", "b"], 2, seed))


def test_a_forecast_of_nothing_is_refused() -> None:
    for numbers in ({"gains": [1.0]}, {"more": 0}, {"left_out": 0}, {"left_out": 40}):
        arguments = {"gains": [1.0, 2.0], "labels": 40, "left_out": 10, "more": 5, "accuracy": 50.0} | numbers
        with pytest.raises(DataError, match="two repeats"):
            forecast_gain(**arguments)  # type: ignore[arg-type]
