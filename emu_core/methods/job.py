"""A training run under way, as its method sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from emu_core.encoders.base import Encoder
from emu_core.encoders.encode import shared_encode
from emu_core.errors import TrainingError
from emu_core.evaluation.arrays import Encode
from emu_core.processes import Processes
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.config import RunConfig
from emu_core.runs.progress import Progress
from emu_core.runs.run import Run
from emu_core.runs.snapshots import Snapshots
from emu_core.runs.stored_data import LabelledData, ParallelData
from emu_core.trainers.fit import Fitted, Trainer, fit


@dataclass(frozen=True, eq=False)
class Job:
    """The input of a method.

    Attributes:
        run: its folder.
        config: its settings.
        data: what it trains on.
        base: the encoder to specialise, as loaded; None where one is trained from scratch.
        progress: tells how far it is.
        processes: those that share the work.
        checkpoint: where the state of training is written.
        cache: folder for what is slow to compute and the same in another run on the same sentences.
        measure_base: to be called with the base encoder's `encode` once its data is checked and before it is trained.
        snapshots: takes the frames of a run that keeps them.
    """

    run: Run
    config: RunConfig
    data: LabelledData | ParallelData
    base: Encoder | None
    progress: Progress
    processes: Processes
    checkpoint: Checkpoint
    cache: Path
    measure_base: Callable[[Encode], None]
    snapshots: Snapshots | None = None

    @property
    def encoder(self) -> Encoder:
        """The encoder to specialise. Raises TrainingError where there is none."""
        if self.base is None:
            raise TrainingError(f"the method {self.config.method} specialises an encoder, and none is named")
        return self.base

    @property
    def labelled_data(self) -> LabelledData:
        """The data, of a method that reads labelled sentences. Raises TrainingError where it is parallel text."""
        if not isinstance(self.data, LabelledData):
            raise TrainingError(f"the method {self.config.method} learns from labelled sentences")
        return self.data

    @property
    def parallel_data(self) -> ParallelData:
        """The data, of a method that reads parallel text. Raises TrainingError where it is labelled sentences."""
        if not isinstance(self.data, ParallelData):
            raise TrainingError(f"the method {self.config.method} learns from parallel text")
        return self.data

    def encode_with(self, encoder: Encoder) -> Encode:
        """Return an encoder's `encode`, shared between processes; while the run is measured it tells how far it is."""
        return shared_encode(encoder, self.processes, on_progress=self.progress.measured)

    def fit(self, trainer: Trainer[Any], encode: Encode | None = None) -> Fitted:
        """Train, from the checkpoint if there is one.

        Args:
            trainer: of the method.
            encode: of the encoder under training, for the snapshots; without it they are taken before and after.

        Raises:
            CancelledError: the run was asked to stop.
            TrainingError: a loss is no longer a finite number, or memory ran out.
        """
        # Torch imports a second's worth for its first optimizer, which would count as the first step's time.
        torch.optim.Adam([nn.Parameter(torch.zeros(1))])
        at = self.checkpoint.place()
        with self.progress.training(
            trainer.total_steps, trainer.total_epochs, epoch=at.epoch, step=at.step
        ) as record:
            return fit(
                trainer,
                on_record=record,
                should_stop=lambda: self.processes.agree(self.progress.cancel_asked),
                checkpoint=self.checkpoint,
                after_epoch=lambda epoch: self._take_snapshot(epoch, trainer.total_epochs, encode),
            )

    def _take_snapshot(self, epoch: int, epochs: int, encode: Encode | None) -> None:
        # A base encoder has its frame by `measure_base`.
        if self.snapshots is not None and encode is not None and (epoch or self.base is None):
            self.snapshots.after_epoch(epoch, epochs, encode)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a method.

    Attributes:
        encoder: the trained one.
        encode: its `encode`, shared between processes.
        fitted: the epoch chosen, and warnings.
        metrics: what this method alone measures, for metrics.json.
    """

    encoder: Encoder
    encode: Encode
    fitted: Fitted
    metrics: dict[str, Any] = field(default_factory=dict)
