"""Training of the dual encoder: tasks in turn, an optimisation step for one at a time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import Tensor

from emu_core.config.dual_encoder import DualEncoderConfig
from emu_core.encoders.dual.batch import Ints, Sentences, joined
from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.errors import CancelledError, TrainingError
from emu_core.models.dual_heads import TaskHeads
from emu_core.runs.checkpoint import Checkpoint, Tensors
from emu_core.trainers.dual_mining import mine
from emu_core.trainers.dual_optimizer import DualOptimizer, rate_factor
from emu_core.trainers.dual_tasks import Task, Tasks, Translation, prepare
from emu_core.trainers.loop import Fitted, Record


@dataclass
class _Position:
    """How far training is.

    Attributes:
        step: steps done.
        turns: steps done of each task.
        losses: of each task, summed over its steps of this epoch.
        counts: of each task, its steps of this epoch.
        best_score: of the best epoch; -1 before the first.
        best_epoch: its number, from 1; 0 before the first.
    """

    step: int = 0
    turns: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    best_score: float = -1.0
    best_epoch: int = 0


@dataclass(frozen=True)
class Plan:
    """Which task has which step.

    Attributes:
        steps: in all.
        epoch: steps of an epoch.
        alone: steps of the beginning that are translation's alone; after them hard negatives are mined.
        translations: number of translation tasks, which come first.
        tasks: number of tasks.
    """

    steps: int
    epoch: int
    alone: int
    translations: int
    tasks: int

    @classmethod
    def of(cls, tasks: Tasks, config: DualEncoderConfig) -> "Plan":
        """An epoch is over when the largest translation set (or else the largest set) has had its pass, all in turn.

        Raises:
            TrainingError: there is no task.
        """
        sizes, translations = tasks.sizes, len(tasks.translation)
        if not sizes:
            raise TrainingError(
                "the dual encoder has no task; give it parallel text, one file of pairs or more"
            )
        epoch = max(_batches(size, config) for size in sizes[: translations or None]) * len(sizes)
        steps = config.steps if config.epochs is None else min(config.steps, config.epochs * epoch)
        mines = bool(config.hard_negatives and translations)
        return cls(steps, epoch, round(config.mine_after * steps) if mines else 0, translations, len(sizes))

    def task(self, step: int) -> int:
        """The number of the task that has this step (from 0): each in its turn."""
        return step % self.translations if step < self.alone else (step - self.alone) % self.tasks


def fit_dual_encoder(
    encoder: DualEncoder,
    tasks: Tasks,
    config: DualEncoderConfig,
    *,
    seed: int,
    on_record: Callable[[Record], None],
    should_stop: Callable[[], bool],
    score: Callable[[], float] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Train a dual encoder in place (Chidambaram et al. 2019, sections 2.2 and 3.2).

    With hard negatives, the first part of the training is translation ranking's alone; the encoder that comes of it
    mines them, as the paper has it, and then all tasks take turns.

    Args:
        encoder: with random weights, on its device.
        tasks: any of them.
        config: the one that the encoder was made with, or one that differs in how it is trained.
        seed: of heads, order, dropout; the same seed on the same CPU gives the same weights.
        on_record: called with a dict after each step and each epoch.
        should_stop: asked before each step.
        score: held-out percent after an epoch; the best epoch's weights are kept, of equals the first. Without it, the
            last.
        checkpoint: written now and then, and when training is stopped; if there is one already, training goes on from
            it, to the weights that an uninterrupted run has.

    Raises:
        TrainingError: no task, one too small, or a loss is no longer a finite number.
        CancelledError: `should_stop` said so.
    """
    plan = Plan.of(tasks, config)
    turns = prepare(encoder, tasks)
    run = _Run(encoder, turns, plan, config, seed)
    if checkpoint is not None and (written := checkpoint.read()) is not None:
        run.restore(*written)
    encoder.sparse = True
    encoder.train()
    try:
        while run.at.step < plan.steps:
            if should_stop():
                if checkpoint is not None:
                    checkpoint.write(run.state(), asdict(run.at))
                raise CancelledError(f"cancelled after {run.at.step} steps")
            if plan.alone and run.at.step == plan.alone and not run.mined:
                run.mine()
            on_record(run.step())
            if run.at.step % plan.epoch == 0 or run.at.step == plan.steps:
                on_record(run.end_epoch(score))
            if checkpoint is not None and checkpoint.due:
                checkpoint.write(run.state(), asdict(run.at))
    finally:
        encoder.sparse = False
        encoder.eval()
    if run.best:
        encoder.load_state_dict(run.best)
    return Fitted(run.at.best_epoch or math.ceil(plan.steps / plan.epoch), ())


