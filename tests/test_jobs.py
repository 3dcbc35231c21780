import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from app import jobs
from app.jobs import LOG, JobManager, last_line
from app.methods import all_settings
from app.request import FILE, TrainRequest
from emu_core import cli
from emu_core.cli.pairs import pairs_of
from emu_core.errors import RunError, TrainingError
from emu_core.methods.registry import configure
from emu_core.runs.run import Run, RunState, Status, list_runs

PATIENCE_S = 60.0
REQUEST = TrainRequest(
    name="first",
    data="demo",
    method="emu",
    encoder="use",
    train_languages=("en",),
    unlabelled_languages=("de", "ja"),
    seed=7,
    device="cpu",
    preset="tuned",
    changes={},
)
# A training process in small: it writes what it was asked, waits for a file "go" or for a cancel, and obeys a word.
TRAINER = """
import json, os, sys, threading, time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from emu_core.runs.run import Run, RunState, Status
folder = Path(next(a for a in sys.argv if a.startswith("--out=")).removeprefix("--out="))
run, word, status = Run(folder), sys.argv[-1], Status(state=RunState.RUNNING, pid=os.getpid(), started_at=time.time())
(folder / "arguments.json").write_text(json.dumps(sys.argv[1:]))
if word == "refuse":
    print("emu: no row in the training language xx", file=sys.stderr)
    sys.exit(2)
status = run.write_status(status)
if word == "crash":
    raise ValueError("a bug")
if word == "kill":
    os.kill(os.getpid(), 9)
if word == "vanish":
    sys.exit(0)
while not (folder.parent / "go").exists() and (word == "deaf" or not run.cancel_asked):
    threading.Event().wait(0.01)
over = RunState.CANCELLED if run.cancel_asked else RunState.FINISHED
run.write_status(replace(status, state=over))
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jobs, "POLL_S", 0.02)
    (tmp_path / "trainer.py").write_text(TRAINER)
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def manager(root: Path) -> JobManager:
    return JobManager(root, (sys.executable, str(root.parent / "trainer.py")))


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def go(root: Path) -> None:
    (root / "go").touch()


def state(run: Run) -> RunState:
    return run.status().state


def test_a_run_goes_from_queued_to_finished(root: Path) -> None:
    go(root)
    jobs_ = manager(root)
    run = jobs_.submit(REQUEST)
    assert run.folder == root / "first"
    assert run.config()["method"] == "emu"
    assert jobs_.wait(run, PATIENCE_S).state is RunState.FINISHED
    assert json.loads((run.folder / "arguments.json").read_text()) == [
        "train",
        *REQUEST.arguments(run.folder),
    ]


def test_first_come_first_served_one_at_a_time_on_a_device(root: Path) -> None:
    jobs_ = manager(root)
    runs = [jobs_.submit(replace(REQUEST, name=name)) for name in ("a", "b", "c")]
    until(lambda: state(runs[0]) is RunState.RUNNING)
    assert [jobs_.ahead_of(run) for run in runs[1:]] == [1, 2]
    assert [state(run) for run in runs[1:]] == [RunState.QUEUED, RunState.QUEUED]
    go(root)
    statuses = [jobs_.wait(run, PATIENCE_S) for run in runs]
    assert all(status.state is RunState.FINISHED for status in statuses)
    for before, after in pairwise(statuses):
        assert before.updated_at <= after.started_at


def test_two_devices_work_side_by_side(root: Path) -> None:
    jobs_ = manager(root)
    here = jobs_.submit(replace(REQUEST, name="here"))
    there = jobs_.submit(replace(REQUEST, name="there", device="cuda:0"))
    until(lambda: state(here) is state(there) is RunState.RUNNING)
    go(root)
    assert jobs_.wait(here, PATIENCE_S).state is jobs_.wait(there, PATIENCE_S).state is RunState.FINISHED


def test_a_running_run_is_cancelled_and_the_next_one_begins(root: Path) -> None:
    jobs_ = manager(root)
    first, second = (jobs_.submit(replace(REQUEST, name=name)) for name in ("a", "b"))
    until(lambda: state(first) is RunState.RUNNING)
    jobs_.cancel(first)
    assert jobs_.wait(first, PATIENCE_S).state is RunState.CANCELLED
    until(lambda: state(second) is RunState.RUNNING)
    jobs_.cancel(second)
    assert jobs_.wait(second, PATIENCE_S).state is RunState.CANCELLED


def test_a_queued_run_that_is_cancelled_never_begins(root: Path) -> None:
    jobs_ = manager(root)
    first, second = (jobs_.submit(replace(REQUEST, name=name)) for name in ("a", "b"))
    jobs_.cancel(second)
    go(root)
    assert jobs_.wait(second, PATIENCE_S).state is RunState.CANCELLED
    assert jobs_.wait(first, PATIENCE_S).state is RunState.FINISHED
    assert not (second.folder / "arguments.json").exists()


def test_a_process_that_takes_no_notice_of_a_cancel_is_ended(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "GRACE_S", 0.0)
    jobs_ = manager(root)
    run = jobs_.submit(replace(REQUEST, data="deaf"))
    until(lambda: state(run) is RunState.RUNNING)
    pid = run.status().pid
    jobs_.cancel(run)
    assert jobs_.wait(run, PATIENCE_S).state is RunState.CANCELLED
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("refuse", "no row in the training language xx"),
        ("crash", "ValueError: a bug"),
        ("kill", "its process was stopped by signal 9, perhaps for lack of memory"),
        ("vanish", "its process ended with code 0"),
    ],
)
def test_a_process_that_ends_without_a_last_status_has_failed(root: Path, word: str, message: str) -> None:
    jobs_ = manager(root)
    status = jobs_.wait(jobs_.submit(replace(REQUEST, data=word)), PATIENCE_S)
    assert (status.state, status.message) == (RunState.FAILED, message)


def test_a_command_that_is_not_there_fails_the_run_and_not_the_queue(root: Path) -> None:
    jobs_ = JobManager(root, ("/no/such/program",))
    for name in ("a", "b"):
        status = jobs_.wait(jobs_.submit(replace(REQUEST, name=name)), PATIENCE_S)
        assert status.state is RunState.FAILED
        assert "could not be started" in status.message


def test_a_folder_that_is_deleted_meanwhile_does_not_stop_the_queue(root: Path) -> None:
    jobs_ = manager(root)
    first, second = (jobs_.submit(replace(REQUEST, name=name)) for name in ("a", "b"))
    until(lambda: state(first) is RunState.RUNNING)
    first.folder.rename(root.parent / "gone")
    go(root)
    assert jobs_.wait(second, PATIENCE_S).state is RunState.FINISHED


def test_a_new_server_finds_the_running_run_and_takes_up_the_queue(root: Path) -> None:
    old = manager(root)
    running, queued = (old.submit(replace(REQUEST, name=name)) for name in ("a", "b"))
    until(lambda: state(running) is RunState.RUNNING)
    old._queues["cpu"].clear()  # what the end of its process does
    new = manager(root)
    assert {run.name: state(run) for run in list_runs(root)} == {"a": RunState.RUNNING, "b": RunState.QUEUED}
    assert new.ahead_of(queued) == 0
    later = new.submit(replace(REQUEST, name="c"))
    assert (state(queued), state(later)) == (RunState.QUEUED, RunState.QUEUED)  # the device is taken
    go(root)
    assert new.wait(later, PATIENCE_S).state is RunState.FINISHED
    assert queued.status().started_at >= running.status().updated_at


def test_queued_runs_of_other_origin_and_damaged_ones_are_left_alone(root: Path) -> None:
    for name, request in (("foreign", None), ("damaged", "[1"), ("odd", '{"name": "x"}')):
        (root / name).mkdir()
        run = Run(root / name)
        run.write("config.json", {})
        run.write_status(Status())
        if request is not None:
            (run.folder / FILE).write_text(request)
    jobs_ = manager(root)
    assert jobs_._queues == {}
    foreign = Run(root / "foreign")
    jobs_.cancel(foreign)  # nothing will ever look at its flag
    assert state(foreign) is RunState.CANCELLED


def test_a_name_is_used_once_and_cannot_leave_the_folder(root: Path) -> None:
    jobs_ = manager(root)
    jobs_.submit(REQUEST)
    with pytest.raises(RunError, match="choose another name"):
        jobs_.submit(REQUEST)
    for name in ("../out", "", "a/b", ".data", "A", "-x", "x" * 81, "a\n"):
        with pytest.raises(RunError, match="can't name a run"):
            jobs_.submit(replace(REQUEST, name=name))
    jobs_.cancel(Run(root / "first"))


def test_a_setting_out_of_range_leaves_no_folder(root: Path) -> None:
    with pytest.raises(TrainingError, match="batch_size"):
        manager(root).submit(replace(REQUEST, changes={"batch_size": 1}))
    assert list(root.iterdir()) == []


def test_a_request_comes_back_from_its_folder_as_it_was(tmp_path: Path) -> None:
    request = replace(REQUEST, changes={"epochs": 2, "two_stage": True}, pairs=(("en", "de"), ("en", "ja")))
    run = Run(tmp_path)
    request.save(run)
    assert TrainRequest.load(run) == request


def _other(value: float, most: float | None) -> float:
    """Another value of a setting: on instead of off, or the double."""
    return not value if isinstance(value, bool) else min(2 * value, most or math.inf)


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("preset", ["tuned", "paper"])
def test_the_command_understands_every_request(method: Method, preset: str, tmp_path: Path) -> None:
    start = configure(method, "use" if preset == "tuned" else None)
    changes = {
        setting.name: list(setting.choices)[-1].value
        if setting.choices
        else _other(getattr(start, setting.name), setting.most)
        for setting in all_settings(method)
        if setting.matters(start)
    }
    pairs = (("en", "de"), ("zh-tw", "en")) if method in DISENTANGLING else ()
    request = replace(
        REQUEST, method=method.value, preset=preset, changes=changes, data="--json", pairs=pairs
    )
    options = cli._parser().parse_args(["train", *request.arguments(tmp_path / "x")])
    assert options.data == ["--json"]  # a file of that name, not an option
    assert options.out == str(tmp_path / "x")
    assert (options.method, options.encoder, options.preset) == (method.value, "use", preset)
    assert (options.train_language, options.unlabelled_language) == (["en"], ["de", "ja"])
    assert (options.seed, options.device) == (7, "cpu")
    assert tuple(pairs_of(options.pair, method) or ()) == pairs
    told = {name: getattr(options, name) for name in changes}
    assert told == changes
    numbers = {name: value for name, value in told.items() if not isinstance(value, str)}
    assert {name: type(value) for name, value in numbers.items()} == {
        name: type(getattr(start, name)) for name in numbers
    }
    assert request.settings() == configure(method, "use" if preset == "tuned" else None, **changes)


def test_the_last_line_that_says_something(tmp_path: Path) -> None:
    log = tmp_path / LOG
    assert last_line(log) == ""
    log.write_bytes(b"x" * 10_000 + b"\nemu: no such file \xff\n\n  \n")
    assert last_line(log) == "no such file �"
    log.write_text("training 1/9\rtraining 2/9\rout of memory")
    assert last_line(log) == "out of memory"
