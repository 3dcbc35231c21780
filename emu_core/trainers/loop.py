"""The loop around a training step: seeds, epochs, selection on held-out sentences, progress, going on after a kill."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch

from emu_core.config import EmuConfig
from emu_core.devices import Precision
from emu_core.encoders.base import Encoder
from emu_core.encoders.trainable_parameters import trained_weights
from emu_core.errors import CancelledError, TrainingError
from emu_core.processes import ALONE, Processes
from emu_core.runs.checkpoint import Checkpoint, Tensors
from emu_core.trainers.collapse import Spread, Watch, one_class_warning, spread_alarms, step_alarms
from emu_core.trainers.emu import EmuTrainer, load_trained, trained_state
from emu_core.trainers.memory import largest_batch_that_fits, ran_out
from emu_core.trainers.prepare import TrainingData
from emu_core.trainers.sampling import Batch, epoch_batches

Record = dict[str, float | int | str]


@dataclass(frozen=True)
class Fitted:
    """What `fit` leaves beside the trained encoder.

    Attributes:
        selected_epoch: the epoch whose weights the encoder holds, from 1; 0 where training has no epochs.
        warnings: what went on that a person should know, a sentence each.
    """

    selected_epoch: int
    warnings: tuple[str, ...]


@dataclass
class Position:
    """How far training is: what a checkpoint holds beside tensors.

    Attributes:
        epoch: from 1.
        batch: batches of this epoch done.
        step: steps done in all.
        one_class: steps whose batch held one intent only.
        dead: steps in which the encoder's gradient was exactly zero, or not finite.
        losses: the loss of each step of this epoch.
        best_accuracy: on the held-out sentences, of the best epoch so far; -1 before the first.
        best_epoch: its number; 0 before the first.
        epoch_draws: state of the generator of draws when this epoch began.
        draws: its state now.
    """

    epoch: int = 1
    batch: int = 0
    step: int = 0
    one_class: int = 0
    dead: int = 0
    losses: list[float] = field(default_factory=list)
    best_accuracy: float = -1.0
    best_epoch: int = 0
    epoch_draws: Mapping[str, Any] = field(default_factory=dict)
    draws: Mapping[str, Any] = field(default_factory=dict)


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
    checkpoint: Checkpoint | None = None,
    precision: Precision = Precision.FP32,
    processes: Processes = ALONE,
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
        checkpoint: written now and then, and when training is stopped; if there is one already, training goes on from
            it, to the weights that an uninterrupted run has.
        precision: of the encoder's forward pass.
        processes: those that share each batch.

    Raises:
        TrainingError: a loss is no longer a finite number, or memory ran out.
        CancelledError: `should_stop` said so.
    """
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    watch, now = Watch(encoder, data.labelled, seed), None
    with trained_weights(encoder, config):
        trainer = EmuTrainer(
            encoder,
            data.labelled,
            data.unlabelled,
            data.translations,
            len(data.intents),
            config,
            rng,
            precision,
            processes,
        )
        best: Tensors = {}
        at = Position()
        if checkpoint is not None and (written := checkpoint.read()) is not None:
            at, best = _restore(trainer, *written)
        encoder.train()
        while at.epoch <= config.epochs:
            for batch in _batches(data, config, rng, at):
                if should_stop():
                    if checkpoint is not None and processes.main:
                        _write(checkpoint, trainer, at, best)
                    raise CancelledError(f"cancelled after {at.step} steps")
                values = _step(trainer, batch)
                at.step, at.batch = at.step + 1, at.batch + 1
                _check_finite(values, at.step)
                at.one_class += len(set(batch.labels)) == 1
                at.dead += trainer.gradient == 0 or not math.isfinite(trainer.gradient)
                at.losses.append(values["loss"])
                on_record(
                    {"kind": "step", "step": at.step, "epoch": at.epoch, "language": batch.language, **values}
                )
                if checkpoint is not None and processes.main and checkpoint.due:
                    _write(checkpoint, trainer, at, best)
            record: Record = {
                "kind": "epoch",
                "epoch": at.epoch,
                "step": at.step,
                "loss": float(np.mean(at.losses)),
            }
            now = watch.spread()
            record |= _collapse(watch, now, at)
            if held_out_accuracy is not None:
                record["dev_accuracy"] = accuracy = held_out_accuracy()
                if accuracy >= at.best_accuracy:
                    at.best_accuracy, at.best_epoch = accuracy, at.epoch
                    best = {name: weight.clone() for name, weight in trained_state(encoder).items()}
            on_record(record)
            at.epoch, at.batch, at.losses = at.epoch + 1, 0, []
        encoder.eval()
        if best:
            load_trained(encoder, best)
        selected = at.best_epoch or config.epochs
        if now is None or selected != config.epochs:  # what is kept is not what was measured last
            now = watch.spread()
    warnings = [
        *data.warnings,
        *spread_alarms(watch.base, now, watch.intents),
        *step_alarms(at.step, at.one_class, at.dead),
    ]
    if at.one_class and (few := one_class_warning(at.step, at.one_class)) not in warnings:
        warnings.append(few)
    return Fitted(selected, tuple(warnings))


