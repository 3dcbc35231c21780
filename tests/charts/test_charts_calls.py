"""Charts with many panels, lines or bars call Plotly no more often than those with few: each call costs more then."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from emu_core import charts
from emu_core.charts.attention import Bar, TokenKind
from emu_core.evaluation.film import Film
from emu_core.runs.log import Record, RecordKind


def history(parts: int, epochs: int = 3, stages: int = 2) -> list[Record]:
    figures = {f"part {number}": 1.0 for number in range(parts)}
    log = []
    for epoch in range(1, epochs + 1):
        about: dict[str, Any] = {
            "epoch": epoch,
            "step": epoch,
            "loss": 1.0,
            "stage": f"stage {epoch % stages}",
        }
        log.append(Record(kind=RecordKind.STEP, figures=figures, **about))
        log.append(Record(kind=RecordKind.EPOCH, dev_accuracy=50.0, **about))
    return log


def points(intents: int) -> pd.DataFrame:
    numbers = np.arange(24)
    columns = {"text": "s", "intent": [f"i{number % intents}" for number in numbers], "language": "en"}
    return pd.DataFrame(columns | {"row": numbers.astype(np.int32)})


def film(intents: int) -> go.Figure:
    places = np.zeros((2, 24, 2), dtype=np.float32)
    accuracy = pd.DataFrame({"en": [50.0, 60.0]})
    return charts.animation(Film(points(intents), ("before", "after"), places, accuracy, "Acc@1"))


def maps(panels: int) -> go.Figure:
    places = {
        f"map {number}": np.random.default_rng(number).random((24, 2), np.float32) for number in range(panels)
    }
    shown = np.arange(24) < 20
    return charts.sentence_maps(places, points(4), "intent", shown=shown, density=True)


def words(languages: int) -> go.Figure:
    table = pd.DataFrame({"word": "w", "language": [f"l{number % languages}" for number in range(24)]})
    return charts.word_map(np.zeros((24, 2)), table)


BUILDERS: dict[str, Callable[[int], go.Figure]] = {
    "parts of the loss": lambda count: charts.loss_curves(history(count)),
    "epochs": lambda count: charts.loss_curves(history(2, epochs=count)),
    "stages": lambda count: charts.loss_curves(history(2, epochs=8, stages=count)),
    "runs": lambda count: charts.loss_curves({f"run {number}": history(2) for number in range(count)}),
    "held out": lambda count: charts.held_out_curves(
        {f"run {number}": history(1) for number in range(count)}
    ),
    "spectra": lambda count: charts.spectrum_lines(
        {f"e{panel}": {"en": np.arange(4.0)} for panel in range(count)}
    ),
    "psi": lambda count: charts.psi_distributions({f"e{run}": np.arange(4.0) for run in range(count)}),
    "attention": lambda count: charts.attention_bars(
        [Bar("a", TokenKind.WORD), Bar("b", TokenKind.SLOT)],
        {f"e{panel}": [0.5, 0.5] for panel in range(count)},
    ),
    "triples": lambda count: charts.triple_picture(
        {f"e{panel}": (0.1, 0.2, 0.3) for panel in range(count)}, ("a", "b", "c")
    ),
    "maps": maps,
    "words": words,
    "film": film,
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the methods that were called to change a figure."""
    calls: list[str] = []

    def recorded(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(figure: go.Figure, *args: Any, **options: Any) -> Any:
            calls.append(name)
            return method(figure, *args, **options)

        return call

    for name in dir(go.Figure):
        if name.startswith(("add_", "update_")):
            monkeypatch.setattr(go.Figure, name, recorded(name, getattr(go.Figure, name)))
    return calls


@pytest.mark.parametrize("what", BUILDERS)
def test_more_panels_are_no_more_calls(what: str, calls: list[str]) -> None:
    build = BUILDERS[what]
    build(2)
    few = calls.copy()
    calls.clear()
    build(7)
    assert few and calls == few


def test_epochs_and_stages_are_marked_in_every_panel() -> None:
    figure = charts.loss_curves(history(2))  # panels: the loss, two parts, and the accuracy on dev
    lines = {(shape.xref, shape.yref, shape.x0, shape.line.dash) for shape in figure.layout.shapes}
    panels = [("x", "y domain"), ("x2", "y2 domain"), ("x3", "y3 domain"), ("x4", "y4 domain")]
    ends = {(*panel, step, "dot") for panel in panels for step in (1, 2, 3)}
    assert lines == ends | {(*panel, 2, None) for panel in panels}
    assert all((shape.y0, shape.y1, shape.x0) == (0, 1, shape.x1) for shape in figure.layout.shapes)
    notes = [(note.text, note.xref, note.yref, note.x) for note in figure.layout.annotations[4:]]
    names = [(f"epoch {step}", "x", "y domain", step) for step in (1, 2, 3)]
    assert notes == [*names, ("stage: stage 0", "x", "y domain", 2)]
