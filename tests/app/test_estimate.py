"""The forecast of a run's time."""

import shutil
from pathlib import Path

import pytest

from emu_app.forms.estimate import earlier_runs, expected_time
from emu_app.work.demo_run import PACKED_RUN
from emu_core.api.train import plan_training
from emu_core.data.demo import load_demo
from emu_core.runs.run import Run


def test_the_time_of_the_run_in_the_package_was_not_taken_here(runs: Path) -> None:
    config, data = plan_training(load_demo(), device="cpu")
    guess = expected_time(config, data, earlier_runs())
    assert guess.line.startswith("Seconds") and not guess.is_measured
    for name in ("demo", "own"):
        shutil.copytree(PACKED_RUN, runs / name)
    assert expected_time(config, data, earlier_runs()) == guess
    own = runs / "own" / "metrics.json"
    own.write_text(own.read_text("utf-8") + "\n", "utf-8")
    measured = expected_time(config, data, earlier_runs())
    assert measured.is_measured and "own took" in measured.line
    assert measured.seconds == pytest.approx(Run(runs / "own").metrics().seconds)


def test_the_time_of_another_method_follows_from_what_each_does_with_the_same_encoder(runs: Path) -> None:
    shutil.copytree(PACKED_RUN, runs / "own")
    own = runs / "own" / "metrics.json"
    own.write_text(own.read_text("utf-8") + "\n", "utf-8")
    demo = load_demo()
    emu, data = plan_training(demo, method="emu", train_languages=["en"], device="cpu")
    took = Run(runs / "own").metrics().seconds
    rows, labelled = len(demo), int((demo.frame.query("split == 'train'")["language"] == "en").sum())
    epochs = emu.hyperparameters["epochs"]
    assert isinstance(epochs, int)
    expected = took * (2 * rows + 3 * epochs * labelled) / (2 * rows)
    assert expected_time(emu, data, earlier_runs()).seconds == pytest.approx(expected)
    joined, data = plan_training(demo, preset="best", device="cpu")
    assert not expected_time(joined, data, earlier_runs()).is_measured
