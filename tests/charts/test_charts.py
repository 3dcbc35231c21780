"""Pictures hold the numbers they were given, whatever the names, the sizes and the gaps."""

import base64
import itertools
import math
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from emu_core import charts
from emu_core.charts.curves import MAX_CURVE_POINTS
from emu_core.charts.marks import MAX_NAMED_CLUSTERS, NAME_HEIGHT, cluster_names, groups, name_width
from emu_core.charts.stills import maps_file
from emu_core.charts.style import DARK, GREY, LIGHT, TOLD_APART
from emu_core.data.languages import language_name
from emu_core.reports.map_pages import maps_page
from emu_core.runs.log import Record
from tests.support.records import record

HOSTILE = "<script>alert(1)</script> $x_1$"


def step(number: int, epoch: int = 1, **parts: float) -> Record:
    return record("step", step=number, epoch=epoch, seconds=0.1, learning_rate=1e-3, **parts)


def curve(figure: go.Figure, title: str) -> go.Scatter:
    return next(trace for trace in figure.data if trace.name == title)


def heat(figure: go.Figure) -> go.Heatmap:
    return next(trace for trace in figure.data if trace.type == "heatmap")


def printed(figure: go.Figure) -> list[str]:
    return [text for trace in figure.data if trace.type == "scatter" for text in trace.text]


def points(n: int, intents: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "row": np.arange(100, 100 + n),
            "text": [f"sentence {i}" for i in range(n)],
            "intent": [f"intent {i % intents:03}" for i in range(n)],
            "language": [("en", "de", "ja")[i % 3] for i in range(n)],
        }
    )


def places(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.random((n, 2), dtype=np.float32) for name in ("Base", "Specialised")}


def test_class_balance_prints_every_count() -> None:
    counts = pd.DataFrame({"en": [3, 0], "de": [1, 7]}, index=["pool", HOSTILE])
    figure = charts.class_balance(counts)
    assert heat(figure).z.tolist() == [[3, 1], [0, 7]]
    assert printed(figure) == ["3", "1", "0", "7"]
    assert (heat(figure).zmin, heat(figure).zmax) == (0, 7)
    assert "<script" not in figure.to_json()
    assert "German: 7" in heat(figure).text[1][1]


def test_counts_have_one_hue_on_which_the_pages_text_is_legible() -> None:
    for page, ink in (("#FFFFFF", "#31333F"), ("#0E1117", "#FAFAFA")):
        figure = charts.class_balance(pd.DataFrame({"en": [0, 1, 10]}, index=["a", "b", "c"]), ink)
        assert figure.data[1].textfont.color == ink
        for _, colour in heat(figure).colorscale:
            *hue, share = (float(part) for part in colour.removeprefix("rgba(").removesuffix(")").split(","))
            assert hue == [0, 114, 178]
            ground = [share * over + (1 - share) * under for over, under in zip(hue, _rgb(page), strict=True)]
            assert _contrast(_rgb(ink), ground) >= 4.5


def test_the_balance_begins_with_its_first_row_and_ends_with_its_last() -> None:
    figure = charts.class_balance(pd.DataFrame({"en": [3, 0, 1]}, index=["a", "b", "c"]))
    assert tuple(figure.layout.yaxis.range) == (2.5, -0.5)  # the first on top, half a cell past each end
    assert figure.layout.yaxis.autorange is False


def test_names_that_are_alike_when_cut_keep_rows_of_their_own() -> None:
    stem = "a" * 60
    figure = charts.class_balance(pd.DataFrame({"en": [1, 2]}, index=[stem + "1", stem + "2"]))
    assert len(set(heat(figure).y)) == 2


def test_no_two_groups_share_a_colour_and_a_mark_and_none_is_grey() -> None:
    frame = pd.DataFrame({"intent": [f"intent {number:02}" for number in range(96)]})
    seen = groups(frame, "intent")
    assert len({(group.colour, group.mark) for group in seen}) == 96
    assert len({group.colour for group in seen[:24]}) == 24
    for first in range(
        0, 96, TOLD_APART
    ):  # eight colours in a row, which every reader tells apart, have one mark
        assert len({group.mark for group in seen[first : first + TOLD_APART]}) == 1
    assert GREY not in {group.colour for group in seen}


