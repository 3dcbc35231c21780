"""The pictures of FMDA hold the numbers they were given."""

import pytest

from emu_core import charts
from emu_core.charts.attention import Bar, TokenKind
from emu_core.runs.log import Record
from tests.support.records import record


def step(number: int, stage: str, **parts: float) -> Record:
    return record("step", step=number, epoch=number, stage=stage, seconds=0.1, **parts)


def test_attention_has_a_bar_for_each_token_even_where_a_word_comes_twice() -> None:
    tokens = [
        Bar("[CLS]", TokenKind.ADDED),
        Bar("<b>to</b>", TokenKind.TEMPLATE),
        Bar("pool", TokenKind.SLOT),
        Bar("pool", TokenKind.TEMPLATE),
    ]
    shares = {"Template": [0.1, 0.2, 0.3, 0.4], "Residual": [0.25, 0.25, 0.3, 0.2]}
    figure = charts.attention_bars(tokens, shares)
    for axis, panel in zip(("x", "x2"), shares.values(), strict=True):
        drawn = {
            place: share
            for trace in figure.data
            if trace.xaxis == axis
            for place, share in zip(trace.y, trace.x, strict=True)
        }
        assert [drawn[place] for place in range(4)] == pytest.approx([100 * share for share in panel])
    assert list(figure.layout.yaxis.ticktext) == ["[CLS]", "&lt;b&gt;to&lt;/b&gt;", "pool", "pool"]
    first, last = figure.layout.yaxis.range
    assert first > last  # the first word is on top
    faint = next(trace for trace in figure.data if trace.name == TokenKind.ADDED.value)
    assert faint.marker.opacity < 0.5
    lines = [shape.x0 for shape in figure.layout.shapes]
    assert lines == [25.0, 25.0]  # an even share


def test_stages_are_told_apart_and_negative_losses_are_drawn() -> None:
    history = [
        step(1, "template", template=0.4, loss=0.4),
        step(2, "template", template=0.2, loss=0.2),
        record("epoch", stage="template", epoch=2, step=2, loss=0.2, dev_accuracy=50.0),
        step(3, "rest", meaning_contrast=-0.9, loss=-0.9),
        record("epoch", stage="rest", epoch=3, step=3, loss=-0.9, dev_accuracy=90.0),
    ]
    figure = charts.loss_curves(history)
    names = [trace.name for trace in figure.data]
    assert names == [
        "Loss: all parts",
        "Template",
        "Meaning contrast",
        "Found among held-out pairs, %",
    ]
    contrast = figure.data[2]
    assert (list(contrast.x), list(contrast.y)) == ([3.0], [-0.9])  # nothing where a stage has no such part
    assert (
        str(figure.data[3].y.tolist()) == "[50.0, nan, 90.0]"
    )  # no line from one kind of accuracy to another
    assert {note.text: note.x for note in figure.layout.annotations if note.text.startswith("stage")} == {
        "stage: rest": 3.0
    }
    assert charts.loss_curves([step(1, "all losses", loss=1.0)]).layout.shapes == ()