def _collapse(watch: Watch, now: Spread, at: Position) -> Record:
    """What an epoch's record says of collapse; `alarm` is there only where there is one."""
    base = watch.base
    alarms = [*spread_alarms(base, now, watch.intents), *step_alarms(at.step, at.one_class, at.dead)]
    return {
        "mean_cosine": now.mean_cosine,
        "effective_rank": now.effective_rank,
        "base_mean_cosine": base.mean_cosine,
        "base_effective_rank": base.effective_rank,
        "one_class_share": at.one_class / at.step,
        "dead_share": at.dead / at.step,
        **({"alarm": "; ".join(alarms)} if alarms else {}),
    }


def _batches(data: TrainingData, config: EmuConfig, rng: np.random.Generator, at: Position) -> list[Batch]:
    """The epoch's batches that are not done yet; an epoch that was begun is drawn again as it was."""
    if at.batch == 0:
        at.epoch_draws = rng.bit_generator.state
        return list(epoch_batches(data.labelled, config.batch_size, rng))
    now = rng.bit_generator.state
    rng.bit_generator.state = at.epoch_draws
    batches = list(epoch_batches(data.labelled, config.batch_size, rng))
    rng.bit_generator.state = now
    return batches[at.batch :]


def _step(trainer: EmuTrainer, batch: Batch) -> dict[str, float]:
    try:
        return trainer.step(batch)
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
        problem = f"memory ran out at a batch of {len(batch.ids)} sentences"
    # Out of the except block, so that the failed step's tensors are let go.
    fits = largest_batch_that_fits(trainer, batch)
    if fits:
        raise TrainingError(f"{problem}; a batch of {fits} fits: --batch-size {fits}")
    raise TrainingError(
        f"{problem}, and none of 2 fits; train fewer weights (--trained last-layers, or lora for a transformer), "
        "or use a device with more memory"
    )


def _write(checkpoint: Checkpoint, trainer: EmuTrainer, at: Position, best: Tensors) -> None:
    tensors = {f"trainer/{name}": tensor for name, tensor in trainer.state().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    tensors["generator/cpu"] = torch.get_rng_state()
    if trainer.encoder.device.type == "cuda":
        tensors["generator/cuda"] = torch.cuda.get_rng_state(trainer.encoder.device)
    # An epoch that has begun without a step is drawn again, from where its own draws began.
    draws = trainer.rng.bit_generator.state if at.batch else at.epoch_draws
    checkpoint.write(tensors, asdict(replace(at, draws=draws)))


def _restore(trainer: EmuTrainer, tensors: Tensors, facts: dict[str, Any]) -> tuple[Position, Tensors]:
    def under(part: str) -> Tensors:
        return {name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)}

    at = Position(**facts)
    trainer.restore(under("trainer/"))
    trainer.steps = at.step
    trainer.rng.bit_generator.state = at.draws
    torch.set_rng_state(tensors["generator/cpu"])
    if trainer.encoder.device.type == "cuda" and "generator/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["generator/cuda"], trainer.encoder.device)
    device = trainer.encoder.device
    return at, {name: tensor.to(device) for name, tensor in under("best/").items()}


def _check_finite(values: dict[str, float], step: int) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise TrainingError(
                f"the {name.replace('_', '-')} loss is {value} at step {step}; lower the learning rate "
                "(--learning-rate) and train again"
            )
