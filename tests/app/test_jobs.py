"""The queue of runs: its order, its processes, and what becomes of a run whose process ends badly."""

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from emu_app.work import jobs
from emu_app.work.jobs import NICENESS, PROCESS_LOG, JobManager, last_line
from emu_core.errors import Message, RunError
from emu_core.runs.run import Run, RunState, Status, create_run, list_runs
from tests.support.fake_runs import (
    PATIENCE_S,
    NoData,
    bench_config,
    config,
    go,
    manager,
    past,
    stopped,
    until,
)
from tests.support.raises import raises

GONE = Status(state=RunState.RUNNING, pid=2**22 + 1, started_at=1.0)  # its process is not there


def submit(to: JobManager, name: str = "first", device: str = "cpu") -> Run:
    return to.submit(name, config(device), NoData())


def state(run: Run) -> RunState:
    return run.status().state


def test_a_run_goes_from_queued_to_finished(root: Path) -> None:
    jobs_ = manager(root)
    go(root)
    run = submit(jobs_)
    assert run.folder == root / "first" and run.config() == config()
    assert jobs_.wait(run, PATIENCE_S).state is RunState.FINISHED
    assert not jobs_.holds(run)
    assert json.loads((run.folder / "arguments.json").read_text()) == ["resume", "--", str(run.folder)]


def test_first_come_first_served_one_at_a_time_on_a_device_be_it_a_run_or_a_benchmark(root: Path) -> None:
    jobs_ = manager(root)
    runs = [submit(jobs_, "a"), jobs_.submit("b", bench_config(), NoData()), submit(jobs_, "c")]
    other = submit(jobs_, "other", "cuda:0")
    until(lambda: state(runs[0]) is state(other) is RunState.RUNNING)
    assert [jobs_.ahead_of(run) for run in runs[1:]] == [1, 2]
    assert [state(run) for run in runs[1:]] == [RunState.QUEUED, RunState.QUEUED]
    go(root)
    statuses = [jobs_.wait(run, PATIENCE_S) for run in (*runs, other)]
    assert all(status.state is RunState.FINISHED for status in statuses)
    for before, after in pairwise(statuses[:3]):
        assert before.updated_at <= after.started_at


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="Windows has other priorities")
def test_a_run_yields_to_the_pages(root: Path) -> None:
    own, jobs_ = os.getpriority(os.PRIO_PROCESS, 0), manager(root)
    jobs_.submit("nice", config(), NoData())
    run = Run(root / "nice")
    until(lambda: state(run) is RunState.RUNNING)
    pid = run.status().pid
    assert pid is not None
    until(lambda: os.getpriority(os.PRIO_PROCESS, pid) == max(own, NICENESS))  # it may have begun before
    go(root)
    jobs_.wait(run, PATIENCE_S)


def test_a_running_run_is_cancelled_and_one_that_waits_never_begins(root: Path) -> None:
    jobs_ = manager(root)
    first, second, third = (submit(jobs_, name) for name in ("a", "b", "c"))
    until(lambda: state(first) is RunState.RUNNING)
    jobs_.cancel(second)
    jobs_.cancel(first)
    assert jobs_.wait(first, PATIENCE_S).state is RunState.CANCELLED
    status = jobs_.wait(second, PATIENCE_S)
    assert (status.state, str(status.message)) == (RunState.CANCELLED, "cancelled before it began")
    assert not (second.folder / "arguments.json").exists()
    go(root)
    assert jobs_.wait(third, PATIENCE_S).state is RunState.FINISHED


def test_a_process_that_takes_no_notice_of_a_cancel_is_ended(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "GRACE_S", 0.0)
    run = stopped(root, "deaf", Status(state=RunState.FAILED))
    (run.folder / "word").write_text("deaf")
    jobs_ = manager(root)
    jobs_.resume(run)
    until(lambda: state(run) is RunState.RUNNING)
    pid = run.status().pid
    jobs_.cancel(run)
    assert jobs_.wait(run, PATIENCE_S).state is RunState.CANCELLED
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("refuse", "its checkpoint is damaged"),
        ("crash", "ValueError: a bug"),
        ("kill", "its process was stopped by signal 9, perhaps for lack of memory"),
        ("vanish", "its process ended with code 0"),
    ],
)
def test_a_process_that_ends_without_a_last_status_has_failed(root: Path, word: str, message: str) -> None:
    run = stopped(root, "bad", Status(state=RunState.CANCELLED, message=Message("cancelled after 3 steps")))
    (run.folder / "word").write_text(word)
    jobs_ = manager(root)
    jobs_.resume(run)
    status = jobs_.wait(run, PATIENCE_S)
    assert (status.state, str(status.message)) == (RunState.FAILED, message)


def test_a_command_that_is_not_there_fails_the_run_and_not_the_queue(root: Path) -> None:
    jobs_ = JobManager(root, ("/no/such/program",))
    for name in ("a", "b"):
        status = jobs_.wait(submit(jobs_, name), PATIENCE_S)
        assert status.state is RunState.FAILED
        assert "could not be started" in str(status.message)


