"""The training loop of every method: epochs, stages, selection, early stopping, checkpoints, records, cancelling.

A method is a `Trainer`: it says what an epoch's batches are, takes a step, and gives and takes its state.
"""

import gc
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from emu_core.errors import CancelledError, TrainingError
from emu_core.processes import ALONE, Processes
from emu_core.runs.checkpoint import Checkpoint, Place, State
from emu_core.runs.progress import Record

Weights = dict[str, Tensor]
BatchT = TypeVar("BatchT", bound=Sized)

OUTDATED = "The checkpoint was written by an earlier version, so training started again from its first step."
_NO_MEMORY = ("out of memory", "can't allocate memory", "failed to allocate", "bad allocation", "bad_alloc")


@dataclass(frozen=True)
class Fitted:
    """The result of training, beside the trained weights.

    Attributes:
        selected_epoch: the epoch whose weights the model holds, from 1; 0 where training has no epochs.
        warnings: what a person should know of the training, a sentence each.
    """

    selected_epoch: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Stage:
    """A part of training with epochs of its own; most methods have one.

    Attributes:
        epochs: at most.
        steps: of each epoch; the last one of all may have fewer.
        score: a held-out figure, the higher the better, measured after each epoch: the weights of the best epoch are
            restored at the end. Of equal epochs the first is the best. None takes the last epoch's weights.
        patience: epochs without a better score after which the stage ends; None runs all epochs.
        name: for the records, where there are several stages.
    """

    epochs: int
    steps: int
    score: Callable[[], float] | None = None
    patience: int | None = None
    name: str = ""


@dataclass
class Position:
    """How far training is.

    Attributes:
        stage: number of the stage, from 0.
        epoch: the epoch that is trained, from 1, counted through all stages.
        earlier: epochs of the stages before this one.
        batch: steps of this epoch done.
        step: steps done in all.
        loss: sum of the losses of this epoch's steps, each times its weight.
        weight: sum of these weights.
        best_score: of this stage.
        best_epoch: the epoch that had it, counted as `epoch`; 0 before the first.
    """

    stage: int = 0
    epoch: int = 1
    earlier: int = 0
    batch: int = 0
    step: int = 0
    loss: float = 0.0
    weight: float = 0.0
    best_score: float = -math.inf
    best_epoch: int = 0

    def in_stage(self, stage: Stage) -> bool:
        """Whether the stage has this epoch, or ended before it."""
        waited = self.epoch - 1 - (self.best_epoch or self.earlier)
        impatient = stage.score is not None and stage.patience is not None and waited >= stage.patience
        return self.epoch - self.earlier <= stage.epochs and not impatient

    def next_epoch(self) -> None:
        """Move to the first step of the next epoch."""
        self.epoch, self.batch, self.loss, self.weight = self.epoch + 1, 0, 0.0, 0.0

    def next_stage(self) -> None:
        """Move to the first epoch of the next stage."""
        self.stage, self.earlier, self.best_score, self.best_epoch = (
            self.stage + 1,
            self.epoch - 1,
            -math.inf,
            0,
        )


class Trainer(ABC, Generic[BatchT]):
    """The training of a method; `fit` runs it.

    Killed and resumed training has to end with the weights of uninterrupted training. So whatever a step reads and
    changes is in `state_dict`, but for torch's own random generators, which `fit` takes care of.

    Attributes:
        model: the module that is trained, on its device.
        stages: in their order.
        processes: those that share each step.
        weighs_by_size: whether a step's loss is a mean over examples, so that in the mean over an epoch it weighs as
            much as it has examples; else all steps weigh alike.
        memory_advice: what to do where no batch fits into memory.
    """

    model: nn.Module
    stages: Sequence[Stage]
    processes: Processes = ALONE
    weighs_by_size = False
    memory_advice = "take a device with more memory"

    @property
    def total_epochs(self) -> int:
        """Epochs of all stages, at most."""
        return sum(stage.epochs for stage in self.stages)

    @property
    def total_steps(self) -> int:
        """Steps of all epochs, at most."""
        return sum(stage.epochs * stage.steps for stage in self.stages)

    def training(self) -> AbstractContextManager[object]:
        """Prepare the model, within it, for training; leave it as it should be after training."""
        return nullcontext()

    def start_stage(self, number: int) -> None:
        """Prepare for a stage (from 0), with an optimiser of its own."""

    @abstractmethod
    def batches(self, epoch: int, done: int) -> Iterable[BatchT]:
        """Draw the batches of an epoch of this stage (from 1), but for the first `done`.

        An epoch that has begun is drawn as it was drawn before, whatever was drawn since.
        """

    @abstractmethod
    def step(self, batch: BatchT) -> dict[str, float]:
        """Update the weights once; return the losses by name, the one that is minimised as `loss`."""

    def facts(self, batch: BatchT) -> dict[str, str]:
        """Return what the record of a step should say of its batch, such as its language."""
        return {}

    def end_epoch(self) -> Record:
        """Return what else the epoch's record should hold; called once after an epoch's last step."""
        return {}

    def weights(self) -> Weights:
        """Return the weights of the best epoch that are to be restored."""
        return dict(self.model.state_dict())

    def load_weights(self, weights: Weights) -> None:
        """Restore what `weights` returned."""
        self.model.load_state_dict(weights)

    @abstractmethod
    def state_dict(self) -> State:
        """Return everything that a step reads or changes, as torch's own state dicts where there are some."""

    @abstractmethod
    def load_state_dict(self, state: State) -> None:
        """Restore what `state_dict` returned, in the same stage."""

    def warnings(self) -> Sequence[str]:
        """Return what a person should know of the training, a sentence each; called at its end."""
        return ()

    def shortened(self, batch: BatchT, size: int) -> BatchT | None:
        """Return the first `size` examples of a batch that did not fit into memory, to see whether these do.

        The trainer is of no more use afterwards. None if the method can't tell.
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
        trainer: of the method; not fitted before.
        on_record: called with a dict after each step and each epoch.
        should_stop: asked before each step.
        checkpoint: written now and then, and when training is stopped; if there is one already, training goes on from
            it, to the weights that uninterrupted training ends with.
        after_epoch: called before the first step with 0, then after each epoch with its number, with the model as it is
            then; it must change nothing, nor draw a random number. Training that goes on may call it once more.

    Raises:
        TrainingError: a loss is no longer a finite number, or memory ran out.
        CancelledError: `should_stop` returned True.
        RunError: the checkpoint is damaged.
    """
    at, best = Position(), None
    written = None if checkpoint is None else checkpoint.read()

    def write() -> None:
        if checkpoint is not None and trainer.processes.main:
            checkpoint.write(_state(trainer, at, best), Place(at.epoch, at.step))

    with trainer.training():
        if written is not None:
            at = Position(**written["position"])
        else:
            after_epoch(0)
        while at.stage < len(trainer.stages):
            stage = trainer.stages[at.stage]
            trainer.start_stage(at.stage)
            if written is not None:
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
                record = _header("epoch", at, stage) | {"loss": at.loss / at.weight} | trainer.end_epoch()
                if stage.score is not None:
                    record["dev_accuracy"] = score = stage.score()
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
        warnings = [*trainer.warnings()]
    if checkpoint is not None and checkpoint.outdated:
        warnings.insert(0, OUTDATED)
    return Fitted(selected, tuple(warnings))


