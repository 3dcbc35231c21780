"""The cells of a benchmark run one after another, each in a process of its own, going on after a kill."""

import hashlib
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from emu_core.bench.cells import Cell
from emu_core.bench.results import CellResult, read_cell, write_cell
from emu_core.charts.marks import View
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.pairs import Pair
from emu_core.errors import CancelledError, DataError, EmuError, RunError
from emu_core.runs.config import RunConfig
from emu_core.runs.costs import Clock, Took, gpu_megabytes, peak_memory
from emu_core.runs.run import Run, Storable

if TYPE_CHECKING:
    from emu_core.encoders.base import Encoder

POLL_S = 0.2  # how soon a cell that runs hears that it is cancelled
LAST_WORDS = 300  # characters of a process that died
# What may not differ between the cells of a folder, of the configuration, the settings and the data's facts.
FIXED = {
    "encoder": "the encoder",
    "device": "the device",
    "sha256": "the data",
    "translations_sha256": "the machine translations",
    "pairs": "the language pairs",
    "epochs": "the number of epochs",
    "quick": "whether they are quick ones",
}
Draw = Callable[[], Mapping[str, View]]


# Measured with `use` on two busy CPU cores: 33 to 130 s for five epochs over 701 sentences, 6 to 9 s beside training.
PASS_S, BESIDE_S = 0.03, 8.0


@dataclass(frozen=True)
class Outlook:
    """A benchmark before it is run.

    Attributes:
        cells: how many there are.
        training: how many of them train the encoder on labelled sentences.
        passes: how many sentences these encode with gradients, counting each as often as it comes.
        note: how the sentences to train on and those to measure are told apart.
        missing: what can't be measured with this data, or on this machine, a sentence each.
    """

    cells: int
    training: int = 0
    passes: int = 0
    note: str = ""
    missing: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """About how long it takes with `use` on two CPU cores."""
        return self.passes * PASS_S + self.cells * BESIDE_S


