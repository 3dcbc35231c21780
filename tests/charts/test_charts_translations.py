"""The pictures of the Pretrain and the Translations page: what is drawn, against plain arithmetic."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from emu_core import charts
from emu_core.charts.curves import BINS
from emu_core.charts.scatter import MOST_WRITTEN
from tests.support.records import record


def traces(figure: Any) -> list[Any]:
    return list(figure.data)


def test_held_out_pairs_epoch_by_epoch_with_the_first_best_marked() -> None:
    history = [
        record("step", loss=2.0),
        record("epoch", dev_accuracy=50.0),
        record("epoch", step=2, epoch=2, dev_accuracy=75.5),
        record("epoch", step=3, epoch=3, dev_accuracy=75.5),
        record("epoch", step=4, epoch=4),  # nothing was held out
    ]
    figure = charts.held_out_curves({"": history})
    (line,) = traces(figure)
    assert list(line.x) == [1, 2, 3] and list(line.y) == [50.0, 75.5, 75.5]
    (mark,) = figure.layout.annotations
    assert (mark.x, mark.y) == (2, 75.5) and mark.text == "best: 75.5 %, epoch 2"


def test_runs_that_are_compared_have_a_line_each_and_a_legend() -> None:
    epochs = [record("epoch", epoch=number, dev_accuracy=10.0 * number) for number in (1, 2)]
    figure = charts.held_out_curves({"a<b>": epochs, "other": epochs[:1]})
    assert [(line.name, list(line.y)) for line in traces(figure)] == [
        ("a&lt;b&gt;, best: 20.0 %, epoch 2", [10, 20]),
        ("other, best: 10.0 %, epoch 1", [10]),
    ]
    assert figure.layout.showlegend and not figure.layout.annotations


def test_no_epoch_is_no_error() -> None:
    figure = charts.held_out_curves({"": [record("step")]})
    assert not figure.layout.annotations and not list(traces(figure)[0].x)


def test_spectra_stand_in_a_panel_for_each_encoder() -> None:
    a, b = np.array([0.0, 1.5, 2.0]), np.array([0.0, 1.0, 3.0])
    figure = charts.spectrum_lines(
        {"one <b>": {"English": a, "German": b}, "two": {"English": b, "German": a}}
    )
    assert [(t.name, t.xaxis, list(t.x), list(t.y)) for t in traces(figure)] == [
        ("English", "x", [2, 3], [1.5, 2.0]),  # the first is 0 whatever the sentences
        ("German", "x", [2, 3], [1.0, 3.0]),
        ("English", "x2", [2, 3], [1.0, 3.0]),
        ("German", "x2", [2, 3], [1.5, 2.0]),
    ]
    assert [t.showlegend for t in traces(figure)] == [True, True, False, False]
    assert figure.layout.annotations[0].text == "one &lt;b&gt;"


def test_psi_is_drawn_with_its_mean_and_interval() -> None:
    values = np.random.default_rng(0).gamma(2.0, 0.3, 400)
    figure = charts.psi_distributions({"mine": values, "theirs": values + 1})
    mine, theirs = traces(figure)
    mean = sum(values) / 400
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / 399)
    reach = 1.96 * deviation / 20
    assert mine.name == f"mine: {mean:.3f} ± {reach:.3f}"
    assert theirs.name.startswith(f"theirs: {mean + 1:.3f}")
    assert sum(mine.y) == pytest.approx(100) and len(mine.y) == BINS
    assert list(mine.x) == list(theirs.x)
    band, line = figure.layout.shapes[0], figure.layout.shapes[1]
    assert (band.x0, band.x1) == (pytest.approx(mean - reach), pytest.approx(mean + reach))
    assert line.x0 == line.x1 == pytest.approx(mean)
    width = mine.x[1] - mine.x[0]
    at = 3
    low, high = mine.x[at] - width / 2, mine.x[at] + width / 2
    inside = sum(low <= value < high for value in values)
    assert mine.y[at] == pytest.approx(100 * inside / 400)


def test_psi_of_two_equal_languages_is_drawn() -> None:
    (bars,) = traces(charts.psi_distributions({"same": np.zeros(20)}))
    assert bars.y[0] == 100 and bars.name == "same: 0.000 ± 0.000"


@pytest.mark.parametrize("count", [2, MOST_WRITTEN])
def test_words_stand_at_their_places_in_their_languages_colour(count: int) -> None:
    words = pd.DataFrame(
        {"word": [*(f"w{i}" for i in range(count)), "<i>hund"], "language": ["en"] * count + ["de"]}
    )
    places = np.arange(2 * (count + 1), dtype=np.float32).reshape(-1, 2)
    english, german = traces(charts.word_map(places, words))
    assert english.name == "English" and list(english.x)[:2] == [0, 2] and list(english.y)[:2] == [1, 3]
    assert list(german.text) == ["&lt;i&gt;hund"] and list(german.x) == [2 * count]
    assert english.marker.color != german.marker.color and english.marker.symbol != german.marker.symbol
    assert english.textposition != german.textposition
    # Written out only while there is room.
    assert english.mode == ("markers+text" if count == 2 else "markers")
