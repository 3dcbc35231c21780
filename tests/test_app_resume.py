"""A run that stopped before its end goes on: the queue, and the button on the Train page."""

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app import cache, jobs
from app.jobs import JobManager
from app.request import TrainRequest
from emu_core.errors import RunError
from emu_core.runs.run import LABELLED, Run, RunState, Status, create_run

MAIN = Path(__file__).parent.parent / "app" / "main.py"
PATIENCE_S = 60.0
# Goes on as `emu resume` does: refuses a run that isn't over, and takes the wish to cancel back before it begins.
TRAINER = """
import json, os, sys, threading, time
from pathlib import Path
from emu_core.runs.run import Run, RunState, Status
verb, folder = sys.argv[1], Path(sys.argv[-1])
run = Run(folder)
(folder / "arguments.json").write_text(json.dumps(sys.argv[1:]))
if verb != "resume" or not run.can_resume:
    sys.exit(f"emu: {run.status().state} is not over yet")
if (folder / "refuse").exists():
    sys.exit("emu: its checkpoint is damaged")
run.uncancel()
run.write_status(Status(state=RunState.RUNNING, phase="training", step=3, steps=4, epoch=1, epochs=1, pid=os.getpid(),
                        started_at=time.time(), training_since=time.time()))
while not (folder.parent / "go").exists() and not run.cancel_asked:
    threading.Event().wait(0.01)
run.write_status(Status(state=RunState.CANCELLED if run.cancel_asked else RunState.FINISHED, started_at=1.0))
"""
GONE = Status(state=RunState.RUNNING, pid=2**22 + 1, started_at=1.0)  # its process is not there


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jobs, "POLL_S", 0.02)
    (tmp_path / "trainer.py").write_text(TRAINER)
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def manager(root: Path) -> JobManager:
    return JobManager(root, (sys.executable, str(root.parent / "trainer.py")))


def stopped(root: Path, name: str, status: Status, device: str = "cpu") -> Run:
    """A run that has trained and stopped; the command has started it, and so there is no request of the app's."""
    run = create_run(
        root / name, {"method": "emu", "encoder": "use", "train_languages": ["en"], "device": device}
    )
    run.training_folder.mkdir()
    (run.training_folder / LABELLED).touch()
    run.write_status(status)
    return run


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def state(run: Run) -> RunState:
    return run.status().state


@pytest.mark.parametrize("status", [Status(state=RunState.FAILED), Status(state=RunState.CANCELLED), GONE])
def test_a_stopped_run_goes_on_to_its_end(root: Path, status: Status) -> None:
    run = stopped(root, "a", status)
    run.cancel()  # as it may have been stopped
    (root / "go").touch()
    jobs_ = manager(root)
    jobs_.resume(run)
    assert jobs_.wait(run, PATIENCE_S).state is RunState.FINISHED
    assert json.loads((run.folder / "arguments.json").read_text()) == ["resume", "--", str(run.folder)]
    assert not jobs_.holds(run)


def test_it_waits_its_turn_and_outlives_the_server(root: Path) -> None:
    old = manager(root)
    first, second = (stopped(root, name, Status(state=RunState.FAILED)) for name in ("a", "b"))
    old.resume(first)
    old.resume(second)
    until(lambda: state(first) is RunState.RUNNING)
    assert state(second) is RunState.QUEUED
    assert old.ahead_of(second) == 1
    old._queues["cpu"].clear()  # what the end of its process does
    new = manager(root)
    assert new.holds(second)
    (root / "go").touch()
    assert new.wait(second, PATIENCE_S).state is RunState.FINISHED
    assert json.loads((second.folder / "arguments.json").read_text())[0] == "resume"


def test_it_can_be_cancelled_while_it_waits_and_resumed_again(root: Path) -> None:
    jobs_ = manager(root)
    first, second = (stopped(root, name, Status(state=RunState.FAILED)) for name in ("a", "b"))
    jobs_.resume(first)
    until(lambda: state(first) is RunState.RUNNING)
    jobs_.resume(second)
    jobs_.cancel(second)
    (root / "go").touch()
    status = jobs_.wait(second, PATIENCE_S)
    assert (status.state, status.message) == (RunState.CANCELLED, "cancelled before it went on")
    assert not (second.folder / "arguments.json").exists()
    jobs_.resume(second)
    assert jobs_.wait(second, PATIENCE_S).state is RunState.FINISHED


