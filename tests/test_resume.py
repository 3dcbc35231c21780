"""A run that was killed goes on to the weights of one that was not."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from emu_core.api.resume import resume
from emu_core.api.train import train
from emu_core.errors import CancelledError, RunError
from emu_core.runs.run import Run, RunState, Status
from tests.killed_run import SETTINGS
from tests.small import small_file, small_set

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a dev split, so that the best epoch's weights are part of the state."""
    return small_file(tmp_path_factory.mktemp("data"), test="dev")


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run that nobody stopped: 15 steps."""
    return train(
        str(data), out=tmp_path_factory.mktemp("runs") / "whole", method="emu", config=SETTINGS, device="cpu"
    )


def records(run: Run) -> list[dict[str, object]]:
    return [{k: v for k, v in record.items() if k != "seconds"} for record in run.history()]


# Before the first checkpoint, and just after an epoch's end; tests/test_fit.py has other steps and the other methods.
@pytest.mark.parametrize(("step", "every"), [(1, 2), (6, 5)])
def test_a_run_killed_at_a_step_resumes_to_the_same_weights(
    step: int, every: int, data: Path, whole: Run, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.killed_run",
        str(data),
        str(tmp_path / "r"),
        str(step),
        str(every),
    ]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    run = Run(tmp_path / "r")
    assert run.status().state is RunState.INTERRUPTED and run.can_resume
    assert run.checkpoint.exists() == (step > every)  # it dies before the step's own is written

    resume(run.folder)
    assert run.status().state is RunState.FINISHED and not run.training_folder.exists()
    expected = load_file(whole.encoder_folder / "model.safetensors")
    resumed = load_file(run.encoder_folder / "model.safetensors")
    assert all(torch.equal(resumed[name], weight) for name, weight in expected.items())
    assert records(run) == records(whole)
    assert run.metrics()["specialised"] == whole.metrics()["specialised"]
    assert run.metrics()["selected_epoch"] == whole.metrics()["selected_epoch"]


def test_a_cancelled_run_goes_on_where_it_was_stopped(data: Path, whole: Run, tmp_path: Path) -> None:
    run = Run(tmp_path / "r")

    def stop(status: Status) -> None:
        if status.phase == "training":
            run.cancel()

    with pytest.raises(CancelledError):
        train(str(data), out=run.folder, method="emu", config=SETTINGS, device="cpu", on_progress=stop)
    assert run.can_resume and run.checkpoint.exists()
    resume(run.folder)
    expected = load_file(whole.encoder_folder / "model.safetensors")
    resumed = load_file(run.encoder_folder / "model.safetensors")
    assert all(torch.equal(resumed[name], weight) for name, weight in expected.items())


def test_an_unfinished_run_holds_its_data_and_a_checkpoint(data: Path, tmp_path: Path) -> None:
    run, seen = Run(tmp_path / "r"), set()

    def look(status: Status) -> None:
        seen.update(path.name for path in run.folder.rglob("*") if path.is_file())

    train(
        str(data),
        out=run.folder,
        method="emu",
        config=SETTINGS,
        device="cpu",
        checkpoint_s=0,
        on_progress=look,
    )
    assert "checkpoint.pt" in seen
    endings = {name.rpartition(".")[2] for name in seen if not name.startswith(".")}
    assert endings <= {"json", "jsonl", "safetensors", "parquet", "md", "pt"}


def test_a_finished_run_is_not_resumed(whole: Run) -> None:
    assert not whole.can_resume
    with pytest.raises(RunError, match=r"is finished$"):
        resume(whole.folder)


def test_a_damaged_checkpoint_says_how_to_go_on(data: Path, tmp_path: Path) -> None:
    run = Run(tmp_path / "r")

    def stop(status: Status) -> None:
        if status.phase == "training":
            run.cancel()

    with pytest.raises(CancelledError):
        train(str(data), out=run.folder, method="emu", config=SETTINGS, device="cpu", on_progress=stop)
    run.checkpoint.write_bytes(b"no checkpoint")
    with pytest.raises(RunError, match="damaged; delete it"):
        resume(run.folder)
    assert run.status().state is RunState.FAILED and run.can_resume
    (run.training_folder / "labelled.parquet").write_bytes(b"nor parquet")
    with pytest.raises(RunError, match="train the run again"):
        resume(run.folder)


def test_no_training_data_is_left_of_another_run(tmp_path: Path) -> None:
    run = train(small_set(), out=tmp_path / "r", method="emu", config=SETTINGS, device="cpu")
    assert not list(run.folder.rglob("*.parquet"))
