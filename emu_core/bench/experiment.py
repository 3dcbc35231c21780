"""The cells of a benchmark, each run in a process of its own, so that a killed benchmark can be resumed."""

import hashlib
import json
import multiprocessing
import os
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

from emu_core.bench.results import Cell, CellResult, read_cell, write_cell
from emu_core.data.language_pairs import LanguagePair
from emu_core.data.sets import LabelledSet
from emu_core.devices import RunPrecision
from emu_core.errors import CancelledError, DataError, EmuError, Fix, RunError, in_words
from emu_core.runs.config import RunConfig
from emu_core.runs.costs import Clock, Took, gpu_megabytes, peak_memory
from emu_core.runs.data_facts import DataFacts
from emu_core.runs.run import Run, Storable
from emu_core.spawning import isolated

if TYPE_CHECKING:
    from emu_core.encoders.base import Encoder
    from emu_core.training.job import Classify

_POLL_S = 0.2  # how soon a running cell notices that the benchmark was cancelled
LAST_WORDS = 300  # characters quoted from the output of a process that died
# Fields of the configuration, the settings and the data's facts that must be equal for all cells of a folder.
FIXED = {
    "encoder": "the encoder",
    "device": "the device",
    "sha256": "the data",
    "translations_sha256": "the machine translations",
    "pairs": "the language pairs",
    "epochs": "the number of epochs",
    "quick": "whether they are quick ones",
}
# Measured with `use` on two busy CPU cores: 33 to 130 s for five epochs over 701 sentences, 6 to 9 s beside training.
PASS_S, BESIDE_S = 0.03, 8.0


class DataFields(TypedDict, total=False):
    """The fields of a `RunConfig` that follow from a benchmark's data."""

    data: str
    train_languages: tuple[str, ...]
    pairs: tuple[LanguagePair, ...]


@dataclass(frozen=True)
class Outlook:
    """An estimate of a benchmark before it is run."""

    cells: int  # number of cells
    training: int = 0  # number of cells that train the encoder on labelled sentences
    passes: int = 0  # sentences that these cells encode with gradients, over all epochs
    note: str = ""  # how the data is divided into training and test sentences
    missing: tuple[str, ...] = ()  # what can't be measured with this data or here, one sentence each

    @property
    def seconds(self) -> float:
        """The approximate duration with `use` on two CPU cores."""
        return self.passes * PASS_S + self.cells * BESIDE_S


def fixed_of(config: RunConfig, facts: DataFacts) -> dict[str, object]:
    """Return the values of the `FIXED` fields."""
    device = config.device if config.precision == RunPrecision.FP32 else config.encoder_device
    values = {**vars(config), **config.hyperparameters, **vars(facts), "device": device}
    return {name: values.get(name) for name in FIXED}


