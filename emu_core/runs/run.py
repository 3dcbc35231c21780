"""The folder of a run: everything that training leaves, complete or visibly unfinished."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, overload

import msgspec
import psutil
from filelock import FileLock, Timeout

from emu_core.devices import Precision, with_precision
from emu_core.encoders.specs import RUN_SPEC, joined_spec, parts_of
from emu_core.errors import Fix, Message, RunError
from emu_core.files import disk_fault, read_json, remove_partial, whole_folder, write_json, write_whole
from emu_core.runs.checked import exactly
from emu_core.runs.config import Plan, RunConfig, RunTask
from emu_core.runs.data_facts import DataFacts, facts_of
from emu_core.runs.log import LOG_FILE, Record, read_log

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from emu_core.evaluation.run_metrics import Metrics

_T = TypeVar("_T")
FactsT = TypeVar("FactsT", bound=DataFacts)
# Windows reserves these names for devices, whatever follows the dot.
RUN_NAME = re.compile(r"(?!(?:con|prn|aux|nul|(?:com|lpt)[0-9])(?:\.|\Z))[a-z0-9][a-z0-9._-]{0,79}")
LOCK = ".emu-lock"
_PARTS, _TEACHER = "parts", "teacher"  # folders of the runs in a run
_HALF_MADE = {
    LOCK,
    "config.json",
    "data.json",
    "training",
    _PARTS,
    _TEACHER,
}  # written before the first status
REMARKS = "remarks.json"
MOST_NOTE, MOST_TAG, MOST_TAGS = 2_000, 40, 20  # characters of a note and of a tag; tags of a run
RUNS = Path("runs")  # where runs are made for which no folder is named
TRASH = ".deleted"  # in the folder of the runs; no run can have this name
MAX_STATUS_NUMBER = 10**11  # as a time in seconds, the year 5138
BESIDE_STEPS = frozenset(
    {"loading", "encoding", "fitting", "leaving intents out", "measuring the parts", "evaluating", "saving"}
)
"""Phases of a training run without training steps."""
CLOCK_S = 2.0  # by which two clocks of one machine may differ


class RunState(StrEnum):
    """The state of a run. INTERRUPTED is never written: it stands for a running run whose process has ended."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        """Whether the run is neither queued nor running."""
        return self not in (RunState.QUEUED, RunState.RUNNING)


_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_STATUS_NUMBER)]
_Number = Annotated[float, msgspec.Meta(ge=0, le=MAX_STATUS_NUMBER)]


@dataclass(frozen=True)
class Status:
    """The progress of a run: the contents of status.json.

    Attributes:
        state: see `RunState`.
        phase: training, one of `BESIDE_STEPS`, or a cell of a benchmark.
        step: training steps done, of `steps`.
        steps: the number of training steps; 0 until it is known.
        epoch: the current epoch, from 1, of `epochs`.
        epochs: the number of epochs; the largest possible where training may stop early.
        done: share of the phase that is done, for one of `BESIDE_STEPS` that can be counted.
        phase_since: when the phase began, unix seconds.
        training_since: when the first step began, unix seconds; 0 before.
        started_at: unix seconds; 0 while queued.
        updated_at: unix seconds.
        sentences_per_s: how many sentences a second the phase encodes or trains on; 0 where that is unknown.
        pid: the training process.
        message: why the run failed, or another message for its user.
        part: which part of a joined encoder is trained, such as "use (1 of 2)"; "" outside of that. Steps and epochs
            are those of the part.
        records: steps and epochs with their losses and figures, for a listener: those since it was last called. They
            are in the log, and not in the file.
    """

    state: RunState = RunState.QUEUED
    phase: str = ""
    step: _Count = 0
    steps: _Count = 0
    epoch: _Count = 0
    epochs: _Count = 0
    done: _Number = 0.0
    phase_since: _Number = 0.0
    training_since: _Number = 0.0
    started_at: _Number = 0.0
    updated_at: _Number = 0.0
    sentences_per_s: _Number = 0.0
    pid: _Count = 0
    message: Message = field(default_factory=Message)
    part: str = ""
    records: tuple[Record, ...] = ()

    @property
    def progress(self) -> float:
        """Share of the training steps done, 0 to 1; in other phases, the share of the phase."""
        if self.state is RunState.FINISHED:
            return 1.0
        if self.phase in BESIDE_STEPS:
            return min(1.0, self.done)
        return min(1.0, self.step / self.steps) if self.steps else self.done

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the phase ends at its pace so far; None where the pace is unknown."""
        if self.state is not RunState.RUNNING:
            return None
        if self.phase in BESIDE_STEPS:
            lasted = self.updated_at - self.phase_since
            return lasted / self.done * (1 - self.done) if 0 < self.done < 1 else None
        if not self.step or not self.steps:
            return None
        return (self.updated_at - self.training_since) / self.step * (self.steps - self.step)


