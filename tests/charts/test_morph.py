"""A map that turns into another: its ends, what lies between, trails by kind, and nobody's text as markup."""

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from emu_core import charts
from emu_core.charts.animation import on_grid
from emu_core.charts.comparison import CHANGES
from emu_core.charts.morph import STEPS
from emu_core.charts.style import GREY
from emu_core.evaluation.neighbour_changes import Change, Morph

KINDS = np.array(["fixed", "broken", "changed", "unchanged", "fixed"])
PLACES = np.random.default_rng(0).random((2, 5, 2)).astype(np.float32)
HOSTILE = "<b>B"
SENTENCES = pd.DataFrame({"text": [f"<i>{row}" for row in range(5)], "intent": HOSTILE, "language": "en"})


@pytest.fixture(scope="module")
def figure() -> go.Figure:
    return charts.morph(Morph(SENTENCES, ("A", HOSTILE), PLACES, KINDS))


def numbers(data: Any) -> list[float]:
    return np.asarray(data, dtype=float).round(3).tolist()


def test_each_end_is_a_map_and_every_step_lies_between(figure: go.Figure) -> None:
    grid = on_grid(PLACES)
    assert [frame["name"] for frame in figure.frames] == [str(step) for step in range(STEPS + 1)]
    for step, end in ((0, grid[0]), (STEPS, grid[1])):
        others, _, fixed, _, broken = figure.frames[step]["data"]
        for trace, rows in ((others, [2, 3]), (fixed, [0, 4]), (broken, [1])):
            assert numbers(trace["x"]) == numbers(end[rows, 0]) and numbers(trace["y"]) == numbers(
                end[rows, 1]
            )
    halfway = figure.frames[STEPS // 2]["data"][2]
    assert numbers(halfway["x"]) == pytest.approx(grid[:, [0, 4], 0].mean(axis=0), abs=1)
    so_far = [frame["data"][4]["x"][0] for frame in figure.frames]
    assert so_far in (sorted(so_far), sorted(so_far, reverse=True))  # it never turns back


def test_only_what_became_right_or_wrong_leaves_a_trail(figure: go.Figure) -> None:
    grid = on_grid(PLACES).astype(float)
    fixed, broken = (figure.frames[STEPS]["data"][number] for number in (1, 3))
    for trail, rows in ((fixed, [0, 4]), (broken, [1])):
        for axis, name in enumerate("xy"):
            start, end, gap = np.asarray(trail[name], dtype=float).reshape(-1, 3).T
            assert (
                start.tolist() == grid[0, rows, axis].tolist()
                and end.tolist() == grid[1, rows, axis].tolist()
            )
            assert np.isnan(gap).all()
    drawn = {trace.name: trace.marker.color for trace in figure.data if trace.mode == "markers"}
    colours = CHANGES[Change.FIXED], CHANGES[Change.BROKEN]
    assert drawn == {"the others": GREY, "fixed: 2": colours[0], "broken: 1": colours[1]}
    assert tuple(trace.line.color for trace in figure.data if trace.mode == "lines") == colours


def test_the_names_of_one_map_fade_before_those_of_the_other_appear(figure: go.Figure) -> None:
    def opacities(step: int) -> list[float]:
        return [name["opacity"] for name in figure.frames[step]["layout"]["annotations"]]

    assert opacities(0) == [1, 0] and opacities(STEPS // 2) == [0, 0] and opacities(STEPS) == [0, 1]
    assert all(min(opacities(step)) == 0 for step in range(STEPS + 1))


def test_the_slider_stops_at_every_step_and_nothing_is_markup(figure: go.Figure) -> None:
    [slider] = figure.layout.sliders
    assert [stop.args[0][0] for stop in slider.steps] == [frame["name"] for frame in figure.frames]
    assert (slider.steps[0].label, slider.steps[-1].label) == ("A", "&lt;b&gt;B")
    hovered = [text for trace in figure.data if trace.text is not None for text in trace.text]
    written = [*hovered, *(name.text for name in figure.layout.annotations)]
    assert len(written) == 7 and not any(HOSTILE in text or "<i>" in text for text in written)


@pytest.mark.parametrize("kinds", [np.full(5, "unchanged"), np.full(5, "fixed")])
def test_kinds_that_nobody_has(kinds: np.ndarray) -> None:
    figure = charts.morph(Morph(SENTENCES, ("A", "B"), PLACES, kinds))
    names = [trace.name for trace in figure.data if trace.mode == "markers"]
    assert names == ["the others", f"fixed: {(kinds == 'fixed').sum()}", "broken: 0"]