@dataclass(frozen=True, eq=False)
class Experiment(ABC):
    """A paper's experiments on a user's data: the cells, and how each is trained and measured.

    `gather` takes the data as the user names it, the settings and options of its own. It returns the data to store and
    the fields of the configuration that follow from it, and raises EmuError if the data can't be read or is unsuitable.
    """

    config: RunConfig
    data: Any  # an instance of `data_class`
    folder: Path  # the run's folder
    settings_class: ClassVar[Any]
    first: ClassVar[str]  # describes the first cell; if it can't be measured, none can
    data_class: ClassVar[Any]
    gather: ClassVar[Callable[..., tuple[Storable, DataFields]]]

    @classmethod
    def open(cls, run: Run) -> Self:
        """Open the experiment in a run's folder. Raises RunError if it is damaged."""
        config, folder = run.config(), run.training_folder
        try:
            return cls(config, cls.data_class.load(folder, config.data), run.folder)
        except (OSError, ValueError, KeyError, TypeError, IndexError, DataError):
            raise RunError(f"the data stored in {folder} is damaged; run the benchmark again") from None

    @cached_property
    def settings(self) -> Any:
        """The benchmark's settings, an instance of `settings_class`."""
        return self.settings_class.from_json(self.config.hyperparameters)

    @property
    def pairs(self) -> tuple[LanguagePair, ...]:
        """The language pairs; the first is the one of figures and ablations that have only one."""
        return self.config.pairs

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the cells."""
        return tuple(self.settings.seeds)

    @cached_property
    def facts(self) -> DataFacts:
        """The facts of the data, as in data.json."""
        facts: DataFacts = self.data.facts(self.config)
        return facts

    def shared_facts(self) -> dict[str, object]:
        """Return the facts that every report shows."""
        config = self.config
        return {
            **({"encoder": config.encoder} if config.encoder else {}),
            "data": config.data,
            "data_sha256": self.facts.sha256,
            "seeds": list(self.seeds),
            "device": config.device,
            "precision": config.precision,
            "versions": dict(config.versions),
        }

    @abstractmethod
    def cells(self) -> tuple[Cell, ...]:
        """Return every cell once; if the first can't be measured, none can."""

    def outlook(self) -> Outlook:
        """Estimate the benchmark. Raises EmuError if the data is unsuitable."""
        return Outlook(len(self.cells()))

    @abstractmethod
    def hyperparameters(self, cell: Cell) -> dict[str, object]:
        """Return the settings that a cell is trained with."""

    @abstractmethod
    def measure(self, cell: Cell, folder: Path) -> CellResult:
        """Train and measure a cell in an empty folder, which is deleted afterwards. Raises EmuError if it can't be."""

    def train(
        self, labelled: LabelledSet, cell: Cell, folder: Path, *, cache: Path | None = None, **options: Any
    ) -> "tuple[Encoder, Classify | None, Took, dict[str, object]]":
        """Train a method of this library, as a user would; the options are those of `train`, the cache of `Hooks`.

        Returns:
            The trained encoder, the classifier that was trained with it, if any, the time that training took, and
            facts for the report.
        """
        import torch

        from emu_core.api.execute import Hooks
        from emu_core.api.train import train
        from emu_core.encoders.registry import load_encoder

        # The first optimiser of a process imports much, which must not count as training time.
        torch.optim.SGD([torch.zeros(1)])
        clock, config, classifiers = Clock(), self.config, list["Classify | None"]()
        run = train(
            labelled,
            out=folder / "run",
            encoder=config.encoder,
            seed=cell.seed,
            device=config.encoder_device,
            hooks=Hooks(
                checkpoint_s=1e9,  # a killed cell starts over
                cache=cache,
                on_outcome=lambda outcome: classifiers.append(outcome.classify),
            ),
            on_progress=clock,
            **options,
        )
        warnings = list(run.metrics().warnings)
        trained = load_encoder(f"run:{run.folder}", device=config.encoder_device)
        return trained, classifiers[0], clock.took, {"warnings": warnings} if warnings else {}

    def fingerprint(self, cell: Cell) -> str:
        """Return a checksum of everything that determines a cell's figures."""
        fixed = fixed_of(self.config, self.facts)
        deciding = [self.config.method, fixed, asdict(cell), self.hyperparameters(cell)]
        return hashlib.sha256(json.dumps(deciding, sort_keys=True, default=str).encode()).hexdigest()

    def file_of(self, cell: Cell) -> Path:
        """Return the file that holds a finished cell."""
        return self.folder / "cells" / f"{cell.key}.parquet"

    def read(self, cell: Cell) -> CellResult | None:
        """Read a finished cell; None if there is none. Raises RunError if it has other settings or is damaged."""
        path = self.file_of(cell)
        if not path.exists():
            return None
        result, facts = read_cell(path)
        if facts.get("fingerprint") != self.fingerprint(cell):
            raise RunError(
                f"{path} was made with other settings than these; choose another folder (",
                Fix("out"),
                "), or delete the file",
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
    """Train and measure a cell in this process, with its costs. Raises EmuError if that is impossible."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        with peak_memory() as megabytes:
            result = experiment.measure(cell, Path(folder))
            seconds_whole, peak = time.perf_counter() - start, megabytes()
        return replace(
            result,
            seconds_whole=round(seconds_whole, 3),
            peak_mb=round(peak, 1),
            gpu_mb=gpu_megabytes(),
            views=result.draw() if result.draw else {},
            draw=None,
        )


def in_process(experiment: Experiment, cell: Cell) -> CellResult:
    """Measure a cell in a new process, whose crash ends only this cell. Raises CancelledError if that is asked for."""
    run, context = Run(experiment.folder), multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.NamedTemporaryFile() as output:
        given = type(experiment), experiment.folder, cell, sender, output.name
        process = context.Process(target=_measure, args=given)
        with isolated():
            process.start()
        sender.close()  # the process has the other copy, so that its death ends the wait
        try:
            while not receiver.poll(_POLL_S):
                if run.cancel_asked:
                    raise CancelledError("cancelled before the end")
            return receiver.recv()
        except EOFError:
            pass  # the process died
        except BaseException:
            process.kill()
            raise
        finally:
            process.join()
        words = output.read().decode("utf-8", "replace").strip().splitlines()
    last = words[-1][:LAST_WORDS] if words else "it printed nothing"
    return CellResult(error=f"its process ended with code {process.exitcode}: {last}")


def _measure(kind: type[Experiment], folder: Path, cell: Cell, sender: Connection, output: str) -> None:
    """Measure a cell in this process, which ends whenever its parent ends and prints into the file `output`."""
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        result = measure_cell(kind.open(Run(folder)), cell)
    except EmuError as error:
        result = CellResult(error=error.message.worded(in_words))
    except Exception as error:  # a bug ends only this cell, and the report shows it
        result = CellResult(error=f"{type(error).__name__}: {error}")
    sender.send(result)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(3)
