"""The accuracy of the encoders that the Workbench compares."""

import shutil

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from emu_core.api import compare as api_compare
from emu_core.encoders.registry import load_encoder
from emu_core.reports.verdict import run_verdict
from emu_core.runs.run import Run
from tests.support.app_pages import compare, with_frame
from tests.support.workbench_pages import Trained, bars, drawn, headline, linked, numbers


def spoil(run: Run) -> None:
    """Make a run's encoder the base encoder with noise for its last layers."""
    encoder = load_encoder("use")
    torch.manual_seed(0)
    with torch.no_grad():
        for name in ("dense3.weight", "skip3.weight"):
            weight = encoder.get_parameter(name)
            weight.copy_(torch.randn(weight.shape) * (torch.rand(weight.shape) < 0.004))
    shutil.rmtree(run.encoder_folder)
    encoder.save(run.encoder_folder)


@pytest.mark.slow
def test_accuracy_is_what_the_run_itself_measured(app: AppTest, trained: Trained) -> None:
    run = trained[0]
    measured = run.metrics()
    compare(app)
    verdict = run_verdict(measured)
    assert verdict.similar.amounts in headline(app)
    by_language, table = (element.value for element in app.dataframe[:2])
    assert by_language["change"].tolist() == [row[4] for row in verdict.similar.table().rows]
    assert len(table) == 9
    assert table["A %"].tolist() == pytest.approx(list(measured.base.values()))
    assert table["B %"].tolist() == pytest.approx(list(measured.specialised.values()))
    charts = [spec["data"] for spec in drawn(app)]
    changed, (base, *_), (new, *_), (difference, *_) = charts
    points = {point for trace in changed for point in numbers(trace["x"])}
    assert points == {change.difference for change in measured.similar_sentences.by_language.values()}
    probe = next(metric for metric in app.metric if metric.label.startswith("The language is predicted"))
    leakage = measured.leakage
    assert probe.value == f"{leakage.specialised.probe:.1f} %" and "chance 33.3 %" in probe.label
    assert probe.delta.endswith(f"points from {leakage.base.probe:.1f}")
    assert numbers(base["z"]) == pytest.approx(list(measured.base.values()))
    gains = np.array(list(measured.specialised.values())) - list(measured.base.values())
    assert numbers(difference["z"]) == pytest.approx(gains)
    assert (base["zmin"], base["zmax"]) == (new["zmin"], new["zmax"])  # one scale, or the eye is misled


@pytest.mark.slow
def test_a_language_that_got_worse_is_said_plainly(own_run: Run) -> None:
    spoil(own_run)
    app = compare(linked())
    table = app.dataframe[1].value
    assert (table["Difference"] < 0).any()
    before, now = (f"{table[column].iloc[[0, 1, 2, 3, 6]].mean():.0f}" for column in ("A %", "B %"))
    assert f"finds similar sentences worse ({before} → {now} of 100)" in headline(app).lower()
    languages = next(line.value for line in app.markdown if "orse in" in line.value).replace("\\", "")
    assert "Similar sentences: worse in" in languages


@pytest.mark.slow
def test_data_that_the_run_has_not_seen_are_named_as_such(
    app: AppTest, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(app)
    app.selectbox(key="choose-on").set_value("all").run()
    assert "was trained on 216 of these 324 sentences" in app.info[0].value
    assert not app.success and "(seen in training)" in bars(app)
    other = compare(with_frame(trained[1].frame.iloc[:-3]), run=trained[0].name)
    other.selectbox(key="choose-on").set_value("train").run()
    assert "was trained on these sentences" in other.info[0].value
    assert other.selectbox(key="choose-b").label == "B: other data"


def test_a_large_set_is_measured_on_a_sample_and_says_so(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_compare, "MOST_COMPARED", 60)
    compare(app)
    assert "Measured on 60 of 108 sentences" in app.info[0].value.replace("\\", "")
    assert app.dataframe[1].value["Sentences"].sum() == 3 * 60
