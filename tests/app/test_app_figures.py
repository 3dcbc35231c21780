"""One list of figures of a run: what stands in it is measured, stored, and told by every face."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from huggingface_hub import ModelCard
from streamlit.testing.v1 import AppTest

from emu_app.panels import monitor
from emu_app.panels.run_table import runs_frame
from emu_core.cli.train import reported
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import TextTable
from emu_core.errors import RunError
from emu_core.evaluation.run_metrics import HeldOut, Metrics, labelled_metrics
from emu_core.intents.labelled import fit_intents, measure_all
from emu_core.reports import figures
from emu_core.reports.card import model_card
from emu_core.reports.cells import run_cell
from emu_core.reports.figures import FIGURES, Column, Figure, HubResult
from emu_core.reports.figures_as_text import Sentence
from emu_core.reports.run_figures_as_text import FigureText
from emu_core.runs.data_facts import LabelledFacts
from emu_core.runs.run import Run, RunState, Status
from tests.support.app_pages import new_session
from tests.support.fake_runs import past
from tests.support.small import small_set

FACTS = {
    "selected_epoch", "seconds", "warnings", "note", "measured_on", "split", "languages", "counts", "base", "mean_over",
    "mean_base", "mean_specialised", "others",
}  # fmt: skip


@dataclass(frozen=True)
class Widths:
    """The number of columns of both encoders' vectors."""

    base: int
    specialised: int


def widths_text(widths: Widths | None, metrics: Metrics) -> FigureText | None:
    if widths is None:
        return None
    table = TextTable(
        ("encoder", "columns"), [("base", str(widths.base)), ("new <b>", str(widths.specialised))]
    )
    return FigureText("How wide & long.", [Sentence("They grew: 4 <i>more.", "worse")], table)


NEW = Figure(
    "widths",
    "Widths of vectors",
    widths_text,
    lambda base, specialised: Widths(base.vectors.shape[1], specialised.vectors.shape[1]),
    stored=Widths,
    charts=lambda widths: [go.Figure(go.Bar(y=[widths.base, widths.specialised], name="widths"))],
    columns=[Column("Columns", lambda metrics: metrics.others.get("widths", {}).get("specialised"))],
    hub_results=lambda widths, metrics: [
        HubResult("all", metrics.split, "Width", "columns", widths.specialised)
    ],
)


def held_out(dim: int) -> HeldOut:
    """The small set by an encoder that knows nothing."""
    labelled = small_set()

    def encode(texts: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.random.default_rng(dim).normal(size=(len(texts), dim)).astype(np.float32)

    test = labelled.held_out_part()
    assert isinstance(test, LabelledSet)
    learnt = labelled.train_part()
    return measure_all(test, learnt, encode(test.frame["text"]), fit_intents(learnt, encode))


@pytest.fixture(scope="module")
def both() -> tuple[HeldOut, HeldOut]:
    return held_out(4), held_out(8)


def finished(root: Path, values: Mapping[str, Any]) -> Run:
    return past(root, "grown", Status(state=RunState.FINISHED, started_at=1.0), dict(values))


@pytest.mark.slow
def test_a_new_figure_is_everywhere(
    both: tuple[HeldOut, HeldOut],
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(figures, "FIGURES", (*FIGURES, NEW))
    measured = labelled_metrics(Metrics(), *both).with_figures(figures.measured_figures(*both))
    run = finished(root, measured.to_json())
    metrics = run.metrics()
    assert NEW.value(metrics) == Widths(4, 8)
    # In the model card and its header, in a notebook's cell and in the command's text and JSON.
    card = model_card("grown", run.plan(), LabelledFacts(name="small", labelled=9, intents=2), metrics)
    section = card.partition("## Widths of vectors")[2].partition("## Settings")[0]
    assert section.split("\n\n")[1:3] == ["How wide &amp; long.", "**They grew: 4 &lt;i&gt;more.**"]
    assert "| new &lt;b&gt; | 8 |" in section
    results = {result.metric_name: result.metric_value for result in ModelCard(card).data.eval_results}
    assert results["columns"] == 8 and len(results) == 7
    cell = run_cell(run)
    assert (
        '<p class="worse">They grew: 4 &lt;i&gt;more.</p>' in cell
        and "<td>new &lt;b&gt;</td><td>8</td>" in cell
    )
    printed = reported(run, argparse.Namespace(json=False, full=True))
    assert printed["widths"] == {"base": 4, "specialised": 8}
    lines = capsys.readouterr().out.partition("\nWidths of vectors\n")[2].splitlines()
    assert lines[:6] == [
        "",
        "How wide & long.",
        "",
        "encoder  columns",
        "base           4",
        "new <b>        8",
    ]
    # On the page of the run, and in the table of runs.
    assert runs_frame([run])["Columns"].tolist() == [8]
    app = train_page()
    assert "**Widths of vectors**" in [line.value for line in app.markdown]
    assert r"They grew\: 4 \<i\>more\." in [box.value for box in app.warning]
    charts = [json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")]
    assert [trace["name"] for traces in charts for trace in traces if trace["type"] == "bar"] == ["widths"]
    assert any(list(table.value) == ["encoder", "columns"] for table in app.dataframe)


def train_page() -> AppTest:
    app = new_session().run()
    app.switch_page("views/train.py").run()
    assert not app.exception
    return app


def test_every_figure_is_told_and_everything_else_is_a_fact() -> None:
    names = [figure.name for figure in FIGURES]
    assert len(set(names)) == len({figure.title for figure in FIGURES}) == len(FIGURES)
    attributes = {figure.name for figure in FIGURES if figure.stored is None}
    assert {field.name for field in fields(Metrics)} == {*attributes, *FACTS} and not FACTS & set(names)
    assert set(monitor._OWN) <= set(names)
    heads = [column.head for figure in FIGURES for column in figure.columns]
    assert len(set(heads)) == len(heads)


def test_without_held_out_sentences_nothing_is_measured() -> None:
    values = figures.measured_figures(None, None)
    assert {"right_intents", "similar_sentences", "leakage"} <= set(values) and set(values.values()) == {None}
    told = figures.told_figures(labelled_metrics(Metrics(), None, None).with_figures(values))
    assert told == figures.told_figures(Metrics()) == {}


def test_a_figure_that_is_damaged_is_an_error() -> None:
    with pytest.raises(RunError, match=r"widths in metrics\.json is damaged"):
        NEW.told(Metrics.from_json({"widths": {"base": "wide"}}))
    assert NEW.told(Metrics()) is None