def _step(trainer: Trainer[BatchT], batch: BatchT, at: Position, stage: Stage) -> Record:
    """Take a step, check its losses, move the position and return the step's record."""
    losses, facts = _within_memory(trainer, batch), trainer.facts(batch)
    at.step, at.batch = at.step + 1, at.batch + 1
    for name, value in losses.items():
        if not math.isfinite(value):
            which = "loss" if name == "loss" else f"{name.replace('_', '-')} loss"
            where = ", ".join([f"step {at.step}", *(f"{key} {text}" for key, text in facts.items())])
            raise TrainingError(
                f"the {which} is {value} at {where}; lower the learning rate (--learning-rate) and train again"
            )
    weight = len(batch) if trainer.weighs_by_size else 1
    at.loss, at.weight = at.loss + losses["loss"] * weight, at.weight + weight
    return {**_header("step", at, stage), **facts, **losses}


def _header(kind: str, at: Position, stage: Stage) -> Record:
    record: Record = {"kind": kind, "step": at.step, "epoch": at.epoch}
    return record | {"stage": stage.name} if stage.name else record


def _state(trainer: Trainer[BatchT], at: Position, best: Weights | None) -> State:
    device = _device(trainer)
    return {
        "position": asdict(at),
        "trainer": trainer.state_dict(),
        "best": best,
        "cpu_generator": torch.get_rng_state(),
        "cuda_generator": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
    }


def _restore(trainer: Trainer[BatchT], state: State) -> Weights | None:
    """Restore the trainer and torch's generators; return the weights of the best epoch so far."""
    trainer.load_state_dict(state["trainer"])
    torch.set_rng_state(state["cpu_generator"])
    if (device := _device(trainer)).type == "cuda" and state["cuda_generator"] is not None:
        torch.cuda.set_rng_state(state["cuda_generator"], device)
    best: Weights | None = state["best"]
    return best


def _device(trainer: Trainer[BatchT]) -> torch.device:
    return next(trainer.model.parameters()).device


def ran_out(error: BaseException) -> bool:
    """Return whether an error says that a device's memory, or the machine's, is used up."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _NO_MEMORY)


def _within_memory(trainer: Trainer[BatchT], batch: BatchT) -> dict[str, float]:
    """Take a step; where memory runs out, say which batch would have fitted."""
    try:
        return trainer.step(batch)
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
    # Out of the except block, so that the failed step's tensors are let go.
    problem, size = f"memory ran out at a batch of {len(batch)} examples", len(batch) // 2
    if trainer.processes.count > 1:  # a trial would need the others, which wait in the step that failed
        raise TrainingError(f"{problem}; try half of it: --batch-size {size}")
    while size >= 2 and (smaller := trainer.shortened(batch, size)) is not None:
        if _fits(trainer, smaller):
            raise TrainingError(f"{problem}; a batch of {size} fits: --batch-size {size}")
        size //= 2
    if size >= 2:
        raise TrainingError(f"{problem}; lower --batch-size, or {trainer.memory_advice}")
    raise TrainingError(f"{problem}, and none of 2 fits; {trainer.memory_advice}")


def _fits(trainer: Trainer[BatchT], batch: BatchT) -> bool:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    try:
        trainer.step(batch)
    except (RuntimeError, MemoryError) as error:
        if not ran_out(error):
            raise
        return False
    return True
