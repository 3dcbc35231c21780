"""A run folder: everything a training run leaves, whole or visibly unfinished."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import psutil
from filelock import FileLock, Timeout

from emu_core.errors import RunError
from emu_core.files import disk_fault, read_json, remove_partial, whole_folder, write_json, write_whole
from emu_core.runs.config import RunConfig, Task

# Windows keeps these names for devices, whatever follows the dot.
NAME = re.compile(r"(?!(?:con|prn|aux|nul|(?:com|lpt)[0-9])(?:\.|\Z))[a-z0-9][a-z0-9._-]{0,79}")
LOCK = ".emu-lock"
_HALF_MADE = {LOCK, "config.json", "data.json", "training"}  # what is written before the first status
_FIGURES = {str: float}
_CHANGE = {"difference": float, "low": float, "high": float, "verdict": str, "queries": int}
_LEAKAGE = dict.fromkeys(("probe", "probe_chance", "neighbours", "neighbours_chance"), float)
_FOUND = dict.fromkeys(("p_at_1", "p_at_3", "p_at_10", "low", "high"), float)
_METRICS = {  # and those that a method alone measures
    "selected_epoch": int,
    "seconds": float,
    "warnings": [str],
    "note": str,
    "split": str,
    "mean_over": str,
    "measured_on": str,
    "mean_base": float,
    "mean_specialised": float,
    "base": _FIGURES,
    "specialised": _FIGURES,
    "counts": {str: int},
    "guard": {str: _CHANGE},
    "leakage": {str: _LEAKAGE | {"sentences": int, "languages": int}},
    "translation": {str: _FOUND | {"candidates": int, "trained": bool}},
    "eigen_similarity": {str: {"mean": float, "variance": float, "standard_error": float}},
}
_DATA = {
    "name": str,
    "sha256": str,
    "rows": int,
    "labelled": int,
    "intents": int,
    "audit": [str],
    "hold_out": float,
}
_REMARKS = {"note": str, "tags": [str]}
REMARKS = "remarks.json"
MOST_NOTE, MOST_TAG, MOST_TAGS = 2_000, 40, 20  # characters of a note and of a tag; tags
TRASH = ".deleted"  # beside the runs; the dot keeps it apart
MOST = 1e11  # no count, number or time of a status is larger; in seconds, the year 5138
BESIDE_STEPS = frozenset(
    {"loading", "encoding", "fitting", "leaving intents out", "measuring the parts", "evaluating", "saving"}
)
"""Phases of a training run that take no training steps."""
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
        phase: what it is doing: training, one of `BESIDE_STEPS`, or a cell of a benchmark.
        step: training steps done, of `steps`.
        steps: training steps in all; 0 until known.
        epoch: the current epoch, from 1, of `epochs`.
        epochs: epochs in all; at most so many where training may end before them.
        done: share of the phase that is done, for one of `BESIDE_STEPS` that counts what it does.
        phase_since: when the phase began, unix seconds.
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
    phase_since: float = 0.0
    training_since: float = 0.0
    started_at: float = 0.0
    updated_at: float = 0.0
    pid: int = 0
    message: str = ""

    @property
    def progress(self) -> float:
        """Share of the training steps done, 0 to 1; beside training, of what the phase counts."""
        if self.state is RunState.FINISHED:
            return 1.0
        if self.phase in BESIDE_STEPS:
            return min(1.0, self.done)
        return min(1.0, self.step / self.steps) if self.steps else self.done

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the phase has done what it counts, at its pace so far; None where there is no pace."""
        if self.state is not RunState.RUNNING:
            return None
        if self.phase in BESIDE_STEPS:
            lasted = self.updated_at - self.phase_since
            return lasted / self.done * (1 - self.done) if 0 < self.done < 1 else None
        if not self.step or not self.steps:
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
        """Return its name: notebooks are handed on, and where a folder was is nobody's business."""
        return f"<run {self.name}>"

    def _repr_html_(self) -> str:
        from emu_core.charts.markup import block, paragraph
        from emu_core.runs.card import html_card

        try:
            status = self.status()
            is_finished = status.state is RunState.FINISHED
            unfinished = f"{status.state.capitalize()}, {100 * status.progress:.0f} % done. {status.message}"
            return html_card(
                self.name, self.config(), self.metrics(), self.history(), "" if is_finished else unfinished
            )
        except RunError as error:  # no run yet, or a damaged folder
            return block([paragraph(str(error), "worse")])

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def encoder_folder(self) -> Path:
        """Where the specialised encoder is, once the run is finished."""
        return self.folder / "encoder"

    @property
    def snapshots_folder(self) -> Path:
        """Where some sentences are, with their vectors after each epoch; absent where none were asked for."""
        return self.folder / "snapshots"

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

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from working in the folder; whoever has locked it may lock it again.

        The operating system takes the lock back when the process dies.

        Raises:
            RunError: another process has it, or the folder can't be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / LOCK, timeout=0, is_singleton=True)
            lock.acquire()
        except Timeout:
            raise RunError(
                f"another process is training in {self.folder}; wait until it is over, or choose another folder with "
                "--out"
            ) from None
        except OSError as error:
            raise cant_write(self.folder, disk_fault(error)) from None
        try:
            yield
        finally:
            lock.release()

    def tidy(self) -> None:
        """Delete the sentences of a training that was killed between its last status and their deletion."""
        over = self.training_folder.is_dir() and self.status().state is RunState.FINISHED
        if over and self.config().task is Task.TRAIN:
            self.delete_training()

    def delete_training(self) -> None:
        """Delete the stored data and the checkpoint."""
        shutil.rmtree(self.training_folder, ignore_errors=True)

    @property
    def note(self) -> str:
        """A person's words about the run; "" for nothing. Raises RunError where remarks.json is damaged."""
        return str(self._read(REMARKS, _REMARKS).get("note", ""))

    @property
    def tags(self) -> tuple[str, ...]:
        """The words that a person filed the run under. Raises RunError where remarks.json is damaged."""
        return tuple(self._read(REMARKS, _REMARKS).get("tags", ()))

    def annotate(self, *, note: str | None = None, tags: Iterable[str] | None = None) -> None:
        """Keep a note or tags in the run's folder; what is None stays as it is.

        Raises:
            RunError: it is no run, the note or a tag is too long, there are too many tags, or the folder can't be
                written.
        """
        self._read("status.json", required=True)
        note = (self.note if note is None else note).strip()
        words = (" ".join(tag.split()) for tag in (self.tags if tags is None else tags))
        kept = [tag for tag in dict.fromkeys(words) if tag]
        if len(note) > MOST_NOTE or len(kept) > MOST_TAGS or any(len(tag) > MOST_TAG for tag in kept):
            raise RunError(
                f"a note has at most {MOST_NOTE:,} characters, and a run {MOST_TAGS} tags of {MOST_TAG}; shorten them"
            )
        try:
            self.write(REMARKS, {"note": note, "tags": kept})
        except OSError as error:
            raise cant_write(self.folder, disk_fault(error)) from None

    def rename(self, name: str) -> "Run":
        """Give a run that is over another name; runs that were trained on top of it are told.

        Returns:
            The run under its new name; this one is gone.

        Raises:
            RunError: no run can have the name, another has it, the run or one on top of it is not over, or a process
                works in its folder.
        """
        check_name(name)
        above = [
            run
            for run in list_runs(self.folder.parent)
            if str(_or_empty(run, "config.json").get("encoder", "")) == f"run:{self.folder}"
        ]
        for run in above:
            if not run.status().state.is_over:
                raise RunError(
                    f"the run '{run.name}' is trained on top of it and is not over; cancel it first"
                )
        new = self._move(self.folder.parent / name)
        for run in above:
            path = run.folder / "config.json"
            written = path.stat()
            run.write("config.json", _or_empty(run, "config.json") | {"encoder": f"run:{new.folder}"})
            os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))  # by which runs are listed
        with suppress(OSError):  # an unfinished run has no card
            card = (new.folder / "README.md").read_text("utf-8")
            card = card.replace(f"# {self.name}\n", f"# {name}\n", 1).replace(
                f'"run:{self.name}"', f'"run:{name}"'
            )
            write_whole(new.folder / "README.md", card)
        return new

    def put_aside(self) -> "Run":
        """Move a run that is over into the trash beside it, from which `put_back` brings it back.

        Returns:
            The run in the trash; `empty_trash` deletes it.

        Raises:
            RunError: it is no run or not over, or a process works in its folder.
        """
        target = self.folder.parent / TRASH / self.name
        shutil.rmtree(target, ignore_errors=True)  # of an earlier run of this name
        return self._move(target)

    def put_back(self) -> "Run":
        """Bring a run back from the trash. Raises RunError where another has its name by now."""
        return self._move(self.folder.parent.parent / self.name)

    def _move(self, target: Path) -> "Run":
        """Move the folder of a run that is over."""
        if not (self.folder / "status.json").is_file():
            raise RunError(f"{self.folder} is not a run: it has no status.json")
        try:
            is_over = self.status().state.is_over
        except RunError:  # damaged
            is_over = True
        if not is_over:
            raise RunError(f"the run '{self.name}' is not over; cancel it first")
        if target.exists():
            raise RunError(f"there is a run '{target.name}' already; choose another name")
        with self.locked():
            pass  # Windows moves no folder with an open file
        try:
            target.parent.mkdir(exist_ok=True)
            self.folder.rename(target)
            os.utime(target)
        except OSError as error:
            raise cant_write(target, disk_fault(error)) from None
        return Run(target)

    def status(self) -> Status:
        """Read status.json; a running run whose process is gone comes back as interrupted.

        Raises:
            RunError: there is no readable status.json.
        """
        values = self._read("status.json", required=True)
        if not _is_status(values):
            raise RunError(f"{self.folder / 'status.json'} is damaged; delete the run's folder")
        status = Status(**values | {"state": RunState(values["state"])})
        if status.state is RunState.RUNNING and not _is_alive(status.pid, status.updated_at):
            return replace(status, state=RunState.INTERRUPTED, message="its process ended before the run did")
        return status

    def config(self) -> RunConfig:
        """Read config.json. Raises RunError where it is missing or damaged."""
        where = self.folder / "config.json"
        return RunConfig.from_json(self._read("config.json", required=True), str(where))

    def data(self) -> dict[str, Any]:
        """Read data.json: hash and counts of the data it was trained on. Raises RunError where it is damaged."""
        return self._read("data.json", _DATA)

    def metrics(self) -> dict[str, Any]:
        """Read metrics.json; empty until the run is finished. Raises RunError where it is damaged."""
        return self._read("metrics.json", _METRICS)

    def history(self) -> list[dict[str, Any]]:
        """The log: one dict a step and one an epoch, so far; lines that are no record are passed over."""
        try:
            text = (self.folder / "log.jsonl").read_text("utf-8", "replace")
        except OSError:
            return []
        return [record for line in text.splitlines() if (record := record_of(line)) is not None]

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

    def _read(
        self, name: str, shapes: Mapping[str, Any] = MappingProxyType({}), *, required: bool = False
    ) -> dict[str, Any]:
        try:
            values = read_json(self.folder / name)
        except FileNotFoundError:
            if not required:
                return {}
            if (self.folder / LOCK).exists():
                raise RunError(
                    f"{self.folder} was left half made; give the command again that made it, or delete it"
                ) from None
            raise RunError(f"{self.folder} is not a run: it has no {name}") from None
        except (OSError, ValueError):
            raise RunError(f"{self.folder / name} can't be read; {_fix(name)}") from None
        if not isinstance(values, dict) or not all(
            _has_shape(values[field], shape) for field, shape in shapes.items() if field in values
        ):
            raise RunError(f"{self.folder / name} is damaged; {_fix(name)}")
        return values