def test_it_is_not_queued_twice_nor_when_there_is_nothing_to_go_on_with(root: Path) -> None:
    jobs_ = manager(root)
    run = stopped(root, "a", Status(state=RunState.FAILED))
    jobs_.resume(run)
    with pytest.raises(RunError, match="can't go on now"):
        jobs_.resume(run)
    (root / "go").touch()
    assert jobs_.wait(run, PATIENCE_S).state is RunState.FINISHED
    bare = stopped(root, "b", Status(state=RunState.FAILED))
    bare.forget_training()
    for over in (run, bare):
        with pytest.raises(RunError, match="can't go on now"):
            jobs_.resume(over)


def test_a_process_that_refuses_leaves_its_reason(root: Path) -> None:
    run = stopped(root, "a", Status(state=RunState.CANCELLED, message="cancelled after 3 steps"))
    (run.folder / "refuse").touch()
    jobs_ = manager(root)
    jobs_.resume(run)
    status = jobs_.wait(run, PATIENCE_S)
    assert (status.state, status.message) == (RunState.FAILED, "its checkpoint is damaged")


def test_a_fresh_run_is_trained_and_not_resumed(root: Path) -> None:
    request = TrainRequest("x", "demo", "emu", "use", ("en",), ("de",), 0, "cpu", "tuned", {})
    jobs_ = manager(root)
    run = jobs_.submit(request)
    jobs_.wait(run, PATIENCE_S)
    assert not (run.folder / "arguments.json").exists()  # its folder is no last argument of train's
    assert jobs_.wait(run, PATIENCE_S).state is RunState.FAILED


def test_the_page_offers_to_resume_what_can_be(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs_ = manager(root)
    monkeypatch.setenv("EMU_RUNS", str(root))
    monkeypatch.setattr(cache, "_job_manager", lambda root: jobs_)
    runs = {
        "bare": stopped(root, "bare", Status(state=RunState.FAILED, message="no data")),
        "done": stopped(root, "done", Status(state=RunState.FINISHED)),
        "killed": stopped(root, "killed", GONE),
    }
    runs["bare"].forget_training()
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run()
    app.switch_page("pages/train.py").run()

    def watch(name: str) -> list[str]:
        app.selectbox(key="watched").set_value(name).run()
        assert not app.exception
        return [button.label for button in app.button]

    assert "Resume" not in watch("bare")
    assert "Resume" not in watch("done")
    assert "Resume" in watch("killed")
    next(button for button in app.button if button.label == "Resume").click().run()
    assert not app.exception
    until(lambda: state(runs["killed"]) is RunState.RUNNING)
    app.run()
    assert app.get("progress")[0].proto.text.startswith("Training: step 3 of 4")
    assert "Resume" not in [button.label for button in app.button]
    (root / "go").touch()
    assert jobs_.wait(runs["killed"], PATIENCE_S).state is RunState.FINISHED


def test_a_run_that_is_about_to_go_on_is_said_to_be(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs_ = manager(root)
    monkeypatch.setenv("EMU_RUNS", str(root))
    monkeypatch.setattr(cache, "_job_manager", lambda root: jobs_)
    run = stopped(root, "a", replace(GONE, state=RunState.CANCELLED, message="about to go on"))
    monkeypatch.setattr(jobs_, "holds", lambda held: held.name == run.name)
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run()
    app.switch_page("pages/train.py").run()
    assert "About to go on." in [info.value for info in app.info]
    assert not {"Resume", "Cancel"} & {button.label for button in app.button}
    assert not app.warning


def test_a_run_that_has_just_ended_is_not_said_to_go_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs_ = manager(root)
    monkeypatch.setenv("EMU_RUNS", str(root))
    monkeypatch.setattr(cache, "_job_manager", lambda root: jobs_)
    stopped(root, "a", replace(GONE, state=RunState.CANCELLED, message="cancelled after 3 steps"))
    monkeypatch.setattr(jobs_, "holds", lambda held: True)  # its process is not gone yet
    app = AppTest.from_file(str(MAIN), default_timeout=PATIENCE_S).run()
    app.switch_page("pages/train.py").run()
    assert "cancelled after 3 steps" in app.warning[0].value
    assert "About to go on." not in [info.value for info in app.info]
    assert not {"Resume", "Cancel"} & {button.label for button in app.button}