def fixed_of(config: RunConfig, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `FIXED`, from a benchmark's configuration and the facts of its data."""
    there = {**vars(config), **config.hyperparameters, **facts}
    return {name: there.get(name) for name in FIXED}


@dataclass(frozen=True, eq=False)
class Experiment(ABC):
    """A paper's experiments on a user's data: its cells, how each is measured, and the report.

    Attributes:
        config: the configuration of the run.
        data: as it was stored.
        folder: of the run.
        settings_class: the class of its settings.
        first: what the first cell is, without which none can be measured.
        data_class: the class of the data.
        gather: returns a user's data as they are stored, and the fields of the configuration that they decide, from
            the data as a user names them, the settings, and options of its own.
    """

    config: RunConfig
    data: Any
    folder: Path
    settings_class: ClassVar[Any]
    first: ClassVar[str]
    data_class: ClassVar[Any]
    gather: ClassVar[Callable[..., tuple[Storable, dict[str, Any]]]]

    @classmethod
    def load_data(cls, folder: Path, name: str) -> Any:
        """Read what `data.store` wrote; the name is for people. Raises RunError where it is damaged."""
        try:
            return cls.data_class.load(folder, name)
        except (OSError, ValueError, KeyError, TypeError, IndexError, DataError):
            raise RunError(f"the data stored in {folder} is damaged; run the benchmark again") from None

    @classmethod
    def open(cls, run: Run) -> Self:
        """Return the experiment in a run's folder. Raises RunError where it is damaged."""
        config = run.config()
        return cls(config, cls.load_data(run.training_folder, config.data), run.folder)

    @cached_property
    def settings(self) -> Any:
        """The settings of the benchmark, of the paper's own class."""
        return self.settings_class.from_json(self.config.hyperparameters)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The language pairs; of a figure or an ablation that is of one, the first."""
        return self.config.pairs

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the cells."""
        return tuple(self.settings.seeds)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts of the data, as in data.json."""
        return dict(self.data.facts(self.config))

    @abstractmethod
    def cells(self) -> tuple[Cell, ...]:
        """Return every cell, each once, the first being the one without which none can be measured."""

    def outlook(self) -> Outlook:
        """Return what running it would be.

        Raises:
            EmuError: the data does not do.
        """
        return Outlook(len(self.cells()))

    @abstractmethod
    def hyperparameters(self, cell: Cell) -> dict[str, Any]:
        """Return the settings that a cell is trained with."""

    @abstractmethod
    def measure(self, cell: Cell, folder: Path) -> tuple[CellResult, Draw | None]:
        """Train and measure a cell, in an empty folder that is deleted afterwards.

        Returns:
            What was measured, and what draws the views of its pictures afterwards; None where none shows it.

        Raises:
            EmuError: what can't be trained or measured, with how to fix it.
        """

    def train(
        self, labelled: LabelledSet, cell: Cell, folder: Path, **options: Any
    ) -> "tuple[Encoder, Took, dict[str, Any]]":
        """Train a method of this library in an empty folder, as any user would; the options are those of `train`.

        Returns:
            The trained encoder, how long that took, and facts that a reader should see.
        """
        import torch._dynamo  # noqa: F401 - by the first optimiser, and by packages of peers before their clocks start

        from emu_core.api.train import train
        from emu_core.encoders.registry import load_encoder

        clock, config = Clock(), self.config
        run = train(
            labelled,
            out=folder / "run",
            encoder=config.encoder,
            seed=cell.seed,
            device=config.device,
            checkpoint_s=1e9,  # a cell that is killed is begun again
            on_progress=clock,
            **options,
        )
        warnings = run.metrics()["warnings"]
        trained = load_encoder(f"run:{run.folder}", device=config.device)
        return trained, clock.took, {"warnings": warnings} if warnings else {}

    def fingerprint(self, cell: Cell) -> str:
        """Return a checksum of everything that decides the figures of a cell."""
        fixed = fixed_of(self.config, self.facts)
        deciding = [self.config.method, fixed, asdict(cell), self.hyperparameters(cell)]
        return hashlib.sha256(json.dumps(deciding, sort_keys=True, default=str).encode()).hexdigest()

    def file_of(self, cell: Cell) -> Path:
        """Return the file of a finished cell."""
        return self.folder / "cells" / f"{cell.key}.parquet"

    def read(self, cell: Cell) -> CellResult | None:
        """Return a finished cell; None where it is still to be measured.

        Raises:
            RunError: its file was made with other settings, or is damaged.
        """
        path = self.file_of(cell)
        if not path.exists():
            return None
        result, facts = read_cell(path)
        if facts.get("fingerprint") != self.fingerprint(cell):
            raise RunError(
                f"{path} was made with other settings than these; choose another folder with --out, or delete the file"
            )
        return result

    def write(self, cell: Cell, result: CellResult) -> None:
        """Write a finished cell."""
        path = self.file_of(cell)
        path.parent.mkdir(exist_ok=True)
        facts = {
            "cell": {"key": cell.key, **asdict(cell)},
            "fingerprint": self.fingerprint(cell),
            "hyperparameters": self.hyperparameters(cell),
        }
        write_cell(path, result, facts)


def measure_cell(experiment: Experiment, cell: Cell) -> CellResult:
    """Train and measure a cell in this process, with its costs.

    Raises:
        EmuError: what can't be trained or measured, with how to fix it.
    """
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        with peak_memory() as megabytes:
            result, draw = experiment.measure(cell, Path(folder))
            seconds_whole, peak = time.perf_counter() - start, megabytes()
        return replace(
            result,
            seconds_whole=round(seconds_whole, 3),
            peak_mb=round(peak, 1),
            gpu_mb=gpu_megabytes(),
            views=draw() if draw else {},
        )


def in_process(experiment: Experiment, cell: Cell) -> CellResult:
    """Measure a cell in a new process: its memory is then given back, and a crash ends it alone.

    Raises:
        CancelledError: the run was asked to stop; the process is then ended.
    """
    run = Run(experiment.folder)
    with tempfile.NamedTemporaryFile() as said:
        before = multiprocessing.active_children()
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context, _begin, (said.name,)) as pool:
            with _without_main():
                future = pool.submit(_measure, type(experiment), experiment.folder, cell)
            own = [process for process in multiprocessing.active_children() if process not in before]
            try:
                while not wait([future], POLL_S).done:
                    if run.cancel_asked:
                        raise CancelledError("cancelled before the end")
                return future.result()
            except BrokenExecutor:
                pass  # a process died: its code is known once the pool, which waits for it, is closed
            except BaseException:
                for process in own:  # the pool would wait for the end of the cell
                    process.kill()
                raise
        code = own[0].exitcode if own else None
        words = said.read().decode("utf-8", "replace").strip().splitlines()
    last = words[-1][:LAST_WORDS] if words else "it printed nothing"
    return CellResult(error=f"its process ended with code {code}: {last}")


@contextmanager
def _without_main() -> Iterator[None]:
    """Let a new process not run the script again that this one runs, which need not be written for that."""
    main = sys.modules["__main__"]
    names: tuple[str, ...] = ("__file__", "__spec__")
    there = {name: vars(main)[name] for name in names if name in vars(main)}
    vars(main).pop("__file__", None)
    vars(main)["__spec__"] = None
    try:
        yield
    finally:
        vars(main).update(there)


def _begin(said: str) -> None:
    """Write what the process says to a file, and end it at once where its parent ends, however that went."""
    output = os.open(said, os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(3)


def _measure(kind: type[Experiment], folder: Path, cell: Cell) -> CellResult:
    try:
        return measure_cell(kind.open(Run(folder)), cell)
    except EmuError as error:
        return CellResult(error=str(error))
    except Exception as error:  # a bug in a cell ends that cell alone, and its report says so
        return CellResult(error=f"{type(error).__name__}: {error}")