def test_a_folder_that_is_deleted_meanwhile_does_not_stop_the_queue(root: Path) -> None:
    jobs_ = manager(root)
    first, second = (submit(jobs_, name) for name in ("a", "b"))
    until(lambda: state(first) is RunState.RUNNING)
    first.folder.rename(root.parent / "gone")
    go(root)
    assert jobs_.wait(second, PATIENCE_S).state is RunState.FINISHED


def test_a_new_server_finds_the_running_run_and_starts_what_was_queued_when_it_is_told_to(root: Path) -> None:
    old = manager(root)
    running, queued = (submit(old, name) for name in ("a", "b"))
    until(lambda: state(running) is RunState.RUNNING)
    old._queues["cpu"].clear()  # what the end of its process does
    new = manager(root)
    assert {run.name: state(run) for run in list_runs(root)} == {"a": RunState.RUNNING, "b": RunState.QUEUED}
    later = submit(new, "c")
    assert not new.holds(queued) and new.ahead_of(later) == 1  # the device is taken
    new.resume(queued)
    assert new.holds(queued) and new.ahead_of(queued) == 2
    go(root)
    assert new.wait(queued, PATIENCE_S).state is RunState.FINISHED
    assert queued.status().started_at >= later.status().updated_at >= running.status().updated_at


def test_nothing_that_lies_in_the_folder_is_started_or_changed_but_sentences_of_finished_runs_go(
    root: Path,
) -> None:
    old = past(root, "old", Status())
    (old.folder / "request.json").write_text('{"name": "old"}')
    damaged = create_run(root / "damaged", config(), NoData())
    (damaged.folder / "config.json").write_text("[1")
    (root / "worse").mkdir()
    (root / "worse" / "config.json").write_text("{}")
    (root / "worse" / "status.json").write_text("{")
    finished = stopped(root, "finished", Status(state=RunState.FINISHED))
    jobs_ = manager(root)
    assert state(old) is RunState.QUEUED and jobs_._queues == {} and not finished.training_folder.exists()
    with pytest.raises(RunError, match="can't be resumed now"):
        jobs_.resume(old)
    jobs_.cancel(damaged)  # nothing will ever look at its flag
    assert state(damaged) is RunState.CANCELLED


def test_a_name_is_used_once_and_cannot_leave_the_folder(root: Path) -> None:
    jobs_ = manager(root)
    first = submit(jobs_)
    with raises(RunError, fix=None, match=f"'{first.name}' already"):
        submit(jobs_)
    for name in ("../out", "", "a/b", ".data", "A", "-x", "x" * 81, "a\n"):
        with raises(RunError, fix=None, match=f"^{re.escape(repr(name[:80]))} "):
            submit(jobs_, name)
    jobs_.cancel(first)
    jobs_.wait(first, PATIENCE_S)


@pytest.mark.parametrize("status", [Status(state=RunState.FAILED), Status(state=RunState.CANCELLED), GONE])
def test_a_stopped_run_goes_on_to_its_end(root: Path, status: Status) -> None:
    run = stopped(root, "a", status)
    run.cancel()  # as it may have been stopped
    jobs_ = manager(root)
    go(root)
    jobs_.resume(run)
    assert jobs_.wait(run, PATIENCE_S).state is RunState.FINISHED


def test_one_that_goes_on_waits_its_turn_and_may_be_cancelled_and_resumed_again(root: Path) -> None:
    first, second = (stopped(root, name, Status(state=RunState.FAILED)) for name in ("a", "b"))
    jobs_ = manager(root)
    jobs_.resume(first)
    until(lambda: state(first) is RunState.RUNNING)
    jobs_.resume(second)
    assert state(second) is RunState.QUEUED and jobs_.ahead_of(second) == 1
    with raises(RunError, fix=None, match="'b'"):
        jobs_.resume(second)
    jobs_.cancel(second)
    go(root)
    assert jobs_.wait(second, PATIENCE_S).state is RunState.CANCELLED
    jobs_.resume(second)
    assert jobs_.wait(second, PATIENCE_S).state is RunState.FINISHED


def test_what_can_not_go_on_is_not_queued_but_a_finished_benchmark_is(root: Path) -> None:
    jobs_ = manager(root)
    done = stopped(root, "done", Status(state=RunState.FINISHED))
    bare = past(root, "bare", Status(state=RunState.FAILED))
    for run in (done, bare):
        with raises(RunError, fix=None, match=f"'{run.name}'"):
            jobs_.resume(run)
    bench = create_run(root / "bench", bench_config(), NoData())
    bench.write_status(Status(state=RunState.FINISHED))
    go(root)
    jobs_.resume(bench)
    assert jobs_.wait(bench, PATIENCE_S).steps == 4  # it was run again


def test_the_last_line_that_says_something(tmp_path: Path) -> None:
    log = tmp_path / PROCESS_LOG
    assert last_line(log) == ""
    log.write_bytes(b"x" * 10_000 + b"\nemu: no such file \xff\n\n  \n")
    assert last_line(log) == "no such file �"
    log.write_text("training 1/9\rtraining 2/9\rout of memory")
    assert last_line(log) == "out of memory"