@dataclass(frozen=True)
class Remarks:
    """A user's remarks on a run: the contents of remarks.json."""

    note: str = ""
    tags: tuple[str, ...] = ()


class Run:
    """The folder of a run, which can be read at any time while the run writes it.

    Attributes:
        name: the folder's name.
        encoder_folder: the folder of the specialised encoder, once the run is finished.
        snapshots_folder: the folder of some sentences and their vectors after each epoch; absent if not requested.
        training_folder: the folder of an unfinished run's data and checkpoint; deleted when it finishes.
        checkpoint: the file of the last checkpoint; absent before the first.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.name = self.folder.name
        self.encoder_folder = self.folder / "encoder"
        self.snapshots_folder = self.folder / "snapshots"
        self.training_folder = self.folder / "training"
        self.checkpoint = self.training_folder / "checkpoint.pt"

    def __fspath__(self) -> str:
        """Return the path of the folder, so that a run can be given wherever its folder can."""
        return str(self.folder)

    def __repr__(self) -> str:
        """Return the name without the path, which notebooks that are handed on would disclose."""
        return f"<run {self.name}>"

    def _repr_html_(self) -> str:
        """Return the verdict on the run and its curves, for the last line of a notebook's cell."""
        from emu_core.reports.cells import message_cell, run_cell

        try:
            return run_cell(self)
        except RunError as error:  # no run yet, or a damaged folder
            return message_cell(str(error))

    @property
    def can_resume(self) -> bool:
        """Whether the run is queued or stopped before its end, and its data is still in its folder."""
        state = self.status().state
        return state not in (RunState.RUNNING, RunState.FINISHED) and self.has_stored_data

    @property
    def has_stored_data(self) -> bool:
        """Whether the data that the run works on is in its folder."""
        return self.training_folder.is_dir()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other processes; the process that holds the lock may take it again.

        The operating system releases the lock when the process dies.

        Raises:
            RunError: another process holds the lock, or the folder can't be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.folder / LOCK, timeout=0, is_singleton=True)
            lock.acquire()
        except Timeout:
            raise RunError(
                f"another process is training in {self.folder}; wait until it has ended, or choose another folder (",
                Fix("out"),
                ")",
            ) from None
        except OSError as error:
            raise cant_write(self.folder, disk_fault(error)) from None
        try:
            yield
        finally:
            lock.release()

    def part(self, number: int) -> "Run":
        """Return the run in the folder whose encoder is joined with others, by its number from 0."""
        return Run(self.folder / _PARTS / str(number))

    @property
    def teacher(self) -> "Run":
        """The run in the folder whose encoder this one learns from."""
        return Run(self.folder / _TEACHER)

    def _inside(self) -> "list[Run]":
        """Return all runs in the folder, those of its teacher, too."""
        patterns = (f"{_PARTS}/*", _TEACHER, f"{_TEACHER}/{_PARTS}/*")
        return [Run(folder) for pattern in patterns for folder in self.folder.glob(pattern)]

    def tidy(self) -> None:
        """Delete the stored sentences of a run that was killed after its last status and before their deletion."""
        over = self.training_folder.is_dir() and self.status().state is RunState.FINISHED
        if over and self.config().task is RunTask.TRAIN:
            self.delete_training()

    def delete_training(self) -> None:
        """Delete the stored data and the checkpoint, and the encoders of the runs in the folder."""
        for run in self._inside():
            shutil.rmtree(run.encoder_folder, ignore_errors=True)
            shutil.rmtree(run.training_folder, ignore_errors=True)
        shutil.rmtree(self.training_folder, ignore_errors=True)

    @property
    def note(self) -> str:
        """The user's note about the run; "" for none. Raises RunError where remarks.json is damaged."""
        return self._remarks().note

    @property
    def tags(self) -> tuple[str, ...]:
        """The user's tags of the run. Raises RunError where remarks.json is damaged."""
        return self._remarks().tags

    def _remarks(self) -> Remarks:
        return self._read(REMARKS, partial(exactly, kind=Remarks), Remarks())

    def annotate(self, *, note: str | None = None, tags: Iterable[str] | None = None) -> None:
        """Store a note or tags in the run's folder; None leaves them unchanged.

        Raises:
            RunError: the folder is not a run's, the note or a tag is too long, there are too many tags, or the folder
                can't be written.
        """
        self.status()
        note = (self.note if note is None else note).strip()
        words = (" ".join(tag.split()) for tag in (self.tags if tags is None else tags))
        kept = [tag for tag in dict.fromkeys(words) if tag]
        if len(note) > MOST_NOTE or len(kept) > MOST_TAGS or any(len(tag) > MOST_TAG for tag in kept):
            raise RunError(
                f"a note has at most {MOST_NOTE:,} characters, and a run {MOST_TAGS} tags of {MOST_TAG}; shorten them"
            )
        try:
            self.write(REMARKS, asdict(Remarks(note, tuple(kept))))
        except OSError as error:
            raise cant_write(self.folder, disk_fault(error)) from None

    def rename(self, name: str) -> "Run":
        """Rename a run that is over, also in the runs that were trained from it; return it under its new name.

        Raises:
            RunError: the name is invalid or taken, the run or one that is trained from it is not over, or a process
                works in its folder.
        """
        check_name(name)
        above, old_spec = [], f"{RUN_SPEC}{self.folder}"
        for run in list_runs(self.folder.parent):
            try:
                plan = run.plan()
            except RunError:  # damaged
                continue
            renamed = _with_renamed(plan, old_spec, f"{RUN_SPEC}{self.folder.parent / name}")
            if renamed == plan:
                continue
            if not run.status().state.is_over:
                raise RunError(f"the run '{run.name}' is trained from it and is not over; cancel it first")
            above.append((run, renamed))
        new = self._move(self.folder.parent / name)
        for run, plan in above:
            path = run.folder / "config.json"
            written = path.stat()
            run.write_plan(plan)
            os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))  # runs are listed by it
        with suppress(OSError):  # an unfinished run has no card
            card = (new.folder / "README.md").read_text("utf-8")
            card = re.sub(
                rf"^- name: '?{re.escape(self.name)}'?$", f"- name: '{name}'", card, count=1, flags=re.M
            )
            card = card.replace(f"# {self.name}\n", f"# {name}\n", 1).replace(
                f'"run:{self.name}"', f'"run:{name}"'
            )
            write_whole(new.folder / "README.md", card)
        return new

    def put_aside(self) -> "Run":
        """Move a run that is over into the trash beside it, and return it; see `put_back` and `empty_trash`.

        Raises:
            RunError: it is no run or not over, or a process works in its folder.
        """
        target = self.folder.parent / TRASH / self.name
        shutil.rmtree(target, ignore_errors=True)  # an earlier run of this name may be there
        return self._move(target)

    def put_back(self) -> "Run":
        """Restore a run from the trash. Raises RunError where another run has taken its name."""
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
        """Read status.json; a running run whose process has ended is returned as interrupted.

        Raises:
            RunError: there is no readable status.json.
        """
        read_status = partial(exactly, kind=Status, readers={"message": Message.from_json})
        status = self._read("status.json", read_status)
        if status.state is RunState.RUNNING and not _is_alive(status.pid, status.updated_at):
            return replace(
                status, state=RunState.INTERRUPTED, message=Message("its process ended before the run did")
            )
        return status

    def config(self) -> RunConfig:
        """Read config.json. Raises RunError if it is missing, damaged or of another format."""
        return self._read("config.json", partial(RunConfig.from_json, folder=self.folder))

    def plan(self) -> Plan:
        """Read config.json, and those of the runs in the folder. Raises RunError as `config`."""
        parts = takewhile(lambda run: run.folder.is_dir(), map(self.part, count()))
        return Plan(
            **vars(self.config()),
            parts=tuple(part.plan() for part in parts),
            teacher=self.teacher.plan() if self.teacher.folder.is_dir() else None,
        )

    def write_plan(self, plan: RunConfig) -> None:
        """Write config.json, and those of the runs in the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write("config.json", plan.to_json())
        if isinstance(plan, Plan):
            for number, part in enumerate(plan.parts):
                self.part(number).write_plan(part)
            if plan.teacher is not None:
                self.teacher.write_plan(plan.teacher)

    @overload
    def data(self) -> DataFacts: ...

    @overload
    def data(self, kind: type[FactsT]) -> FactsT: ...

    def data(self, kind: type[DataFacts] | None = None) -> DataFacts:
        """Read data.json: hash and counts of the data, as the facts of its own kind, or as a kind that is asked for.

        Raises:
            RunError: it is damaged.
        """
        parse = facts_of if kind is None else partial(msgspec.convert, type=kind)
        return self._read("data.json", parse, (kind or DataFacts)())

    def metrics(self) -> "Metrics":
        """Read metrics.json; nothing is measured until the run is finished. Raises RunError if it is damaged."""
        from emu_core.evaluation.run_metrics import Metrics

        return self._read("metrics.json", Metrics.from_json, Metrics())

    def to_sentence_transformers(self, device: str = "cpu") -> "SentenceTransformer":
        """Open the specialised encoder as a live `SentenceTransformer`, as an export of it would open.

        Args:
            device: for its weights, such as "cpu" or "cuda:0".

        Raises:
            RunError: the run is not finished, and so has no encoder yet.
            EncoderError: the encoder's files are damaged.
        """
        self.check_finished("open")

        from emu_core.encoders.registry import load_encoder
        from emu_core.encoders.sentence_transformers_module import to_sentence_transformers

        spec = f"{RUN_SPEC}{self.folder}"
        return to_sentence_transformers(load_encoder(spec, device=with_precision(device, Precision.FP32)))

    def check_finished(self, purpose: str) -> None:
        """Raise a RunError if the run is not finished, and so has no encoder yet to serve a purpose, such as "open"."""
        if (state := self.status().state) is RunState.FINISHED:
            return
        unfinished = f"{self.folder} is {state}; only a finished run has an encoder to {purpose}"
        raise RunError(f"{unfinished}; resume it" if self.can_resume else unfinished)

    def predict(
        self,
        texts: Sequence[str],
        *,
        languages: str | Sequence[str] = (),
        adapt: bool = False,
        device: str = "auto",
    ) -> list[str]:
        """Return the intent of each sentence by the run's own intent model, or `NO_INTENT` for one of no known intent.

        `IntentClassifier.from_run` also explains its answers, stays adapted to languages, and keeps the encoder open.

        Args:
            texts: N sentences.
            languages: the language of all, or of each, "" for an unknown one.
            adapt: let the sentences also decide, of each language 30 or more, and calibrate it; see
                `IntentClassifier.adapt`. Languages that are not stated are detected. The answer to a sentence then
                depends on the others.
            device: where to encode, such as "cpu".

        Raises:
            InputError: these are no sentences, or a language is none.
            RunError: the run has no intent model, or is not finished.
            EncoderError: the encoder's files are damaged.

        Examples:
            >>> import emu_core
            >>> texts = ["Where is the pool?", "Can I swim here?", "Call me a taxi", "I need a cab"]
            >>> labelled, english = (texts, ["pool", "pool", "taxi", "taxi"]), emu_core.Reading(language="en")
            >>> run = emu_core.train(labelled, out="runs/asked", reading=english)
            >>> run.predict(["Wo ist der Pool?", "12345"])
            ['pool', 'no known intent']
        """
        from emu_core.data.detection import detected_or_stated
        from emu_core.data.held_texts import spoken_codes, texts_of
        from emu_core.encoders.registry import load_encoder
        from emu_core.intents.answers import NO_INTENT
        from emu_core.intents.names import have_letters
        from emu_core.intents.unlabelled import adapted_to
        from emu_core.runs.intents import load_intents

        self.check_finished("open")
        texts = texts_of(texts)
        model, spoken = load_intents(self).model, spoken_codes(languages, len(texts))
        if not texts:
            return []
        encoder = load_encoder(
            f"{RUN_SPEC}{self.folder}", device=self.config().device_of_intents(device)
        ).without_head
        vectors = encoder.encode(texts)
        if adapt:
            spoken, _ = detected_or_stated(texts, spoken, encoder.read_languages)
            model = adapted_to(model, texts, spoken, lambda rows: vectors[rows])
        answers = model.predict(vectors, 1, spoken)
        is_known = answers.is_known & have_letters(texts)
        return [
            model.intents_[label] if known else NO_INTENT
            for label, known in zip(answers.labels.tolist(), is_known.tolist(), strict=True)
        ]

    def history(self) -> list[Record]:
        """Return the log so far: a record for each step and each epoch; other lines are skipped."""
        return read_log(self.folder / LOG_FILE)

    def uncancel(self) -> None:
        """Undo `cancel` before the run is started again."""
        (self.folder / "cancel").unlink(missing_ok=True)

    def cancel(self) -> None:
        """Ask the run to stop at its next step; a queued run then never starts."""
        (self.folder / "cancel").touch()

    @property
    def cancel_asked(self) -> bool:
        """Whether `cancel` was called."""
        return (self.folder / "cancel").exists()

    def write(self, name: str, values: Mapping[str, Any]) -> None:
        """Write a JSON file atomically."""
        write_json(self.folder / name, values)

    def write_status(self, status: Status) -> Status:
        """Write status.json with the current time, and return the status written."""
        status = replace(status, updated_at=time.time())
        values = asdict(replace(status, records=())) | {"message": status.message.to_json()}
        del values["records"]
        self.write("status.json", values)
        return status

    def _read(self, name: str, parse: Callable[[dict[str, object]], _T], default: _T | None = None) -> _T:
        """Read a JSON file; `default` stands for one that is missing.

        Raises:
            RunError: it is missing without a default, can't be read, or `parse` raises a ValidationError.
        """
        fix = "delete it" if name == REMARKS else "delete the run's folder"
        try:
            values = read_json(self.folder / name)
            return parse(msgspec.convert(values, dict[str, object]))
        except FileNotFoundError:
            if default is not None:
                return default
            if (self.folder / LOCK).exists():
                raise RunError(
                    f"{self.folder} was left half made; run the command that made it again, or delete it"
                ) from None
            raise RunError(f"{self.folder} is not a run: it has no {name}") from None
        except NotADirectoryError:
            raise RunError(f"{self.folder} is not a run: it is a file, not a folder") from None
        except msgspec.ValidationError:
            raise RunError(f"{self.folder / name} is damaged; {fix}") from None
        except (OSError, ValueError):
            raise RunError(f"{self.folder / name} can't be read; {fix}") from None


def _with_renamed(plan: Plan, old: str, new: str) -> Plan:
    """Return a plan in which an encoder has another spec, wherever it is named."""

    def in_spec(value: Any) -> Any:
        return (
            joined_spec(new if part == old else part for part in parts_of(value))
            if isinstance(value, str)
            else value
        )

    return replace(
        plan,
        encoder=in_spec(plan.encoder),
        hyperparameters={setting: in_spec(value) for setting, value in plan.hyperparameters.items()},
        parts=tuple(_with_renamed(part, old, new) for part in plan.parts),
        teacher=None if plan.teacher is None else _with_renamed(plan.teacher, old, new),
    )


class Storable(Protocol):
    """Data that a run can store."""

    def store(self, folder: Path) -> None:
        """Write all data into an empty folder."""

    def facts(self, config: RunConfig) -> DataFacts:
        """Return hash and counts, the contents of data.json."""


def create_run(folder: Path, config: RunConfig, data: Storable) -> Run:
    """Create a queued run with its data, for `resume` to start; remains of a killed attempt are replaced.

    Raises:
        RunError: the folder is in use, or can't be written.
    """
    run, in_use = (
        Run(folder),
        Message(f"{folder} is in use; choose another folder (", Fix("out"), "), or delete it"),
    )
    try:
        if (folder.exists() and not folder.is_dir()) or ((names := _names(folder)) and LOCK not in names):
            raise RunError(in_use)  # a folder that is no run's gets no lock file
        with run.locked():
            if not _names(folder) <= _HALF_MADE:
                raise RunError(in_use)
            for name in (run.training_folder.name, _PARTS, _TEACHER):
                shutil.rmtree(folder / name, ignore_errors=True)
            remove_partial(folder)
            run.write_plan(config)
            run.write("data.json", asdict(data.facts(config)))
            with whole_folder(run.training_folder) as partial:
                data.store(partial)
            for inner in (*run._inside(), run):  # the run last: a folder without a status is no run
                inner.write_status(Status())
    except OSError as error:
        raise cant_write(folder, disk_fault(error)) from error
    return run


def cant_write(folder: Path, why: str) -> RunError:
    """Return the error for a folder that can't be written, with the operating system's reason."""
    return RunError(
        f"can't write {folder}: {why}; make room there, or choose another folder (", Fix("out"), ")"
    )


def _names(folder: Path) -> set[str]:
    """Return the names in a folder, without the partial files of killed writers."""
    return {path.name for path in folder.glob("*") if not path.name.endswith(".part")}


def list_runs(root: Path) -> list[Run]:
    """Return the runs under `root`, the newest first."""
    runs = []
    for folder in root.glob("*"):
        if RUN_NAME.fullmatch(folder.name) and (folder / "status.json").is_file():
            with suppress(OSError):  # being deleted right now, or no file
                runs.append(((folder / "config.json").stat().st_mtime, folder.name))
    return [Run(root / name) for _, name in sorted(runs, reverse=True)]


def new_run_name(root: Path, method: str, encoder: str) -> str:
    """Return a free name such as emu-use-3."""
    stem = re.sub(r"[^a-z0-9]+", "-", f"{method}-{encoder}".lower()).strip("-")[:60]
    names = (f"{stem}-{number}" for number in count(1))
    return next(name for name in names if not (root / name).exists())


def new_run_folder(method: str, what: str) -> Path:
    """Return a free folder in `RUNS`; `what` is the encoder, or the languages of one trained from scratch."""
    return RUNS / new_run_name(RUNS, method, what)


def check_name(name: str) -> None:
    """Raise a RunError unless a run can have the name."""
    if not RUN_NAME.fullmatch(name):
        raise RunError(f"{name[:80]!r} can't name a run; use lower-case letters, digits, '.', '_' and '-'")


def in_trash(root: Path) -> list[Run]:
    """Return the runs in the trash of `root`, the latest first."""
    folders = [path for path in (root / TRASH).glob("*") if RUN_NAME.fullmatch(path.name) and path.is_dir()]
    return [Run(path) for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)]


def empty_trash(root: Path, kept_s: float = 0.0) -> None:
    """Delete the runs in the trash of `root`, except those moved there in the last `kept_s` seconds."""
    for folder in (root / TRASH).glob("*"):
        if time.time() - folder.stat().st_mtime >= kept_s:
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int, at: float) -> bool:
    """Return whether the process that wrote a status at that time still runs: no later one with the same number."""
    if pid <= 0:
        return False
    try:
        return psutil.Process(pid).create_time() <= at + CLOCK_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
