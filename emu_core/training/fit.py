"""The training loop that all methods share: stages, selection, early stopping, checkpoints, records, cancelling.

A method implements `Trainer`: the batches of an epoch, a training step, and saving and restoring its state.
"""

import gc
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from emu_core.errors import CancelledError, Fix, Message, TrainingError
from emu_core.processes import SINGLE_PROCESS, Processes
from emu_core.runs.checkpoint import Checkpoint, CheckpointPosition, CheckpointState
from emu_core.runs.log import LogValues, Record, RecordKind

Weights = dict[str, Tensor]
BatchT = TypeVar("BatchT", bound=Sized)

_NO_MEMORY = ("out of memory", "can't allocate memory", "failed to allocate", "bad allocation", "bad_alloc")


@dataclass(frozen=True)
class Fitted:
    """The result of training, apart from the weights.

    Attributes:
        selected_epoch: the epoch whose weights the model holds, from 1; 0 if training has no epochs.
        warnings: one sentence each.
    """

    selected_epoch: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """A part of training with its own epochs; most methods have one.

    Attributes:
        epochs: maximum number of epochs.
        steps: steps per epoch; the very last epoch may have fewer.
        score: measures a held-out score after each epoch, higher is better. The weights of the best epoch (the first
            of equal ones) are restored at the end. None keeps the last epoch's weights.
        patience: number of epochs without improvement after which the stage ends; None runs all epochs.
        name: used in the records if there are several stages.
    """

    epochs: int
    steps: int
    score: Callable[[], float] | None = None
    patience: int | None = None
    name: str = ""


@dataclass
class Position:
    """The progress of training."""

    stage: int = 0
    epoch: int = 1  # counted over all stages
    earlier: int = 0  # epochs in the previous stages
    batch: int = 0  # steps done in this epoch
    step: int = 0  # steps done in total
    loss: float = 0.0  # weighted sum of the losses of this epoch's steps
    weight: float = 0.0  # sum of the weights
    best_score: float = -math.inf  # in this stage
    best_epoch: int = 0  # counted like `epoch`; 0 if there is none yet

    def in_stage(self, stage: Stage) -> bool:
        """Return whether the current epoch is part of the stage."""
        waited = self.epoch - 1 - (self.best_epoch or self.earlier)
        impatient = stage.score is not None and stage.patience is not None and waited >= stage.patience
        return self.epoch - self.earlier <= stage.epochs and not impatient

    def next_epoch(self) -> None:
        """Move to the first step of the next epoch."""
        self.epoch, self.batch, self.loss, self.weight = self.epoch + 1, 0, 0.0, 0.0

    def next_stage(self) -> None:
        """Move to the first epoch of the next stage."""
        self.stage, self.earlier = self.stage + 1, self.epoch - 1
        self.best_score, self.best_epoch = -math.inf, 0


