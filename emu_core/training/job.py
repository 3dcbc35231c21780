"""A training run as its method sees it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from emu_core.encoders.base import Encoder, FloatArray
from emu_core.encoders.encode import cached_encode, shared_encode
from emu_core.errors import TrainingError
from emu_core.evaluation.arrays import Encode
from emu_core.evaluation.run_metrics import Metrics
from emu_core.processes import Processes
from emu_core.runs.checkpoint import Checkpoint
from emu_core.runs.config import RunConfig
from emu_core.runs.progress import Progress
from emu_core.runs.run import Run
from emu_core.runs.snapshots import Snapshots
from emu_core.runs.stored_data import LabelledData, ParallelData
from emu_core.training.fit import Fitted, Trainer, fit

Classify = Callable[[FloatArray], list[str]]


@dataclass(frozen=True, eq=False)
class Job:
    """The input of a method.

    Attributes:
        run: the run's folder.
        config: the run's configuration.
        data: the training data.
        base: the encoder to specialise; None for training from scratch.
        progress: records the progress.
        processes: the processes that share the work.
        checkpoint: where the state of training is written.
        cache: folder for intermediate results that other runs on the same sentences can use.
        measure_base: must be called with the base encoder's `encode` after the data is checked and before training.
        snapshots: stores vectors after each epoch, if the run asks for that.
        part_encode: the `encode` of a part of a joined encoder, which remembers its vectors, if the method does not
            change it.
        measures: whether the method measures, on sentences that it leaves out, what it does to new ones.
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
    part_encode: Encode | None = None
    measures: bool = True

    @property
    def encoder(self) -> Encoder:
        """The encoder to specialise. Raises TrainingError if there is none."""
        if self.base is None:
            raise TrainingError(f"the method {self.config.method} specialises an encoder, and none is named")
        return self.base

    @property
    def labelled_data(self) -> LabelledData:
        """The labelled data. Raises TrainingError if the run has parallel text."""
        if not isinstance(self.data, LabelledData):
            raise TrainingError(f"the method {self.config.method} learns from labelled sentences")
        return self.data

    @property
    def parallel_data(self) -> ParallelData:
        """The parallel text. Raises TrainingError if the run has labelled data."""
        if not isinstance(self.data, ParallelData):
            raise TrainingError(f"the method {self.config.method} learns from parallel text")
        return self.data

    def encode_with(self, encoder: Encoder) -> Encode:
        """Return an encoder's `encode`, shared between processes; it records progress during evaluation."""
        return shared_encode(encoder, self.processes, on_progress=self.progress.measured)

    def frozen_encode(self) -> Encode:
        """Return the base encoder's `encode` for a method that does not change it; it remembers all lists of texts."""
        return self.part_encode or cached_encode(self.encode_with(self.encoder))

    def fit(self, trainer: Trainer[Any], encode: Encode | None = None) -> Fitted:
        """Train, from the checkpoint if there is one.

        Args:
            trainer: the method's trainer.
            encode: `encode` of the encoder in training, for snapshots; without it they are taken before and after.

        Raises:
            CancelledError: the run was cancelled.
            TrainingError: a loss is not finite, or memory ran out.
        """
        # Creating torch's first optimizer takes a second for imports, which would count as the first step's time.
        torch.optim.Adam([nn.Parameter(torch.zeros(1))])
        at = self.checkpoint.position()
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
        # For a base encoder, `measure_base` takes the first snapshot.
        if self.snapshots is not None and encode is not None and (epoch or self.base is None):
            self.snapshots.after_epoch(epoch, epochs, encode)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a method.

    Attributes:
        encoder: the trained encoder.
        encode: its `encode`, shared between processes.
        fitted: the selected epoch, and warnings.
        metrics: the figures that the method itself measured.
        classify: the classifier that was trained with the encoder, from its vectors (N, dim) to N intents; None if
            there is none, or it belongs to other weights than the encoder's. Runs do not store it.
        plain: the `encode` of the encoder's `without_head`, if the method has it at hand.
    """

    encoder: Encoder
    encode: Encode
    fitted: Fitted
    metrics: Metrics = field(default_factory=Metrics)
    classify: Classify | None = None
    plain: Encode | None = None
