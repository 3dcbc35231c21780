"""A run folder: everything a training run leaves, whole or visibly unfinished."""

import json
import re
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import psutil

from emu_core.errors import RunError
from emu_core.files import whole_folder, write_json
from emu_core.runs.config import RunConfig

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
CLOCK_S = 2.0  # how far two clocks of one machine may be apart


class RunState(StrEnum):
    """How far a run is. INTERRUPTED is never written: it is a running run whose process is gone."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (RunState.QUEUED, RunState.RUNNING)


@dataclass(frozen=True)
class Status:
    """Where a run stands: what status.json holds.

    Attributes:
        state: see `RunState`.
        phase: what it is doing: loading, encoding, fitting or training, evaluating, saving.
        step: training steps done, of `steps`.
        steps: training steps in all; 0 until known.
        epoch: the current epoch, from 1, of `epochs`.
        epochs: epochs in all; at most so many where training may end before them.
        done: share of the phase that is done, for a phase before training that counts what it does.
        training_since: when the first step began, unix seconds; 0 before.
        started_at: unix seconds; 0 while queued.
        updated_at: unix seconds.
        pid: the training process.
        message: why a run failed, or what else a person should read.
    """

    state: RunState = RunState.QUEUED
    phase: str = ""
    step: int = 0
    steps: int = 0
    epoch: int = 0
    epochs: int = 0
    done: float = 0.0
    training_since: float = 0.0
    started_at: float = 0.0
    updated_at: float = 0.0
    pid: int = 0
    message: str = ""

    @property
    def progress(self) -> float:
        """Share of the training steps done, 0 to 1; before training, of what its preparation counts."""
        if self.state is RunState.FINISHED:
            return 1.0
        return min(1.0, self.step / self.steps) if self.steps else self.done

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the last training step at the pace so far; None where there is no pace yet."""
        if self.state is not RunState.RUNNING or not self.step or not self.steps:
            return None
        return (self.updated_at - self.training_since) / self.step * (self.steps - self.step)


