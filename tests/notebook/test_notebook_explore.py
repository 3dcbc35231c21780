"""The linked maps: what plotly reports of the mouse lights up on both maps and fills the table."""

import base64
import sys

import numpy as np
import pandas as pd
import pytest

from emu_core.errors import EmuError
from emu_core.evaluation.retrieval import nearest
from emu_core.notebook.comparison import RunComparison
from emu_core.notebook.explore import Explorer
from tests.support.sentences import random_sentences

DATA = random_sentences(60, ("en", "de", "ja"), seed=6)
OTHER = DATA.vectors + 0.5 * np.random.default_rng(1).normal(size=(60, 5))
SENTENCES = pd.DataFrame(
    {
        "text": [f"<script>{row}" for row in range(60)],
        "intent": DATA.intents,
        "language": DATA.languages,
        "id": DATA.ids,
    }
)


@pytest.fixture
def explorer() -> Explorer:
    return RunComparison(SENTENCES, DATA.vectors, OTHER, ("A", "B")).explore("pca", sentences=40)


def lit(explorer: Explorer, colour: str, axis: str) -> list[int]:
    """The sentences that stand out on one map where it is coloured so; [-1] where all stand alike."""
    traces = [
        trace for trace in explorer._coloured[colour] if trace.xaxis == axis and trace.customdata is not None
    ]
    if all(trace.selectedpoints is None for trace in traces):
        return [-1]
    return sorted(int(trace.customdata[place]) for trace in traces for place in trace.selectedpoints)


def report(explorer: Explorer, event: str, chosen: dict[int, list[int]]) -> None:
    """Tell the figure of an event as the browser does: places of points by the number of their trace."""
    pairs = [(trace, place) for trace, places in chosen.items() for place in places]
    explorer.figure._js2py_pointsCallback = {
        "event_type": event,
        "points": {
            "trace_indexes": [trace for trace, _ in pairs],
            "point_indexes": [place for _, place in pairs],
            "xs": [0.0] * len(pairs),
            "ys": [0.0] * len(pairs),
        },
        "device_state": None,
        "selector": None,
    }


def test_a_selection_on_one_map_lights_up_the_same_sentences_on_the_other(explorer: Explorer) -> None:
    traces = [
        (number, trace)
        for number, trace in enumerate(explorer.figure.data)
        if trace.visible and trace.xaxis == "x" and trace.customdata is not None
    ]
    (first, one), (second, two) = traces[:2]
    report(explorer, "plotly_selected", {first: [0, 1], second: [2]})
    wanted = [int(one.customdata[0]), int(one.customdata[1]), int(two.customdata[2])]
    assert sorted(explorer.chosen) == sorted(wanted)
    for colour in ("intent", "language"):
        for axis in ("x", "x2"):
            assert lit(explorer, colour, axis) == sorted(wanted)
    changes = RunComparison(SENTENCES, DATA.vectors, OTHER, ("A", "B")).changes()
    page = explorer._list.value
    assert "3 sentences chosen" in page and "<script" not in page
    for row in wanted:
        for column in ("sentence", "base_neighbour", "other_neighbour"):
            assert f"<td>{changes.loc[row, column].replace('<', '&lt;').replace('>', '&gt;')}</td>" in page
    report(explorer, "plotly_deselect", {})
    assert (
        explorer.chosen == ()
        and lit(explorer, "intent", "x2") == [-1]
        and "Hover over" in explorer._list.value
    )


def test_hovering_rings_the_sentence_on_both_maps_and_lists_its_neighbours(explorer: Explorer) -> None:
    drawn = enumerate(explorer.figure.data)
    number, trace = next((n, t) for n, t in drawn if t.customdata is not None and t.xaxis == "x2")
    report(explorer, "plotly_hover", {number: [1]})
    row = int(trace.customdata[1])
    for ring, axis in zip(explorer._rings, ("x", "x2"), strict=True):
        at = next(
            (float(t.x[place]), float(t.y[place]))
            for t in explorer.figure.data
            if t.xaxis == axis and t.customdata is not None
            for place in np.flatnonzero(np.asarray(t.customdata) == row)
        )
        assert (ring.xaxis, ring.x[0], ring.y[0]) == (axis, *map(pytest.approx, at))
    page = explorer._about.value
    for vectors in (DATA.vectors, OTHER):
        found = nearest(vectors, [row], 5, DATA.ids)
        for near, cosine in zip(found.rows[0], found.cosines[0], strict=True):
            assert f"<td>{cosine:.2f}</td><td>&lt;script&gt;{near} (" in page
    assert "<script" not in page


def test_the_colour_changes_and_the_choice_stays(explorer: Explorer) -> None:
    explorer.choose([0, 10**6, 0, 1])
    chosen = explorer.chosen
    assert set(chosen) <= {0, 1}
    explorer.colour("language")
    shown = {name: {trace.visible for trace in traces} for name, traces in explorer._coloured.items()}
    assert shown == {"intent": {False}, "language": {True}} and explorer.chosen == chosen
    assert explorer.figure.layout.legend.title.text.startswith(("Language", "Intent: shape"))


def test_without_widgets_there_is_a_picture(explorer: Explorer) -> None:
    bundle = explorer._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.widget.model_id
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == "<maps of 40 sentences by A and B>"


@pytest.mark.parametrize("name", ["anywidget", "ipywidgets"])
def test_a_missing_package_is_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(EmuError, match=r"pip install 'emu-core\[notebook\]'; comparison.plot.map"):
        RunComparison(SENTENCES, DATA.vectors, OTHER).explore("pca")