class Storable(Protocol):
    """The data of a run."""

    def store(self, folder: Path) -> None:
        """Write all of it into an empty folder."""

    def facts(self, config: RunConfig) -> dict[str, Any]:
        """Return hash and counts, the contents of data.json."""


def create_run(folder: Path, config: RunConfig, data: Storable) -> Run:
    """Make a queued run with all that it needs, for `resume` to start; what a kill left of making one is replaced.

    Raises:
        RunError: the folder is in use, or can't be written.
    """
    run, in_use = Run(folder), f"{folder} is in use; choose another folder with --out, or delete it"
    try:
        if (folder.exists() and not folder.is_dir()) or ((there := _names(folder)) and LOCK not in there):
            raise RunError(in_use)  # no lock is put into a folder that is none of ours
        with run.locked():
            if not _names(folder) <= _HALF_MADE:
                raise RunError(in_use)
            run.delete_training()
            remove_partial(folder)
            run.write("config.json", config.to_json())
            run.write("data.json", data.facts(config))
            with whole_folder(run.training_folder) as partial:
                data.store(partial)
            run.write_status(Status())  # last: a folder without it is no run
    except OSError as error:
        raise cant_write(folder, disk_fault(error)) from error
    return run


def cant_write(folder: Path, why: str) -> RunError:
    """Return the error of a folder that can't be written, with the operating system's reason."""
    return RunError(f"can't write {folder}: {why}; make room there, or choose another folder with --out")


