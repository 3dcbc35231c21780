"""The page Train starts a distillation: a teacher is chosen, and no labels are asked for."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from emu_app.work import jobs
from emu_core import train
from emu_core.runs.run import Run
from tests.support.app_pages import new_session
from tests.support.fake_runs import manager
from tests.support.small import small_set


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = manager(tmp_path / "runs")
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(jobs, "_job_manager", lambda root: made)
    return tmp_path / "runs"


def choose_teacher(app: AppTest, spec: str) -> None:
    next(box for box in app.selectbox if box.label == "Teacher").set_value(spec).run()
    assert not app.exception


def start_button(app: AppTest) -> Button:
    return next(button for button in app.button if button.label == "Start the run")


def test_a_run_or_a_published_encoder_is_chosen_as_teacher(root: Path) -> None:
    # With a head of its own, which could not be trained further, but can teach.
    teacher = train(small_set(), out=root / "best", device="cpu")
    app = new_session("train")
    app.query_params["method"] = "distil"
    app.run()
    assert not app.exception
    labels = {box.label for box in app.multiselect}
    assert "Sentences without labels in" in labels and "Labels in" not in labels
    assert app.multiselect[0].value == ["en", "de", "es", "fr", "ja", "zh"]
    box = next(box for box in app.selectbox if box.label == "Teacher")
    assert box.value is None and box.options[0].startswith("Universal Sentence Encoder")
    assert "Run best" in box.options
    assert start_button(app).disabled and app.warning[0].value.startswith("No teacher is named")

    choose_teacher(app, "use")
    assert "is also the encoder to train" in app.warning[0].value
    choose_teacher(app, f"run:{teacher.folder}")
    assert not start_button(app).disabled
    app.multiselect[0].set_value([]).run()
    assert app.warning[0].value.startswith("Choose a language whose sentences are used")
    app.multiselect[0].set_value(["en", "ja"]).run()
    start_button(app).click().run()
    assert not app.exception
    config = Run(root / "distil-use-1").config()
    Run(root / "distil-use-1").cancel()
    assert config.hyperparameters["teacher"] == f"run:{teacher.folder}"
    assert (config.train_languages, config.unlabelled_languages) == ((), ("en", "ja"))