class Run:
    """One run's folder. Reading it never fails because the run is still being written.

    Attributes:
        folder: where it is.
    """

    def __init__(self, folder: Path) -> None:
        """Name a folder; nothing is read yet."""
        self.folder = Path(folder)

    def __repr__(self) -> str:
        """Name and folder."""
        return f"Run({str(self.folder)!r})"

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def encoder_folder(self) -> Path:
        """Where the specialised encoder is, once the run is finished."""
        return self.folder / "encoder"

    @property
    def training_folder(self) -> Path:
        """Where an unfinished run's data and checkpoint are; gone once it is finished."""
        return self.folder / "training"

    @property
    def checkpoint(self) -> Path:
        """The state of the training as it was last written; absent before the first time."""
        return self.training_folder / "checkpoint.pt"

    @property
    def can_resume(self) -> bool:
        """Whether the run is queued or stopped before its end, and its folder holds what it needs to go on."""
        state = self.status().state
        return state not in (RunState.RUNNING, RunState.FINISHED) and self.has_stored_data

    @property
    def has_stored_data(self) -> bool:
        """Whether the data it works on is whole in its folder."""
        return self.training_folder.is_dir()

    def delete_training(self) -> None:
        """Delete the stored data and the checkpoint."""
        shutil.rmtree(self.training_folder, ignore_errors=True)

    def status(self) -> Status:
        """Read status.json; a running run whose process is gone comes back as interrupted.

        Raises:
            RunError: there is no readable status.json.
        """
        values = self._read("status.json", required=True)
        try:
            status = Status(**values | {"state": RunState(values["state"])})
        except (TypeError, KeyError, ValueError):
            raise RunError(f"{self.folder / 'status.json'} is damaged; delete the run's folder") from None
        if status.state is RunState.RUNNING and not _is_alive(status.pid, status.updated_at):
            return replace(status, state=RunState.INTERRUPTED, message="its process ended before the run did")
        return status

    def config(self) -> RunConfig:
        """Read config.json. Raises RunError where it is missing or damaged."""
        where = self.folder / "config.json"
        return RunConfig.from_json(self._read("config.json", required=True), str(where))

    def data(self) -> dict[str, Any]:
        """Read data.json: hash and counts of the data it was trained on."""
        return self._read("data.json")

    def metrics(self) -> dict[str, Any]:
        """Read metrics.json; empty until the run is finished."""
        return self._read("metrics.json")

    def history(self) -> list[dict[str, Any]]:
        """The log: one dict a step and one an epoch, so far."""
        try:
            lines = (self.folder / "log.jsonl").read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        records = []
        for line in lines:
            try:
                records.append(json.loads(line))
            except ValueError:  # the line that is being written right now, or was when the process died
                continue
        return records

    def uncancel(self) -> None:
        """Take `cancel` back, before the run is started again."""
        (self.folder / "cancel").unlink(missing_ok=True)

    def cancel(self) -> None:
        """Ask the run to stop at its next step; one that is queued never starts."""
        (self.folder / "cancel").touch()

    @property
    def cancel_asked(self) -> bool:
        """Whether `cancel` was called."""
        return (self.folder / "cancel").exists()

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Write a JSON file so that a reader sees the old one or the new one, never half."""
        write_json(self.folder / name, values)

    def write_status(self, status: Status) -> Status:
        """Write status.json with the time of writing; returns what was written."""
        status = replace(status, updated_at=time.time())
        self.write("status.json", asdict(status))
        return status

    def _read(self, name: str, *, required: bool = False) -> dict[str, Any]:
        try:
            values = json.loads((self.folder / name).read_text("utf-8"))
        except FileNotFoundError:
            if required:
                raise RunError(f"{self.folder} is not a run: it has no {name}") from None
            return {}
        except (OSError, ValueError):
            raise RunError(f"{self.folder / name} can't be read; delete the run's folder") from None
        if not isinstance(values, dict):
            raise RunError(f"{self.folder / name} is damaged; delete the run's folder")
        return values


class Storable(Protocol):
    """The data of a run."""

    def store(self, folder: Path) -> None:
        """Write all of it into an empty folder."""

    def facts(self, config: RunConfig) -> dict[str, Any]:
        """Return hash and counts, the contents of data.json."""


def create_run(folder: Path, config: RunConfig, data: Storable) -> Run:
    """Make a queued run with all that it needs, for `resume` to start.

    Raises:
        RunError: the folder is in use, or can't be written.
    """
    run = Run(folder)
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RunError(f"{folder} is in use; choose another folder with --out, or delete it")
        folder.mkdir(parents=True, exist_ok=True)
        run.write("config.json", config.to_json())
        run.write("data.json", data.facts(config))
        with whole_folder(run.training_folder) as partial:
            data.store(partial)
        run.write_status(Status())  # last: a folder without it is no run
    except OSError as error:
        raise RunError(
            f"can't write {folder}: {error.strerror or error}; choose another folder with --out"
        ) from error
    return run


def open_run(root: Path, name: str) -> Run:
    """Open the run called `name` under `root`.

    Raises:
        RunError: there is none, or the name is not one of a run (it can't leave `root`).
    """
    if not NAME.fullmatch(name):
        raise RunError(f"{name[:80]!r} is not a run's name; use lower-case letters, digits, '.', '_' and '-'")
    run = Run(root / name)
    run.status()
    return run


def list_runs(root: Path) -> list[Run]:
    """Every run under `root`, the newest first; folders that are not runs are passed over."""
    if not root.is_dir():
        return []
    found = []
    for folder in root.iterdir():
        if not NAME.fullmatch(folder.name) or not (folder / "status.json").is_file():
            continue
        try:
            created = (folder / "config.json").stat().st_mtime
        except FileNotFoundError:  # being deleted right now
            continue
        found.append((created, folder.name, Run(folder)))
    return [run for _, _, run in sorted(found, key=lambda item: item[:2], reverse=True)]


def new_run_name(root: Path, method: str, encoder: str) -> str:
    """A free name such as emu-use-3."""
    stem = re.sub(r"[^a-z0-9]+", "-", f"{method}-{encoder}".lower()).strip("-")[:60]
    number = 1
    while (root / f"{stem}-{number}").exists():
        number += 1
    return f"{stem}-{number}"


def _is_alive(pid: int, at: float) -> bool:
    """Whether the process that wrote a status at that time is there still, and not a later one of the same number."""
    if pid <= 0:
        return False
    try:
        return psutil.Process(pid).create_time() <= at + CLOCK_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
