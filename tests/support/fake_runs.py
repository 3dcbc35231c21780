"""Runs without training: a process in the place of `emu resume`, and a manager that starts it."""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emu_app.work.jobs import JobManager
from emu_core.runs.config import RunConfig, RunTask
from emu_core.runs.data_facts import DataFacts
from emu_core.runs.run import Run, Status, create_run

PATIENCE_S = 180.0
STEPS = 4
# Says that it runs, logs an epoch, and waits for a file "go" beside the runs, or a cancel; the file "word" of a run
# makes it do worse.
PROCESS = """
import json, os, sys, threading, time
from dataclasses import replace
from pathlib import Path
from emu_core.errors import Message
from emu_core.runs.run import Run, RunState, Status
verb, _, folder = sys.argv[1:]
run = Run(Path(folder))
(run.folder / "arguments.json").write_text(json.dumps(sys.argv[1:]))
word = (run.folder / "word").read_text() if (run.folder / "word").exists() else ""
if word == "refuse" or verb != "resume" or not run.can_resume:
    sys.exit("emu: its checkpoint is damaged")
records = [
    {"kind": "step", "step": 1, "epoch": 1, "loss": 2.0},
    {"kind": "epoch", "step": 1, "epoch": 1, "loss": 2.0, "dev_accuracy": 40.0},
]
(run.folder / "log.jsonl").write_text("".join(json.dumps(record) + "\\n" for record in records))
bench = run.config().task == "bench"
status = run.write_status(Status(
    state=RunState.RUNNING, phase="emu on en seed 0" if bench else "training", step=1, steps=4, epoch=1, epochs=2,
    pid=os.getpid(), started_at=time.time(), training_since=time.time(),
))
if word == "crash":
    raise ValueError("a bug")
if word == "kill":
    os.kill(os.getpid(), 9)
if word == "vanish":
    sys.exit(0)
while not (run.folder.parent / "go").exists() and (word == "deaf" or not run.cancel_asked):
    threading.Event().wait(0.01)
if run.cancel_asked:
    run.write_status(replace(status, state=RunState.CANCELLED, message=Message("cancelled after 1 steps")))
else:
    run.write_status(replace(status, state=RunState.FINISHED, step=4))
"""


class NoData:
    """Data of which there is none."""

    def store(self, folder: Path) -> None:
        """Write nothing into the folder, which then says that all is there."""

    def facts(self, config: RunConfig) -> DataFacts:
        """Return nothing."""
        return DataFacts()


def config(device: str = "cpu", method: str = "emu", **changes: Any) -> RunConfig:
    """A run's configuration."""
    values: dict[str, Any] = {
        "hyperparameters": {},
        "encoder": "use",
        "train_languages": ("en",),
        **changes,
    }
    return RunConfig(method, "tiny", device=device, **values)


def manager(root: Path) -> JobManager:
    """A manager of the runs in a folder, whose process trains nothing."""
    root.mkdir(exist_ok=True)
    script = root.parent / "process.py"
    script.write_text(PROCESS)
    return JobManager(root, (sys.executable, str(script)))


def stopped(root: Path, name: str, status: Status, **changes: Any) -> Run:
    """A run that has begun and stopped."""
    run = create_run(root / name, config(**changes), NoData())
    run.write_status(status)
    return run


def past(root: Path, name: str, status: Status, metrics: dict[str, Any] | None = None, **changes: Any) -> Run:
    """A run that is over, whose data is gone."""
    run = stopped(root, name, status, **changes)
    run.delete_training()
    if metrics is not None:
        run.write("metrics.json", metrics)
    return run


def bench_config(**changes: Any) -> RunConfig:
    """A benchmark's configuration."""
    settings = {"seeds": [0], "epochs": None, "parts": ["4"]}
    return RunConfig(
        "emu", "tiny", settings, task=RunTask.BENCH, encoder="use", train_languages=("en",), **changes
    )


def go(root: Path) -> None:
    """Let every process come to its end."""
    (root / "go").touch()


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)
