"""What the Train page says before a run, when it is started, and of its epochs."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from emu_app.panels.run_table import epochs_told
from emu_core.devices import why_no_gpu
from emu_core.errors import Message
from emu_core.methods.registry import methods_that_need
from emu_core.runs.config import Plan
from emu_core.runs.log import Record, RecordKind
from emu_core.runs.run import Run, RunState, Status
from emu_core.runs.stored_data import LabelledData
from emu_core.training.method import Needs
from tests.support.app_pages import choose_method, new_session, press
from tests.support.fake_runs import past
from tests.support.small import small_set

RESEARCH = [name for name in methods_that_need(Needs.INTENTS, Needs.SLOTS) if name != "head"]


def estimate(app: AppTest) -> str:
    """The line above Start."""
    assert not app.exception
    [line] = [caption.value for caption in app.caption if "memory" in caption.value]
    return line.replace("\\", "")


def fitting(epochs: int, scores: list[float], **settings: int) -> tuple[list[Record], Plan]:
    records = [
        Record(kind=RecordKind.EPOCH, step=epoch, epoch=epoch, loss=1.0, dev_accuracy=score)
        for epoch, score in enumerate(scores, start=1)
    ]
    return records, Plan("emu", "tiny", {"epochs": epochs, **settings})


def test_memory_and_time_are_said_before_the_first_run(root: Path) -> None:
    app = new_session("train").run()
    assert "336 labelled sentences of 28 intents: about" in estimate(app)
    assert "Seconds, once 3,024 sentences are encoded" in estimate(app)
    choose_method(app, "best")
    assert "Seconds, once 3,024 sentences are encoded" in estimate(app)
    choose_method(app, "emu")
    assert "Minutes on a CPU" in estimate(app)


def test_translations_are_counted_without_intents_and_the_device_says_why(root: Path) -> None:
    labelled = small_set(("en", "de"))
    config = Plan("fmda", "small", {}, train_languages=("en", "de"), pairs=(("en", "de"),))
    assert LabelledData(labelled).size(config) == "144 sentences in 2 languages"
    app = new_session("train").run()
    if why_no_gpu():
        assert "PyTorch" in app.selectbox(key="train-device").help


@pytest.mark.slow
@pytest.mark.parametrize("method", RESEARCH)
def test_every_method_has_an_estimate_or_a_reason_why_it_can_not_start(root: Path, method: str) -> None:
    app = new_session("train").run()
    choose_method(app, method)
    assert app.warning or estimate(app)


def test_a_run_of_the_same_kind_says_how_long_the_next_takes(root: Path) -> None:
    facts = {
        "name": "demo",
        "sha256": "x",
        "rows": 1512,
        "labelled": 168,
        "intents": 28,
        "audit": [],
        "hold_out": 0.0,
    }
    for name, encoder, seconds in (("half", "use", 20.0), ("other", "e5-small", 900.0)):
        over = Status(state=RunState.FINISHED)
        run = past(root, name, over, {"seconds": seconds}, method="head", encoder=encoder)
        run.write("data.json", {**facts, "counts": {"en train": 168}})
    assert "About 40 s: half took 20 s here." in estimate(new_session("train").run())


def test_two_methods_are_recommended_with_a_sentence_and_the_others_are_research(root: Path) -> None:
    app = new_session("train").run()
    groups = app.radio(key="choose-method-group")
    assert [len(text) > 40 for text in groups.proto.captions] == [True, True, False]
    assert not [box for box in app.selectbox if box.key == "method"]
    choose_method(app, "emu")
    assert app.query_params["method"] == "emu"
    assert "fast" not in groups.options and len(app.selectbox(key="method").options) > 5
    another = new_session("train")  # by the address
    another.query_params["method"] = "fmda"
    assert another.run().selectbox(key="method").value == "fmda"
    app.radio(key="choose-method-group").set_value("best").run()
    assert app.query_params["method"] == "best" and not [box for box in app.selectbox if box.key == "method"]


def test_what_is_seldom_changed_is_folded_away(root: Path) -> None:
    app = new_session("train").run()
    [more] = [box for box in app.expander if box.label == "More settings"]
    inside = {box.label for box in more.number_input}
    assert {"Seed", "Move towards the intent", "Temperature", "Whitening within intents"} <= inside
    assert {box.label for box in app.number_input} == inside
    choose_method(app, "best")
    [more] = [box for box in app.expander if box.label == "More settings"]
    assert [box.label for box in more.number_input] == ["Seed"]


def test_the_page_scrolls_to_a_run_that_is_started(root: Path) -> None:
    app = new_session("train").run()

    def shown() -> str:
        sent = [json.loads(component.proto.json) for component in app.get("bidi_component")]
        return next(data["run"] for data in sent if set(data) == {"run"})

    assert shown() == ""
    press(app, "Start the run")
    assert shown() == "head-use-1"
    Run(root / "head-use-1").cancel()


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("cancelled after 303 steps", "Cancelled after 303 steps."),
        ("stopped from the keyboard", "Cancelled: stopped from the keyboard."),
        ("", "Cancelled."),
    ],
)
def test_a_stopped_run_says_why_once(root: Path, message: str, said: str) -> None:
    past(root, "stopped", Status(state=RunState.CANCELLED, message=Message(message)))
    assert new_session("train").run().warning[0].value.replace("\\", "") == said


def test_the_best_epoch_and_an_early_end_are_said() -> None:
    records, config = fitting(10, [50.0, 70.0, 60.0], patience=2)
    running = epochs_told(records, RunState.RUNNING, config, 0)
    assert "Best epoch so far: 2 of 3, with 70.0 % on dev." in running and "after 2 epochs" in running
    over = epochs_told(records, RunState.FINISHED, config, 2)
    assert "Best epoch: 2 of 3;" in over and "ended early" in over and "at most 10" in over
    records, config = fitting(3, [50.0, 70.0, 60.0], patience=2)
    assert "early" not in epochs_told(records, RunState.FINISHED, config, 2)


def test_epochs_that_nothing_chooses_are_not_called_best() -> None:
    record = Record(kind=RecordKind.EPOCH, step=1, epoch=1, loss=1.0)
    assert "the last one" in epochs_told([record], RunState.RUNNING, None, 0)
    assert epochs_told([record], RunState.FINISHED, None, 1) == ""
    assert epochs_told([], RunState.RUNNING, None, 0) == ""
