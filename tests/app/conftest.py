"""A folder of runs and their queue, for the pages without a browser; nobody imports this module."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from emu_app.work.jobs import JobManager


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The app's folder of runs, which is not there yet."""
    monkeypatch.setenv("EMU_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def queue(runs: Path, monkeypatch: pytest.MonkeyPatch) -> "JobManager":
    """The app's queue of runs, whose processes train nothing."""
    from emu_app.work import jobs
    from tests.support.fake_runs import manager

    made = manager(runs)
    monkeypatch.setattr(jobs, "JOB_POLL_S", 0.02)
    monkeypatch.setattr(jobs, "_job_manager", lambda root: made)
    return made


@pytest.fixture
def root(queue: "JobManager", runs: Path) -> Path:
    """The empty folder of runs of the queue."""
    return runs
