import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from emu_core.errors import RunError
from emu_core.runs.run import Run, RunState, Status, create_run, list_runs, new_run_name, open_run


def test_a_new_run_is_queued_and_keeps_its_config(tmp_path: Path) -> None:
    run = create_run(tmp_path / "emu-use-1", {"method": "emu"})
    assert run.status().state is RunState.QUEUED
    assert run.config() == {"method": "emu"}
    assert run.metrics() == {} and run.history() == [] and run.data() == {}


def test_a_status_comes_back_as_it_was_written(tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", {})
    written = run.write_status(
        Status(RunState.RUNNING, "training", 3, 10, 1, 2, 5.0, 1.0, pid=os.getpid(), message="é")
    )
    assert run.status() == written
    assert asdict(written)["updated_at"] > 0


def test_a_running_run_whose_process_is_gone_is_interrupted(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    run = create_run(tmp_path / "r", {})
    run.write_status(Status(RunState.RUNNING, pid=ended.pid))
    assert run.status().state is RunState.INTERRUPTED
    run.write_status(Status(RunState.RUNNING, pid=os.getpid()))
    assert run.status().state is RunState.RUNNING


def test_a_folder_in_use_is_refused_and_a_queued_run_taken_over(tmp_path: Path) -> None:
    create_run(tmp_path / "r", {"seed": 1})
    assert create_run(tmp_path / "r", {"seed": 2}).config() == {"seed": 2}
    Run(tmp_path / "r").write_status(Status(RunState.FINISHED))
    with pytest.raises(RunError, match="in use"):
        create_run(tmp_path / "r", {})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("keep")
    with pytest.raises(RunError, match="in use"):
        create_run(tmp_path / "mine", {})
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "keep"


@pytest.mark.parametrize("name", ["../r", "..", "/etc", "a/b", "", "R", ".hidden", "a\\b", "x" * 81, "r\n"])
def test_a_name_can_not_leave_the_folder_of_runs(tmp_path: Path, name: str) -> None:
    create_run(tmp_path / "r", {})
    with pytest.raises(RunError):
        open_run(tmp_path, name)
    assert open_run(tmp_path, "r").name == "r"


def test_runs_are_listed_newest_first_and_other_folders_passed_over(tmp_path: Path) -> None:
    for age, name in enumerate(["c", "b", "a"]):
        run = create_run(tmp_path / name, {})
        os.utime(run.folder / "config.json", (1000 + age, 1000 + age))
    (tmp_path / "not-a-run").mkdir()
    (tmp_path / "file").write_text("")
    assert [run.name for run in list_runs(tmp_path)] == ["a", "b", "c"]
    assert list_runs(tmp_path / "nowhere") == []


def test_new_names_are_free_and_can_be_opened(tmp_path: Path) -> None:
    assert new_run_name(tmp_path, "emu", "use") == "emu-use-1"
    create_run(tmp_path / "emu-use-1", {})
    assert new_run_name(tmp_path, "emu", "use") == "emu-use-2"
    name = new_run_name(tmp_path, "emu", "hf:Some/Model../x")
    create_run(tmp_path / name, {})
    assert open_run(tmp_path, name).name == name


def test_half_a_line_in_the_log_is_passed_over(tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", {})
    (run.folder / "log.jsonl").write_text('{"kind": "step", "step": 1}\n{"kind": "st')
    assert run.history() == [{"kind": "step", "step": 1}]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"state": "dancing"}', '{"state": "queued", "x": 1}'])
def test_a_damaged_status_is_a_clear_error(tmp_path: Path, content: str) -> None:
    run = create_run(tmp_path / "r", {})
    (run.folder / "status.json").write_text(content)
    with pytest.raises(RunError, match="delete"):
        run.status()


def test_writing_leaves_no_other_file_and_never_half_of_one(tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", {})
    run.write("metrics.json", {"ä": 1})
    with pytest.raises(TypeError):
        run.write("metrics.json", {"bad": object()})
    assert json.loads((run.folder / "metrics.json").read_text("utf-8")) == {"ä": 1}
    assert {path.name for path in run.folder.iterdir()} == {"config.json", "status.json", "metrics.json"}


def test_progress_and_time_left() -> None:
    status = Status(RunState.RUNNING, "training", 25, 100, training_since=1000.0, updated_at=1050.0)
    assert status.progress == 0.25
    assert status.seconds_left == pytest.approx(50 / 25 * 75)
    assert Status().seconds_left is None and Status().progress == 0.0
    assert replace(status, state=RunState.FINISHED).progress == 1.0
    assert replace(status, state=RunState.FINISHED).seconds_left is None


def test_cancel_is_seen(tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", {})
    assert not run.cancel_asked
    Run(run.folder).cancel()
    assert run.cancel_asked