def test_the_largest_groups_come_first() -> None:
    sizes = {"alpha": 1, "turn off": 30, "turn on": 40, "timer": 30, "beta": 1}
    frame = pd.DataFrame({"intent": [intent for intent, size in sizes.items() for _ in range(size)]})
    seen = groups(frame, "intent", theme=DARK)
    assert [(group.value, group.count) for group in seen] == [
        ("turn on", 40), ("timer", 30), ("turn off", 30), ("alpha", 1), ("beta", 1),
    ]  # fmt: skip
    assert [group.colour for group in seen] == list(DARK.palette[:5])
    spoken = pd.DataFrame({"language": ["de", "en", "ja", "ja"]})
    assert [group.value for group in groups(spoken, "language")] == ["ja", "en", "de"]


def test_intents_in_focus_get_the_palette_wherever_they_are_in_the_alphabet() -> None:
    frame = pd.DataFrame({"intent": [f"intent {number:02}" for number in range(40)]})
    focus = ["intent 39", "intent 01", "intent 30"]
    colours = {group.value: group.colour for group in groups(frame, "intent", focus)}
    assert [colours[intent] for intent in sorted(focus)] == list(LIGHT.palette[:3])
    few = frame.head(8)  # each has a colour that everybody can tell apart: nothing to gain
    assert groups(few, "intent", ["intent 07"]) == groups(few, "intent")


def test_maps_draw_intents_in_focus_in_their_colours_in_files_too() -> None:
    frame, panels = points(180, intents=90), places(180)
    last = frame["intent"].max()
    shown = (frame["intent"] == last).to_numpy()
    look: Any = {"shown": shown, "focus": [last]}
    drawn = of_points(charts.sentence_maps(panels, frame, "intent", **look))
    assert [trace.marker.color for trace in drawn] == [LIGHT.palette[0]]
    assert {trace.marker.symbol for trace in drawn} == {0}
    svg = maps_file(panels, frame, "intent", frozenset(), file_format="svg", **look)
    grey = maps_file(panels, frame, "intent", frozenset(), file_format="svg", shown=shown)
    colour = LIGHT.palette[0].lower().encode()
    legend = grey.count(colour)
    assert svg.count(colour) > legend
    assert maps_page(panels, frame, "intent", frozenset(), **look) != maps_page(
        panels, frame, "intent", frozenset(), shown
    )


def test_loss_curves_have_a_panel_for_each_part() -> None:
    history = [step(n, loss=3.0 / n, softmax=2.0 / n, adversarial=-0.1) for n in range(1, 41)]
    figure = charts.loss_curves(history)
    assert [trace.name for trace in figure.data] == [
        "Loss: all parts",
        "Softmax",
        "Adversarial",
    ]
    assert curve(figure, "Loss: all parts").y.tolist() == [3.0 / n for n in range(1, 41)]
    axes = [figure.layout.yaxis.type, figure.layout.yaxis2.type, figure.layout.yaxis3.type]
    assert axes == ["log", "log", "linear"]  # 40 to 1 and all above zero; below zero there is no logarithm


def test_the_names_of_many_epochs_do_not_overlap() -> None:
    log = [one for n in range(1, 21) for one in (step(n, epoch=n, loss=1.0), record("epoch", epoch=n))]
    figure = charts.loss_curves(log)
    assert len(figure.layout.shapes) == 20
    names = [note.text for note in figure.layout.annotations if "epoch" in note.text]
    assert names == [f"epoch {n}" for n in range(2, 21, 2)]


def test_only_epochs_that_are_over_are_marked() -> None:
    steps = [step(n, epoch=1 + (n > 5), loss=1.0) for n in range(1, 9)]
    ends = [record("epoch", seconds=1.0, dev_accuracy=61.5)]
    figure = charts.loss_curves([*steps[:5], *ends, *steps[5:]])
    assert [note.text for note in figure.layout.annotations if "epoch" in note.text] == ["epoch 1"]
    accuracy = curve(figure, "Accuracy on dev")
    assert (list(accuracy.x), list(accuracy.y)) == ([5.0], [61.5])


def test_every_panel_of_the_loss_has_the_same_steps() -> None:
    figure = charts.loss_curves(
        [step(n, loss=1.0, softmax=1.0, **({"critic": 5.0} if n % 8 == 1 else {})) for n in range(1, 22)]
    )
    assert [figure.layout[f"xaxis{panel}"].matches for panel in (2, 3)] == ["x", "x"]


