"""Run folders that version 0.1.0 wrote open, compare, export and resume."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu_core import evaluate, export, load_encoder, resume
from emu_core.errors import RunError
from emu_core.runs.run import Run, list_runs
from emu_core.trainers.fit import OUTDATED

FOLDER = Path(__file__).parent / "version_0_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text("utf-8"))
RUNS: dict[str, dict[str, Any]] = EXPECTED["runs"]
FINISHED = [name for name, facts in RUNS.items() if "vectors" in facts]
STOPPED = [name for name, facts in RUNS.items() if "resumed" in facts]
ATOL = 1e-5  # the processor that made them is another


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy to work in: paths in the runs are relative to it."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def assert_encodes(run: Path, facts: dict[str, Any]) -> None:
    vectors = load_encoder(f"run:{run}").encode(EXPECTED["sentences"][facts["sentences"]])
    np.testing.assert_allclose(vectors, facts["vectors"], atol=ATOL)


def test_every_folder_is_listed_in_its_state(old: Path) -> None:
    found = {run.name: run for run in list_runs(old)}
    assert found.keys() == RUNS.keys()
    for name, run in found.items():
        assert run.status().state == RUNS[name]["state"]
        config = json.loads((run.folder / "config.json").read_text("utf-8"))
        read_back = json.loads(json.dumps(run.config().to_json()))
        assert {key: read_back[key] for key in config} == config


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_run_encodes_as_before(old: Path, name: str) -> None:
    assert_encodes(old / name, RUNS[name])
    assert Run(old / name).metrics()["selected_epoch"] == RUNS[name]["selected_epoch"]


@pytest.mark.parametrize("name", STOPPED)
def test_a_stopped_run_resumes_to_the_weights_it_would_have_had(old: Path, name: str) -> None:
    run = resume(old / name)
    assert_encodes(run.folder, RUNS[name]["resumed"])
    metrics = run.metrics()
    assert metrics["selected_epoch"] == RUNS[name]["resumed"]["selected_epoch"]
    assert OUTDATED in metrics["warnings"]
    assert not run.training_folder.exists()


def test_a_failed_run_resumes_and_fails_again_for_the_same_reason(old: Path) -> None:
    before = Run(old / "failed").status().message
    assert Run(old / "failed").can_resume
    with pytest.raises(Exception, match="loss is nan at step"):
        resume(old / "failed")
    assert "loss is nan at step" in before and "loss is nan at step" in Run(old / "failed").status().message


def test_a_queued_run_without_data_says_so(old: Path) -> None:
    assert not Run(old / "queued").can_resume
    with pytest.raises(RunError, match="train it again"):
        resume(old / "queued")


@pytest.mark.parametrize("name", ["emu", "fmda", "posterior-on-bicvm", "dual-encoder"])
def test_a_finished_run_exports(old: Path, name: str) -> None:
    folder = export(old / name, old.parent / "exported")
    assert (folder / "modules.json").is_file()


def test_a_finished_run_evaluates_as_its_metrics_say(old: Path) -> None:
    found = evaluate("data/slots.csv", encoder="run:runs/emu", split="test", device="cpu")
    metrics = Run(old / "emu").metrics()
    assert found["counts"] == metrics["counts"] and found["guard"] == metrics["guard"]
