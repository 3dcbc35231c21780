"""A run that was killed goes on to the weights of one that was not."""

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from emu_core import configure, resume, train
from emu_core.api.execute import Hooks
from emu_core.errors import CancelledError, RunError
from emu_core.runs.log import Record
from emu_core.runs.run import Run, RunState, Status, create_run
from tests.support.processes import exit_code, resume_and_die
from tests.support.raises import raises
from tests.support.short_plans import SETTINGS, Plan, plan, with_dev


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Plan]:
    folder, made = tmp_path_factory.mktemp("encoders"), dict[str, Plan]()

    def planned(method: str) -> Plan:
        if method not in made:
            config, data = plan(method, folder)
            made[method] = replace(config, snapshots=True), data
        return made[method]

    return planned


@pytest.fixture(scope="module")
def wholes(plans: Callable[[str], Plan], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """The run of each method that nobody stopped."""
    folder = tmp_path_factory.mktemp("runs")

    def whole(method: str) -> Run:
        run = Run(folder / method)
        if not run.folder.exists():
            assert exit_code(resume, str(create_run(run.folder, *plans(method)).folder)) == 0
        return run

    return whole


def records(run: Run) -> list[Record]:
    return [replace(record, seconds=0.0) for record in run.history()]


def snapshots(run: Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.snapshots_folder.iterdir()}


def assert_same_weights(run: Run, whole: Run) -> None:
    paths = [path.relative_to(whole.folder) for path in whole.encoder_folder.rglob("*.safetensors")]
    assert paths
    for path in paths:
        expected, found = load_file(whole.folder / path), load_file(run.folder / path)
        assert expected.keys() == found.keys()
        assert all(torch.equal(found[name], weight) for name, weight in expected.items())


@pytest.mark.parametrize(
    ("method", "step", "every"),
    [
        pytest.param("emu", 1, 2, marks=pytest.mark.slow),  # before the first checkpoint
        ("emu", 4, 2),  # within the first epoch
        pytest.param("emu", 6, 5, marks=pytest.mark.slow),  # just after an epoch's end
        pytest.param("emu", 15, 4, marks=pytest.mark.slow),  # at the very last step
        pytest.param("distil", 1, 2, marks=pytest.mark.slow),
        pytest.param("distil", 7, 5, marks=pytest.mark.slow),  # just after an epoch's end
        ("fmda", 5, 2),
        ("meaning-language", 5, 2),
        ("dual-encoder", 5, 2),
        ("bicvm", 5, 2),
    ],
)
def test_a_run_killed_at_a_step_resumes_to_the_same_weights(
    method: str,
    step: int,
    every: int,
    plans: Callable[[str], Plan],
    wholes: Callable[[str], Run],
    tmp_path: Path,
) -> None:
    whole, run = wholes(method), create_run(tmp_path / "r", *plans(method))
    assert exit_code(resume_and_die, str(run.folder), step, every) == -signal.SIGKILL
    assert run.status().state is RunState.INTERRUPTED and run.can_resume
    assert run.checkpoint.exists() == (step > every)  # it dies before the step's own is written
    assert 0 < len(run.history()) < len(whole.history())

    # In a process of its own, as the uninterrupted run was: libraries that other tests load change the last bits here.
    assert exit_code(resume, str(run.folder)) == 0
    assert run.status().state is RunState.FINISHED and not run.training_folder.exists()
    assert_same_weights(run, whole)
    assert records(run) == records(whole)
    assert snapshots(run) == snapshots(whole)
    measured, expected = (
        replace(each.metrics(), seconds=0.0, peak_memory_mb=0.0).to_json() for each in (run, whole)
    )
    assert measured == expected


def cancel_at_training(run: Run) -> Callable[[Status], None]:
    def stop(status: Status) -> None:
        if status.phase == "training":
            run.cancel()

    return stop


@pytest.mark.slow
def test_a_cancelled_run_goes_on_where_it_was_stopped(plans: Callable[[str], Plan], tmp_path: Path) -> None:
    run, whole = Run(tmp_path / "r"), resume(create_run(tmp_path / "whole", *plans("emu")).folder)
    with pytest.raises(CancelledError):
        train(
            with_dev(),
            out=run.folder,
            method="emu",
            encoder=whole.config().encoder,
            config=configure("emu", whole.config().encoder, **SETTINGS),
            device="cpu",
            on_progress=cancel_at_training(run),
        )
    assert run.status().state is RunState.CANCELLED and run.can_resume and run.checkpoint.exists()
    resume(run.folder)
    assert_same_weights(run, whole)


def test_a_queued_run_that_is_cancelled_never_starts(plans: Callable[[str], Plan], tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", *plans("bicvm"))
    run.cancel()
    with pytest.raises(CancelledError):
        resume(run.folder)
    assert run.status().state is RunState.CANCELLED and run.history() == []
    resume(run.folder)  # asked for again, it is
    assert run.status().state is RunState.FINISHED


def test_a_run_holds_no_pickle_while_it_is_unfinished(plans: Callable[[str], Plan], tmp_path: Path) -> None:
    run, seen = create_run(tmp_path / "r", *plans("bicvm")), set()

    def look(status: Status) -> None:
        seen.update(path for path in run.folder.rglob("*") if path.is_file())
        if run.checkpoint.exists():
            torch.load(run.checkpoint, weights_only=True)  # runs no code that it holds

    resume(run.folder, hooks=Hooks(checkpoint_s=0), on_progress=look)
    assert run.checkpoint in seen
    assert {path.suffix for path in seen if not path.name.startswith(".")} <= {
        ".json", ".jsonl", ".safetensors", ".parquet", ".md", ".pt",
    }  # fmt: skip


def test_a_finished_run_is_left_as_it_is_but_for_sentences(wholes: Callable[[str], Run]) -> None:
    whole = wholes("bicvm")
    before = (whole.folder / "status.json").read_bytes()
    whole.training_folder.mkdir()  # as where a kill came before its deletion
    assert not whole.can_resume
    assert resume(whole.folder).folder == whole.folder
    assert (whole.folder / "status.json").read_bytes() == before and not whole.training_folder.exists()


def test_a_damaged_checkpoint_says_how_to_go_on(plans: Callable[[str], Plan], tmp_path: Path) -> None:
    run = create_run(tmp_path / "r", *plans("fmda"))
    with pytest.raises(CancelledError):
        resume(run.folder, on_progress=cancel_at_training(run))
    run.checkpoint.write_bytes(b"no checkpoint")
    with raises(RunError, fix=None, match=run.checkpoint.name):
        resume(run.folder)
    assert run.status().state is RunState.FAILED and run.can_resume
    (run.training_folder / "labelled.parquet").write_bytes(b"nor parquet")
    with raises(RunError, fix=None, match=f"{run.training_folder.name} "):
        resume(run.folder)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["emu", "fmda", "bicvm"])
def test_snapshots_change_nothing(
    method: str, plans: Callable[[str], Plan], wholes: Callable[[str], Run], tmp_path: Path
) -> None:
    whole = wholes(method)
    epochs = sum(not record.is_step for record in whole.history())
    assert set(snapshots(whole)) == {
        "sentences.parquet",
        "checksums.json",
        *(f"{number:09}.safetensors" for number in range(epochs + 1)),
    }
    config, data = plans(method)
    run = create_run(tmp_path / "r", replace(config, snapshots=False), data)
    assert exit_code(resume, str(run.folder)) == 0
    assert_same_weights(run, whole)
    assert not run.snapshots_folder.exists()