def _names(folder: Path) -> set[str]:
    """Return what is in a folder, but for what killed writers left."""
    return {path.name for path in folder.glob("*") if not path.name.endswith(".part")}


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
        except OSError:  # being deleted right now, or no file
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


def record_of(line: str) -> dict[str, Any] | None:
    """Return the record in a line of the log.

    None where it is none, such as the line that is being written right now, or was when the process died.
    """
    try:
        record = json.loads(line)
        step, epoch = record["step"], record["epoch"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    figures = [record.get(name, 0.0) for name in ("seconds", "loss", "dev_accuracy")]
    sound = (
        record.get("kind") in ("step", "epoch")
        and all(isinstance(one, int) for one in (step, epoch))
        and all(isinstance(one, float | int) for one in figures)
        and all(isinstance(one, float | int | str) for one in record.values())
    )
    return record if sound else None


def _fix(name: str) -> str:
    """Return what to do about a damaged file of a run."""
    return "delete it" if name == REMARKS else "delete the run's folder"


def check_name(name: str) -> None:
    """Raise RunError unless a run can have the name."""
    if not NAME.fullmatch(name):
        raise RunError(f"{name[:80]!r} can't name a run; use lower-case letters, digits, '.', '_' and '-'")


def in_trash(root: Path) -> list[Run]:
    """Return the runs under `root` that were put aside, the latest first."""
    folders = [path for path in (root / TRASH).glob("*") if NAME.fullmatch(path.name) and path.is_dir()]
    return [Run(path) for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)]