def test_the_curves_of_two_runs_lie_over_each_other() -> None:
    first = [step(n, loss=3.0 / n, critic=1.0) for n in range(1, 41)]
    second = [step(n, loss=2.0) for n in range(1, 9)]
    figure = charts.loss_curves({"A: one": first, HOSTILE: second})
    assert [note.text for note in figure.layout.annotations] == ["Loss: all parts", "Critic"]
    drawn = [(trace.legendgroup, trace.yaxis, len(trace.x), trace.showlegend) for trace in figure.data]
    assert drawn == [("A: one", "y", 40, True), (HOSTILE, "y", 8, True), ("A: one", "y2", 40, False)]
    assert figure.data[0].line.color == figure.data[2].line.color != figure.data[1].line.color
    assert "<script" not in "".join(trace.name + trace.hovertemplate for trace in figure.data)
    assert figure.layout.yaxis.type == "log" and not figure.layout.shapes  # epochs are of one run


def test_a_long_run_is_thinned_to_its_means() -> None:
    values = np.random.default_rng(0).random(5_000)
    figure = charts.loss_curves([step(n + 1, loss=float(v)) for n, v in enumerate(values)])
    drawn = curve(figure, "Loss: all parts")
    width = math.ceil(5_000 / MAX_CURVE_POINTS)
    assert len(drawn.y) == math.ceil(5_000 / width) <= MAX_CURVE_POINTS
    assert drawn.y[0] == pytest.approx(sum(values[:width]) / width)
    assert drawn.x[0] == width
    last = values[(len(drawn.y) - 1) * width :]
    assert drawn.y[-1] == pytest.approx(sum(last) / len(last))


def test_loss_curves_bear_gaps_and_nothing() -> None:
    figure = charts.loss_curves(
        [step(1, loss=1.0), step(2, loss=math.nan), step(3, loss=2.0, critic=math.inf)]
    )
    assert math.isnan(curve(figure, "Loss: all parts").y[1])
    assert len(figure.data) == 1  # a part that was never finite has no panel
    rare = curve(
        charts.loss_curves(
            [step(n, loss=1.0, **({"critic": 5.0} if n % 8 == 1 else {})) for n in range(1, 20)]
        ),
        "Critic",
    )
    assert (list(rare.x), list(rare.y)) == ([1, 9, 17], [5.0] * 3)  # what is in some steps only is joined
    assert charts.loss_curves([]).layout.annotations[0].text == "No step is done yet."


def test_accuracy_matrix_prints_percentages_and_holes() -> None:
    accuracy = pd.DataFrame([[50.0, math.nan], [66.67, 100.0]], index=["en", "de"], columns=["en", "de"])
    figure = charts.accuracy_matrix(accuracy, "Base", (40, 100))
    assert printed(figure) == ["50.0", "–", "66.7", "100.0"]
    assert heat(figure).text[1][0] == "asked in: German<br>labelled in: English<br>similar sentences, %: 66.7"
    assert figure.layout.yaxis.autorange == "reversed"  # first row on top, as in a table


def test_accuracy_difference_is_centred_on_zero() -> None:
    difference = pd.DataFrame([[12.0, -3.0]], index=["en"], columns=["en", "de"])
    figure = charts.accuracy_difference(difference, difference.abs() > 5, "Difference")
    assert printed(figure) == ["+12.0*", "-3.0"]
    assert (heat(figure).zmin, heat(figure).zmax) == (-12, 12)
    nothing = charts.accuracy_difference(difference * math.nan, difference > 99, "Difference")
    assert printed(nothing) == ["–", "–"]


def test_changes_have_their_intervals_the_worst_on_top() -> None:
    changes = pd.DataFrame(
        [
            {"language": "de", "difference": -3.0, "low": -5.0, "high": -2.0, "verdict": "worse", "queries": 9},
            {"language": "en", "difference": 4.0, "low": 1.0, "high": 6.0, "verdict": "better", "queries": 9},
            {"language": HOSTILE, "difference": 0.0, "low": -2.0, "high": 2.5, "verdict": "not clear",
             "queries": 9},
        ]
    )  # fmt: skip
    figure = charts.change_intervals(changes)
    loses, gains = curve(figure, "worse"), curve(figure, "better")
    assert (loses.x, loses.y, gains.x, gains.y) == ((-3.0,), (2,), (4.0,), (0,))
    assert (loses.error_x.array, loses.error_x.arrayminus) == ((1.0,), (2.0,))
    assert figure.layout.yaxis.ticktext[0] == "English" and figure.layout.yaxis.ticktext[2] == "German"
    assert "<script>" not in figure.to_json()
    assert loses.marker.symbol != gains.marker.symbol
    assert [(line.x0, line.x1) for line in figure.layout.shapes] == [(0, 0)]
    trained_on = charts.change_intervals(changes, seen=True)
    assert curve(trained_on, "better, but seen in training").marker.color == GREY
    assert curve(trained_on, "worse").marker.color == loses.marker.color