class _Run:
    """A training run's models, optimiser and place."""

    def __init__(
        self, encoder: DualEncoder, tasks: list[Task], plan: Plan, config: DualEncoderConfig, seed: int
    ) -> None:
        torch.manual_seed(seed)
        gain = math.sqrt(encoder.dim) if config.normalised else 1.0
        self.heads = TaskHeads(encoder.dim, config.head_hidden, config.nli_hidden, gain).to(encoder.device)
        self.encoder, self.tasks, self.plan, self.config, self.seed = encoder, tasks, plan, config, seed
        self.optimizer = DualOptimizer(encoder, self.heads, config)
        self.orders: dict[int, tuple[int, Ints]] = {}
        self.mined = False
        self.best: Tensors = {}
        self.at = _Position(turns=[0] * len(tasks), losses=[0.0] * len(tasks), counts=[0] * len(tasks))

    def step(self) -> Record:
        """One update, for the task whose turn it is."""
        at, number = self.at, self.plan.task(self.at.step)
        task = self.tasks[number]
        # Seeds of a step's own: one that is done again after a stop draws the same.
        torch.manual_seed(self.seed * 1_000_003 + at.step)
        rows = self._rows(number)
        loss = task.loss(self._vectors(task.sides(rows)), rows, self.heads, self.config)
        value = loss.item()
        if not math.isfinite(value):
            raise TrainingError(
                f"the loss of {task.name} is {value} at step {at.step + 1}; lower the learning rate "
                "(--learning-rate) and train again"
            )
        if self.plan.translations and not isinstance(task, Translation):
            loss = self.config.task_weight * loss
        self.optimizer.step(loss, rate_factor(at.step, self.plan.steps, self.config))
        epoch = at.step // self.plan.epoch + 1
        at.step, at.turns[number] = at.step + 1, at.turns[number] + 1
        at.losses[number], at.counts[number] = at.losses[number] + value, at.counts[number] + 1
        return {"kind": "step", "step": at.step, "epoch": epoch, "task": task.name, "loss": value}

    def end_epoch(self, score: Callable[[], float] | None) -> Record:
        """What the epoch's record says; its weights are kept if it is the best."""
        at, epoch = self.at, math.ceil(self.at.step / self.plan.epoch)
        record: Record = {"kind": "epoch", "epoch": epoch, "step": at.step}
        record["loss"] = sum(at.losses) / sum(at.counts)
        for task, total, count in zip(self.tasks, at.losses, at.counts, strict=True):
            if count:
                record[f"loss {task.name}"] = total / count
        at.losses, at.counts = [0.0] * len(self.tasks), [0] * len(self.tasks)
        if score is not None:
            self.encoder.eval()
            record["dev_accuracy"] = value = score()
            self.encoder.train()
            if value > at.best_score:
                at.best_score, at.best_epoch = value, epoch
                self.best = {name: tensor.clone() for name, tensor in self.encoder.state_dict().items()}
        return record

    def mine(self) -> None:
        """Hard negatives of every translation task, by the encoder as it is."""
        sides, config = (2 if self.config.bidirectional else 1), self.config
        for number, task in enumerate(self.tasks):
            if isinstance(task, Translation):
                rng = np.random.default_rng((self.seed, number))
                found = mine(
                    self.encoder, task.columns, sides, config.hard_negatives, config.mining_pool, rng
                )
                task.negatives = found if all(rows.shape[1] for rows in found) else []
        self.mined = True

    def _rows(self, number: int) -> Ints:
        """The next examples of a task: each once in a pass, in an order of that pass's own."""
        task, size = self.tasks[number], self.config.batch_size
        done, place = divmod(self.at.turns[number], _batches(task.size, self.config))
        if number not in self.orders or self.orders[number][0] != done:
            order = np.random.default_rng((self.seed, number, done)).permutation(task.size)
            self.orders[number] = done, order
        return self.orders[number][1][place * size : (place + 1) * size]

    def _vectors(self, sides: Sequence[Sentences]) -> Sequence[Tensor]:
        sentences, drop = joined(sides), None
        if self.config.word_dropout:
            words = int((sentences.ids < self.encoder.hashing.words).sum())
            rng = np.random.default_rng((self.seed, self.at.step))
            drop = rng.random(words) < self.config.word_dropout
        vectors: Tensor = self.encoder(self.encoder.batch(sentences, drop))
        return vectors.split([len(side) for side in sides])

    def state(self) -> Tensors:
        """Everything that a step reads or changes, by name."""
        tensors = {f"encoder/{name}": tensor for name, tensor in self.encoder.state_dict().items()}
        tensors |= {f"heads/{name}": tensor for name, tensor in self.heads.state_dict().items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in self.optimizer.state().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self.best.items()}
        for number, task in enumerate(self.tasks):
            if isinstance(task, Translation):
                for side, rows in enumerate(task.negatives):
                    tensors[f"negatives/{number}/{side}"] = torch.from_numpy(rows)
        return tensors

    def restore(self, tensors: Tensors, facts: dict[str, object]) -> None:
        """Take over what `state` gave."""

        def under(part: str) -> Tensors:
            return {
                name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)
            }

        self.at = _Position(**facts)  # type: ignore[arg-type]
        self.encoder.load_state_dict(under("encoder/"))
        self.heads.load_state_dict(under("heads/"))
        self.optimizer.restore(under("optimizer/"))
        self.best = {name: tensor.to(self.encoder.device) for name, tensor in under("best/").items()}
        for place, rows in sorted(under("negatives/").items()):
            task = self.tasks[int(place.split("/")[0])]
            if isinstance(task, Translation):
                task.negatives.append(rows.numpy())
        self.mined = self.at.step > self.plan.alone


def _batches(size: int, config: DualEncoderConfig) -> int:
    """Batches of one pass; what is left over at its end waits for another."""
    return max(1, size // config.batch_size)