def empty_trash(root: Path, kept_s: float = 0.0) -> None:
    """Delete for good what was put aside under `root`, but for what was so in the last `kept_s` seconds."""
    for folder in (root / TRASH).glob("*"):
        if time.time() - folder.stat().st_mtime >= kept_s:
            shutil.rmtree(folder, ignore_errors=True)


def _or_empty(run: Run, name: str) -> dict[str, Any]:
    """Return what is in a JSON file of a run; nothing where it is damaged."""
    try:
        return run._read(name)
    except RunError:
        return {}


def _has_shape(value: object, shape: Any) -> bool:
    """Whether parsed JSON is of a type, a list of a shape, or an object with these fields or with any.

    A missing measurement is null or an empty object.
    """
    if isinstance(shape, list):
        return isinstance(value, list) and all(_has_shape(one, shape[0]) for one in value)
    if not isinstance(shape, dict):
        return isinstance(value, int | float if shape is float else shape)
    if value is None or value == {}:
        return True
    if not isinstance(value, dict):
        return False
    if str in shape:
        return all(_has_shape(one, shape[str]) for one in value.values())
    return all(name in value and _has_shape(value[name], kind) for name, kind in shape.items())


def _is_status(values: Mapping[str, Any]) -> bool:
    """Whether values have the names, types and sizes of a status."""
    usual = asdict(Status())

    def fits(name: str, value: object) -> bool:
        if name not in usual or isinstance(usual[name], str):
            return name in usual and isinstance(value, str)
        whole_or_not = int if isinstance(usual[name], int) else int | float
        return isinstance(value, whole_or_not) and 0 <= value <= MOST  # which no NaN is

    return values.get("state") in tuple(RunState) and all(fits(name, one) for name, one in values.items())


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