class Trainer(ABC, Generic[BatchT]):
    """The training of a method; `fit` runs it.

    Resumed training must end with the weights of uninterrupted training, so `state_dict` must hold everything that a
    step reads and changes. `fit` stores the state of torch's own random generators. A `seed` decides all draws and
    initial weights: the same seed on the same CPU gives the same weights.

    Attributes:
        model: the module to train, on its device.
        optimizer: if there is a single one.
        stages: in order.
        processes: the processes that share each step.
        weighs_by_size: if true, the epoch's mean loss weights each step by its number of examples.
        memory_advice: what to do if no batch fits into memory.
    """

    model: nn.Module
    optimizer: Any
    stages: Sequence[Stage]
    processes: Processes = SINGLE_PROCESS
    weighs_by_size = False
    memory_advice: str | Message = "take a device with more memory"

    @property
    def total_epochs(self) -> int:
        """Maximum number of epochs over all stages."""
        return sum(stage.epochs for stage in self.stages)

    @property
    def total_steps(self) -> int:
        """Maximum number of steps over all stages."""
        return sum(stage.epochs * stage.steps for stage in self.stages)

    def training(self) -> AbstractContextManager[object]:
        """Return a context manager that prepares the model for training, and on exit for use."""
        return nullcontext()

    def start_stage(self, number: int) -> None:
        """Prepare for a stage (from 0), for example with a new optimiser."""

    @abstractmethod
    def batches(self, epoch: int, done: int) -> Iterable[BatchT]:
        """Return the batches of an epoch of this stage (from 1), without the first `done`.

        A second call for the same epoch must return the same batches.
        """

    @abstractmethod
    def step(self, batch: BatchT) -> dict[str, float]:
        """Update the weights once; return the losses by name, the minimised one as `loss`."""

    def facts(self, batch: BatchT) -> dict[str, str]:
        """Return facts about a batch for the record of its step, such as its language."""
        return {}

    def sentences(self, batch: BatchT) -> int:
        """Return how many sentences a batch has; by default one for each example."""
        return len(batch)

    def end_epoch(self) -> LogValues:
        """Return figures and texts for the epoch's record; called once after the epoch's last step."""
        return {}

    def weights(self) -> Weights:
        """Return the weights to restore if this epoch turns out to be the best."""
        return dict(self.model.state_dict())

    def load_weights(self, weights: Weights) -> None:
        """Restore what `weights` returned."""
        self.model.load_state_dict(weights)

    def parts(self) -> Mapping[str, Tensor | nn.Module | torch.optim.Optimizer]:
        """Return by name what a step changes; by default model and optimiser."""
        return {"model": self.model, "optimizer": self.optimizer}

    def state_dict(self) -> CheckpointState:
        """Return everything that a step reads and changes; by default the state of `parts`."""
        return {
            name: part if isinstance(part, Tensor) else part.state_dict()
            for name, part in self.parts().items()
        }

    def load_state_dict(self, state: CheckpointState) -> None:
        """Restore what `state_dict` returned, in the same stage."""
        for name, part in self.parts().items():
            if isinstance(part, Tensor):
                part.copy_(state[name].reshape(part.shape))  # and not one number for all
            else:
                part.load_state_dict(state[name])

    def warnings(self) -> Sequence[str]:
        """Return warnings about the training, one sentence each; called at its end."""
        return ()

    def shortened(self, batch: BatchT, size: int) -> BatchT | None:
        """Return the first `size` examples of a batch that did not fit into memory, or None if that is unsupported.

        The trainer is not used for training afterwards.
        """
        return None


def fit(
    trainer: Trainer[BatchT],
    *,
    on_record: Callable[[Record], None],
    should_stop: Callable[[], bool],
    checkpoint: Checkpoint | None = None,
    after_epoch: Callable[[int], None] = lambda _: None,
) -> Fitted:
    """Train `trainer.model` in place.

    Args:
        trainer: a trainer that has not been fitted yet.
        on_record: called with a record after each step and each epoch.
        should_stop: called before each step.
        checkpoint: written regularly and when training is stopped; if it exists already, training resumes from it.
        after_epoch: called with 0 before the first step, then with the epoch's number after each epoch. It must neither
            change anything nor draw random numbers; resumed training may call it again for the same epoch.

    Raises:
        TrainingError: a loss is not finite, or memory ran out.
        CancelledError: `should_stop` returned True.
        RunError: the checkpoint is damaged.
    """
    at, best = Position(), None
    written = None if checkpoint is None else checkpoint.read()

    def write() -> None:
        if checkpoint is not None and trainer.processes.main:
            checkpoint.write(_state(trainer, at, best), CheckpointPosition(at.epoch, at.step))

    with trainer.training():
        if written is not None:
            with _restoring(checkpoint):
                at = Position(**written["position"])
        else:
            after_epoch(0)
        while at.stage < len(trainer.stages):
            stage = trainer.stages[at.stage]
            trainer.start_stage(at.stage)
            if written is not None:
                with _restoring(checkpoint):
                    best, written = _restore(trainer, written), None
            while at.in_stage(stage):
                trainer.model.train()
                for batch in trainer.batches(at.epoch - at.earlier, at.batch):
                    if should_stop():
                        write()
                        raise CancelledError(f"cancelled after {at.step} steps")
                    on_record(_step(trainer, batch, at, stage))
                    if checkpoint is not None and checkpoint.due:
                        write()
                trainer.model.eval()
                record = _record(RecordKind.EPOCH, at, stage, at.loss / at.weight, trainer.end_epoch())
                if stage.score is not None:
                    score = stage.score()
                    record = replace(record, dev_accuracy=score)
                    if score > at.best_score:
                        at.best_score, at.best_epoch = score, at.epoch
                        best = {name: tensor.detach().clone() for name, tensor in trainer.weights().items()}
                after_epoch(at.epoch)
                on_record(record)
                at.next_epoch()
            last = at.epoch - 1
            selected = at.best_epoch or last
            if best is not None and selected != last:
                trainer.load_weights(best)
            best = None
            at.next_stage()
        warnings = tuple(trainer.warnings())
    return Fitted(selected, warnings)