def test_cell_text_contrasts_with_its_cell() -> None:
    """WCAG contrast of at least 4.5 to 1, or the better of black and white."""
    figure = charts.accuracy_matrix(pd.DataFrame([np.linspace(0, 100, 12)]), "Base")
    inks = figure.data[1].textfont.color
    scale = [(stop, _rgb(colour)) for stop, colour in heat(figure).colorscale]
    for share, ink in zip(np.linspace(0, 1, 12), inks, strict=True):
        ground = [np.interp(share, [s for s, _ in scale], [c[k] for _, c in scale]) for k in range(3)]
        chosen, rest = (
            _contrast(_rgb(ink), ground),
            _contrast(_rgb("#FFFFFF" if ink == "#111111" else "#111111"), ground),
        )
        assert chosen >= min(4.2, rest)


def test_triangles_have_the_sides_that_the_cosines_say() -> None:
    cosines = {"Base": (0.6, 0.8, 0.5), "Specialised": (0.95, 0.1, 0.2)}
    figure = charts.triple_picture(cosines, ("a", "b", HOSTILE))
    sides = [trace for trace in figure.data if trace.mode == "lines"]
    wanted = [c for three in cosines.values() for c in three]
    for side, cosine in zip(sides, wanted, strict=True):
        length = math.dist((side.x[0], side.y[0]), (side.x[1], side.y[1]))
        assert length == pytest.approx(math.sqrt(2 - 2 * cosine))
    thick = [place for place, side in enumerate(sides) if side.line.width > 2]
    assert thick == [1, 3]  # S1-S3 under the base encoder, S1-S2 under the specialised one
    assert "<script" not in figure.to_json()


def test_triangle_bears_sentences_on_one_spot_and_ties() -> None:
    figure = charts.triple_picture({"Base": (1.0, 1.0, 1.0)}, ("a", "a", "a"))
    assert sum("closest" in note.text for note in figure.layout.annotations) == 3
    flat = charts.triple_picture({"Base": (1.0, 0.3, 0.3)}, ("a", "a", "b"))
    assert all(np.isfinite(trace.y).all() for trace in flat.data)


def test_similarity_matrix_prints_cosines_until_they_no_longer_fit() -> None:
    small = charts.similarity_matrix(np.array([[1.0, 0.25], [0.25, 1.0]]), ["a", HOSTILE], "Base", (0, 1))
    assert printed(small) == ["1.00", "0.25", "0.25", "1.00"]
    assert "<script" not in small.to_json()
    large = charts.similarity_matrix(np.eye(40), ["a"] * 40, "Base", (0, 1))
    assert printed(large) == []
    assert heat(large).showscale


@pytest.mark.parametrize("colour_by", ["intent", "language"])
def test_maps_draw_every_point_once_a_panel(colour_by: Any) -> None:
    frame, panels = points(60, intents=20), places(60)
    figure = charts.sentence_maps(panels, frame, colour_by)
    for axis, name in (("x", "Base"), ("x2", "Specialised")):
        traces = [trace for trace in figure.data if trace.xaxis == axis and trace.customdata is not None]
        drawn = {
            int(row): (x, y)
            for trace in traces
            for row, x, y in zip(trace.customdata, trace.x, trace.y, strict=True)
        }
        assert drawn == {100 + i: tuple(place) for i, place in enumerate(panels[name].tolist())}
        assert all(trace.x.dtype == np.float32 for trace in traces)


def keys(figure: go.Figure, legend: str) -> dict[str, Any]:
    """The marks of a legend's entries, by their names."""
    return {trace.name: trace.marker for trace in figure.data if trace.legend == legend}


def of_points(figure: go.Figure, axis: str = "x") -> list[Any]:
    return [trace for trace in figure.data if trace.xaxis == axis and trace.customdata is not None]


