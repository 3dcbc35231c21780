"""The loop around a training step: seeds, epochs, selection on held-out sentences, progress and cancelling."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from emu_core.config import EmuConfig
from emu_core.encoders.base import Encoder
from emu_core.errors import CancelledError, TrainingError
from emu_core.trainers.emu import EmuTrainer
from emu_core.trainers.prepare import TrainingData
from emu_core.trainers.sampling import epoch_batches

Record = dict[str, float | int | str]


@dataclass(frozen=True)
class Fitted:
    """What `fit` leaves beside the trained encoder.

    Attributes:
        selected_epoch: the epoch whose weights the encoder holds, from 1.
        warnings: what went on that a person should know, a sentence each.
    """

    selected_epoch: int
    warnings: tuple[str, ...]


def steps_per_epoch(data: TrainingData, config: EmuConfig) -> int:
    """Number of training steps in one pass over the labelled sentences."""
    return sum(1 for _ in epoch_batches(data.labelled, config.batch_size, np.random.default_rng(0)))


def fit(
    encoder: Encoder,
    data: TrainingData,
    config: EmuConfig,
    *,
    seed: int,
    on_record: Callable[[Record], None],
    should_stop: Callable[[], bool],
    held_out_accuracy: Callable[[], float] | None = None,
) -> Fitted:
    """Train `encoder` in place.

    Args:
        encoder: on its device already.
        data: from `prepare`.
        config: hyper-parameters.
        seed: of every draw and initial weight; the same seed on the same CPU gives the same weights.
        on_record: called with a dict after each step and each epoch.
        should_stop: asked before each step.
        held_out_accuracy: measures the encoder after each epoch; the best epoch's weights are kept, of equals the
            later. Without it, the last epoch's.

    Raises:
        TrainingError: a loss is no longer a finite number.
        CancelledError: `should_stop` said so.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    trainer = EmuTrainer(
        encoder, data.labelled, data.unlabelled, data.translations, len(data.intents), config, rng
    )
    best: tuple[float, int, dict[str, torch.Tensor]] | None = None
    step, one_class = 0, 0
    encoder.train()
    for epoch in range(1, config.epochs + 1):
        losses = []
        for batch in epoch_batches(data.labelled, config.batch_size, rng):
            if should_stop():
                raise CancelledError(f"cancelled after {step} steps")
            step += 1
            one_class += len(set(batch.labels)) == 1
            values = trainer.step(batch)
            _check_finite(values, step)
            losses.append(values["loss"])
            on_record({"kind": "step", "step": step, "epoch": epoch, "language": batch.language, **values})
        record: Record = {"kind": "epoch", "epoch": epoch, "step": step, "loss": float(np.mean(losses))}
        if held_out_accuracy is not None:
            accuracy = held_out_accuracy()
            record["dev_accuracy"] = accuracy
            if best is None or accuracy >= best[0]:
                state = {name: weight.detach().clone() for name, weight in encoder.state_dict().items()}
                best = (accuracy, epoch, state)
        on_record(record)
    encoder.eval()
    if best is not None:
        encoder.load_state_dict(best[2])
    warnings = list(data.warnings)
    if one_class:
        warnings.append(
            f"{one_class} of {step} batches held one intent only and taught little; raise the batch size"
        )
    return Fitted(config.epochs if best is None else best[1], tuple(warnings))


def _check_finite(values: dict[str, float], step: int) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise TrainingError(
                f"the {name.replace('_', '-')} loss is {value} at step {step}; lower the learning rate "
                "(--learning-rate) and train again"
            )