def _step(trainer: Trainer[BatchT], batch: BatchT, at: Position, stage: Stage) -> Record:
    """Take a step, check that its losses are finite, update the position and return the step's record."""
    losses, facts = _within_memory(trainer, batch), trainer.facts(batch)
    at.step, at.batch = at.step + 1, at.batch + 1
    for name, value in losses.items():
        if not math.isfinite(value):
            which = "loss" if name == "loss" else f"{name.replace('_', '-')} loss"
            where = ", ".join([f"step {at.step}", *(f"{key} {text}" for key, text in facts.items())])
            raise TrainingError(
                f"the {which} is {value} at {where}; lower ", Fix("learning_rate"), " and train again"
            )
    weight = len(batch) if trainer.weighs_by_size else 1
    at.loss, at.weight = at.loss + losses["loss"] * weight, at.weight + weight
    parts: LogValues = {name: value for name, value in losses.items() if name != "loss"}
    record = _record(RecordKind.STEP, at, stage, losses["loss"], {**facts, **parts})
    return replace(record, sentences=trainer.sentences(batch))


def _record(kind: RecordKind, at: Position, stage: Stage, loss: float, values: LogValues) -> Record:
    return Record(
        kind=kind,
        step=at.step,
        epoch=at.epoch,
        loss=loss,
        stage=stage.name,
        figures={name: value for name, value in values.items() if not isinstance(value, str)},
        texts={name: value for name, value in values.items() if isinstance(value, str)},
    )


def _state(trainer: Trainer[BatchT], at: Position, best: Weights | None) -> CheckpointState:
    device = _device(trainer)
    return {
        "position": asdict(at),
        "trainer": trainer.state_dict(),
        "best": best,
        "cpu_generator": torch.get_rng_state(),
        "cuda_generator": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
    }


def _restore(trainer: Trainer[BatchT], state: CheckpointState) -> Weights | None:
    """Restore the trainer and torch's generators; return the weights of the best epoch so far."""
    trainer.load_state_dict(state["trainer"])
    torch.set_rng_state(state["cpu_generator"])
    if (device := _device(trainer)).type == "cuda" and state["cuda_generator"] is not None:
        torch.cuda.set_rng_state(state["cuda_generator"], device)
    best: Weights | None = state["best"]
    return best


@contextmanager
def _restoring(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Turn an error in restoring what a checkpoint holds into a RunError, unless memory ran out."""
    try:
        yield
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if checkpoint is None or ran_out(error):
            raise
        raise checkpoint.damaged() from error


def _device(trainer: Trainer[BatchT]) -> torch.device:
    return next(trainer.model.parameters()).device


def ran_out(error: BaseException) -> bool:
    """Return whether an error means that the device or the machine ran out of memory."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _NO_MEMORY)


def _within_memory(trainer: Trainer[BatchT], batch: BatchT) -> dict[str, float]:
    """Take a step; if memory runs out, raise an error that names the largest batch size that fits."""
    if (losses := _tried(trainer, batch)) is not None:
        return losses
    problem, size = f"memory ran out at a batch of {len(batch)} examples", len(batch) // 2
    if trainer.processes.count > 1:  # the other processes are still waiting in the step that failed
        raise TrainingError(f"{problem}; try half of it: ", Fix("batch_size", size))
    while size >= 2 and (smaller := trainer.shortened(batch, size)) is not None:
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if _tried(trainer, smaller) is not None:
            raise TrainingError(f"{problem}; a batch of {size} fits: ", Fix("batch_size", size))
        size //= 2
    if size >= 2:
        raise TrainingError(f"{problem}; lower ", Fix("batch_size"), ", or ", trainer.memory_advice)
    raise TrainingError(f"{problem}, and none of 2 fits; ", trainer.memory_advice)


def _tried(trainer: Trainer[BatchT], batch: BatchT) -> dict[str, float] | None:
    """Take a step; None if memory ran out, when the failed step's tensors can be freed."""
    try:
        return trainer.step(batch)
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
    return None