def test_groups_are_told_apart_by_colour_and_shape() -> None:
    frame = points(96, intents=24)
    assert not keys(charts.sentence_maps(places(96), frame, "intent"), "legend2")  # only if somebody asks
    figure = charts.sentence_maps(places(96), frame, "intent", shape_languages=True)
    assert len({mark.color for mark in keys(figure, "legend").values()}) == 24
    assert len({mark.symbol for mark in keys(figure, "legend2").values()}) == 3
    assert not any(trace.marker.line.width for trace in figure.data)


def test_coloured_by_language_all_points_are_circles() -> None:
    figure = charts.sentence_maps(places(84), points(84, intents=28), "language", shape_languages=True)
    assert list(keys(figure, "legend")) == ["English (28)", "German (28)", "Japanese (28)"]
    assert not keys(figure, "legend2")
    assert {trace.marker.symbol for trace in of_points(figure)} == {0}


def test_points_look_as_the_legends_say() -> None:
    frame = points(60, intents=20)
    figure = charts.sentence_maps(places(60), frame, "intent", shape_languages=True)
    colours = {name.removesuffix(" (3)"): mark for name, mark in keys(figure, "legend").items()}
    marks = keys(figure, "legend2")
    language_of = dict(zip(frame["row"], frame["language"].map(language_name), strict=True))
    drawn = [*of_points(figure), *of_points(figure, "x2")]
    for trace in drawn:
        assert trace.marker.color == colours[trace.name].color
        assert figure.layout.meta["groups"][trace.meta][:2] == (trace.name, trace.marker.color)
        codes = np.frombuffer(base64.b64decode(trace.marker.symbol["bdata"]), trace.marker.symbol["dtype"])
        assert codes.tolist() == [marks[language_of[row]].symbol for row in trace.customdata]
    assert len(drawn) == 2 * 20


def test_a_filter_neither_recolours_nor_rescales_and_what_it_leaves_out_stays_grey() -> None:
    frame, panels = points(60, intents=5), places(60)
    shown = (frame["intent"] != "intent 000").to_numpy() & (frame["language"] == "de").to_numpy()
    before, after = (charts.sentence_maps(panels, frame, "intent", shown=some) for some in (None, shown))
    for axis, title in (("x", "Base"), ("x2", "Specialised")):
        left = {trace.name: trace.marker.color for trace in of_points(after, axis)}
        assert left == {
            trace.name: trace.marker.color for trace in of_points(before, axis) if trace.name != "intent 000"
        }
        drawn = sorted(int(row) for trace in of_points(after, axis) for row in trace.customdata)
        assert drawn == frame["row"][shown].tolist()
        [grey] = [trace for trace in after.data if trace.xaxis == axis and trace.name == "filtered out"]
        np.testing.assert_array_equal(np.stack([grey.x, grey.y], axis=1), panels[title][~shown])
        assert grey.marker.color == GREY and grey.hoverinfo == "skip"
    for figure in (before, after):
        assert figure.layout.xaxis.range[0] < min(found[:, 0].min() for found in panels.values())
        assert figure.layout.yaxis.range[1] > max(found[:, 1].max() for found in panels.values())
        # One frame and one zoom for both.
        assert {figure.layout.xaxis.matches, figure.layout.xaxis2.matches} == {"x"}
        assert figure.layout.yaxis2.matches == "y"
    assert before.layout.xaxis.range == after.layout.xaxis.range == after.layout.xaxis2.range
    assert (
        before.layout.yaxis2.uirevision
        == after.layout.xaxis.uirevision
        == str([*before.layout.xaxis.range, *before.layout.yaxis.range])
    )
    assert list(keys(before, "legend")) == list(keys(after, "legend"))
    assert not of_points(charts.sentence_maps(panels, frame, "intent", shown=np.zeros(60, dtype=bool)))


def test_trained_sentences_are_faint_and_the_legend_says_so() -> None:
    frame = points(30).assign(trained=[True, False] * 15)
    figure = charts.sentence_maps(places(30), frame, "language")
    for trace in of_points(figure):
        rows = np.asarray(trace.customdata) - 100
        assert (np.asarray(trace.marker.opacity) < 0.5).tolist() == (rows % 2 == 0).tolist()
    faint, solid = keys(figure, "legend2").values()
    assert faint.opacity < 0.5 < solid.opacity
    assert list(keys(figure, "legend2")) == ["trained on: faint", "held out: solid"]


def test_of_many_intents_the_largest_are_named_where_they_are() -> None:
    frame, corners = points(240, intents=120), np.random.default_rng(0).random((240, 2)).astype(np.float32)
    frame.loc[:99, "intent"] = "large"
    corners[:100] = [0.5, 0.25]
    figure = charts.sentence_maps({"Base": corners}, frame, "intent")
    assert len(of_points(figure)) == 24 and not keys(figure, "legend")
    value_of = dict(zip(frame["row"], frame["intent"], strict=True))
    for trace in of_points(figure):  # a trace for each colour, whose points say their groups
        of = [figure.layout.meta["groups"][number] for number in trace.meta]
        assert [name for name, *_ in of] == [value_of[row] for row in trace.customdata]
        assert {colour for _, colour, *_ in of} == {trace.marker.color}
    assert sum(len(trace.customdata) for trace in of_points(figure)) == 240
    names = figure.layout.annotations[1:]
    assert (names[0].text, names[0].x, names[0].y) == (
        "<b>large</b>",
        pytest.approx(0.5),
        pytest.approx(0.25),
    )
    assert len(names) == MAX_NAMED_CLUSTERS
    (left, right), (low, high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert all(left <= name.ax <= right and low <= name.ay <= high for name in names)
    assert len(charts.sentence_maps({"Base": corners}, frame, "intent", named=0).layout.annotations) == 1
    assert names[0].font.color == LIGHT.ink


def test_names_leave_each_other_room_and_stay_on_the_map() -> None:
    places = np.array([[0, 0], [1, 1], [0.5, 0.5], [0.51, 0.5], [0.51, 0.5], [0.5, 0.9]], dtype=np.float32)
    intents = np.array(["edge", "", "a", "b", "b", "a name of many letters"], dtype=object)
    names = cluster_names(places, intents, 20)
    assert {name.intent for name in names} == {"edge", "a", "b", "a name of many letters"}
    at = {name.intent: (name.at_x, name.at_y) for name in names}
    assert at["b"] == (pytest.approx(0.51), 0.5) and at["edge"] == (0, 0)
    for name in names:
        half = name_width(name.intent) / 2
        assert half <= name.x + 1e-6 and name.x <= 1 - half + 1e-6 and 0 < name.y < 1
    for one, other in itertools.combinations(names, 2):
        across = (name_width(one.intent) + name_width(other.intent)) / 2
        apart = abs(one.x - other.x) >= across - 1e-6 or abs(one.y - other.y) >= NAME_HEIGHT - 1e-6
        assert apart, (one, other)
    assert cluster_names(places[:0], intents[:0], 20) == []


def test_names_stand_beside_their_points_and_cover_as_few_of_others_as_they_can() -> None:
    rng = np.random.default_rng(0)
    own = rng.normal((0.5, 0.5), 0.02, (40, 2))
    above = np.column_stack([rng.uniform(0.2, 0.8, 200), rng.uniform(0.55, 1, 200)])
    corners = [[0, 0], [1, 1]]
    places = np.concatenate([own, above, corners]).astype(np.float32)
    intents = np.array(["own"] * 40 + [f"other {n}" for n in range(200)] + [""] * 2, dtype=object)
    [name] = cluster_names(places, intents, 1)
    half = np.array([name_width("own"), NAME_HEIGHT]) / 2
    inside = (np.abs(places - [name.x, name.y]) < half).all(axis=1)
    assert not inside.any()
    assert name.y < 0.55 and np.hypot(name.x - 0.5, name.y - 0.5) < 0.15  # and near


def test_only_an_intent_that_forms_a_cluster_is_named_and_where_it_does() -> None:
    rng = np.random.default_rng(0)
    apart = np.concatenate([rng.normal((0, 0), 0.05, (30, 2)), rng.normal((5, 5), 0.05, (20, 2))])
    scattered = rng.uniform(-1, 6, (60, 2))
    places = np.concatenate([apart, scattered, scattered + 0.01]).astype(np.float32)
    intents = np.array(["apart"] * 50 + ["here"] * 60 + ["there"] * 60, dtype=object)
    [name] = cluster_names(places, intents, 20)
    assert name.intent == "apart"
    assert (name.at_x, name.at_y) == (
        pytest.approx(0, abs=0.3),
        pytest.approx(0, abs=0.1),
    )  # the larger cluster, not between the two


def test_names_are_wider_on_the_narrower_maps_of_two_panels() -> None:
    assert name_width("HassTurnOn", 2) == 2 * name_width("HassTurnOn")
    one = np.array([[0, 0], [0.5, 0.5], [1, 1]], dtype=np.float32)
    frame = pd.DataFrame({"text": "t", "intent": ["", "HassTurnOn", ""], "language": "en", "row": range(3)})

    def beside(panels: dict[str, Any]) -> Any:
        return charts.sentence_maps(panels, frame, "intent").layout.annotations[len(panels)]

    alone, both = beside({"A": one}), beside({"A": one, "B": one})
    assert (alone.text, alone.x, alone.xref, alone.axref) == ("<b>HassTurnOn</b>", 0.5, "x", "x")
    assert alone.showarrow and (alone.ax, alone.ay) != (
        alone.x,
        alone.y,
    )  # a line from the name to its cluster
    assert (both.x, both.y) == (0.5, 0.5)


def test_names_stay_inside_what_all_panels_show() -> None:
    places = np.array([[0.0, 0.5], [0.1, 0.5]], dtype=np.float32)
    frame = np.array([[0.0, 0.0], [10.0, 1.0]])
    [name] = cluster_names(places, np.array(["HassTurnOn"] * 2, dtype=object), 1, frame=frame)
    assert name.x >= 10 * name_width("HassTurnOn") / 2 - 1e-6
    assert (name.at_x, name.at_y) == (0, 0.5)


def test_names_at_a_side_stay_on_the_map_of_a_phone() -> None:
    x = [0.0, 0.02, 0.5, 0.98, 1.0]
    places = np.column_stack([np.repeat(x, 5), np.repeat([0, 0.2, 0.4, 0.6, 1], 5)]).astype(np.float32)
    intents = [f"a name of letters {n}" for n in range(5)]
    frame = pd.DataFrame(
        {"text": "t", "intent": np.repeat(intents, 5), "language": "en", "row": range(len(places))}
    )
    figure = charts.sentence_maps({"A": places}, frame, "intent")
    low, high = figure.layout.xaxis.range
    width = 7.5 * len(intents[0]) / 300 * (high - low)
    before = {"left": 0.0, "center": 0.5, "right": 1.0}
    names = figure.layout.annotations[1:]
    assert len(names) == len(intents) and {name.xanchor for name in names} == before.keys()
    for name in names:
        start = name.ax - before[name.xanchor] * width
        assert low <= start and start + width <= high


def test_very_many_points_say_their_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu_core.charts.scatter.MOST_HOVERED", 50)
    figure = charts.sentence_maps(places(60), points(60), "intent")
    assert {trace.hovertemplate for trace in of_points(figure)} == {
        f"intent 00{i}<extra></extra>" for i in range(3)
    }
    assert all(trace.text is None for trace in of_points(figure))
    many = charts.sentence_maps(places(180), points(180, intents=90), "intent")
    frame = points(180, intents=90).set_index("row")
    for trace in of_points(many):
        assert list(trace.text) == frame.loc[trace.customdata, "intent"].tolist()


def test_density_is_drawn_where_it_is_asked_for() -> None:
    panels = places(30)
    figure = charts.sentence_maps(panels, points(30), "intent", density=True, theme=DARK)
    lines = [trace for trace in figure.data if trace.type == "histogram2dcontour"]
    assert [(trace.xaxis, trace.line.color) for trace in lines] == [("x", "#FAFAFA"), ("x2", "#FAFAFA")]
    plain = charts.sentence_maps(panels, points(30), "intent")
    assert {trace.type for trace in plain.data} == {"scattergl"}


def test_chosen_points_stand_out_in_every_panel() -> None:
    frame = points(30)
    figure = charts.sentence_maps(places(30), frame, "language", {103, 107})
    drawn = [*of_points(figure), *of_points(figure, "x2")]
    bright = [int(trace.customdata[place]) for trace in drawn for place in trace.selectedpoints]
    assert sorted(bright) == [103, 103, 107, 107]
    assert {trace.unselected.marker.color for trace in drawn} == {GREY}


def test_maps_show_text_and_never_read_it() -> None:
    frame = points(3).assign(text=HOSTILE, intent=HOSTILE, language=HOSTILE)
    figure = charts.sentence_maps(places(3), frame, "intent")
    assert "<script" not in figure.to_json()
    svg = maps_file(places(3), frame, "intent", frozenset(), file_format="svg")
    assert b"<script" not in svg
    ET.fromstring(svg)  # noqa: S314 - our own file
    page = maps_page(places(3), frame, "intent", frozenset())
    assert b"<script>alert" not in page
    assert b"cdn.plot" not in page[:2000]  # plotly's own script is inside: no network is needed


def test_picture_files_hold_every_point_and_repeat_exactly() -> None:
    frame, panels = points(40, intents=2), places(40)
    shapes: Any = {"file_format": "svg", "shape_languages": True}
    svg = maps_file(panels, frame, "intent", {101, 107}, **shapes)
    assert svg == maps_file(panels, frame, "intent", {101, 107}, **shapes)
    assert b"German" not in maps_file(panels, frame, "intent", {101, 107}, file_format="svg")
    root = ET.fromstring(svg)  # noqa: S314 - our own file
    space = "{http://www.w3.org/2000/svg}"
    collections = [g for g in root.iter(f"{space}g") if g.get("id", "").startswith("PathCollection")]
    # Of a few points each is a path of its own, closed by a z.
    drawn = sum(
        len(list(g.iter(f"{space}use")))
        or sum(path.get("d", "").count("z") for path in g.iter(f"{space}path"))
        for g in collections
    )
    assert drawn == 2 * 40
    texts = {"".join(text.itertext()) for text in root.iter(f"{space}text")}
    assert {"Base", "Specialised", "intent 000 (20)", "German"} <= texts
    png = maps_file(panels, frame, "language", frozenset(), file_format="png")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")


def test_no_figure_paints_its_ground_or_its_text() -> None:
    """Streamlit's theme gives both their colours, light or dark."""
    frame = pd.DataFrame([[1.0]], index=["en"], columns=["en"])
    for figure in (
        charts.class_balance(frame.astype(int)),
        charts.loss_curves([step(1, loss=1.0)]),
        charts.accuracy_matrix(frame, "t"),
        charts.triple_picture({"Base": (0.1, 0.2, 0.3)}, ("a", "b", "c")),
        charts.sentence_maps(places(3), points(3), "intent"),
    ):
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
        assert figure.layout.font.color is None


def _rgb(colour: str) -> list[float]:
    if colour.startswith("#"):
        return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return [float(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]


def _contrast(first: list[float], second: list[float]) -> float:
    def luminance(rgb: list[float]) -> float:
        linear = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_a_comparison_is_drawn_by_one_call_a_chart() -> None:
    from emu_core.evaluation.comparison import Comparison
    from tests.support.sentences import random_sentences

    data = random_sentences(40, ("en", "de"), seed=2)
    noise = np.random.default_rng(0).normal(size=data.vectors.shape)
    sentences = pd.DataFrame(
        {
            "text": [f"{HOSTILE}{row}" for row in range(40)],
            "intent": data.intents,
            "language": data.languages,
            "id": data.ids,
        }
    )
    compared = Comparison(sentences, data.vectors, data.vectors + 0.5 * noise, ("A", HOSTILE))
    both = [charts.accuracy(compared, which) for which in ("base", "other")]
    table = compared.accuracy
    for figure, column in zip(both, ("base", "other"), strict=True):
        assert heat(figure).z.ravel().tolist() == table[column].tolist()
    assert len({(heat(figure).zmin, heat(figure).zmax) for figure in both}) == 1
    assert heat(charts.accuracy(compared)).z.ravel().tolist() == table["difference"].tolist()
    counts = compared.change_counts()
    for trace in charts.changes(compared).data:
        assert list(trace.x) == counts[trace.name].tolist()
    gains = charts.gains(compared)
    assert gains.layout.xaxis.title.text.startswith("similar sentences of 100, A → &lt;script")
    drawn = {x for trace in gains.data for x in trace.x}
    assert drawn == set(compared.gains["difference"])
    cosines = compared.similarity([3, 1, 2])[HOSTILE].to_numpy()
    assert heat(charts.similarity(compared, [3, 1, 2])).z.tolist() == cosines.tolist()
    figures = [*both, charts.changes(compared), charts.similarity(compared, [1, 2])]
    assert not any("<script" in figure.to_json() for figure in figures)


def test_a_labelling_curve_has_every_round_in_the_order_of_its_labels() -> None:
    rounds = pd.DataFrame({"labels": [34, 14, 24], "base": [41.0, 38.0, 40.0], "fitted": [50.0, 39.0, 44.0]})
    figure = charts.labelling_curve(rounds)
    assert list(curve(figure, "default method").x) == [14, 24, 34]
    assert list(curve(figure, "default method").y) == [39, 44, 50]
    assert list(curve(figure, "encoder as it is").y) == [38, 40, 41]
