"""Training of the dual encoder (Chidambaram et al. 2019): tasks in turn, each step for one of them."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.config.dual_encoder import DualEncoderConfig, Optimizer
from emu_core.data.texts.tasks import Tasks
from emu_core.encoders.dual.batch import Ints, Sentences, joined
from emu_core.encoders.dual.encoder import DualEncoder
from emu_core.encoders.dual.relations import Relations
from emu_core.errors import TrainingError
from emu_core.models.dual_heads import TaskHeads
from emu_core.runs.checkpoint import State
from emu_core.runs.progress import Record
from emu_core.trainers.dual_tasks import Inference, Task, Translation, mine, prepare
from emu_core.trainers.fit import Stage, Trainer, Weights

_BETAS = (0.9, 0.98)
_NLI = "heads.nli."


@dataclass(frozen=True)
class Plan:
    """The task of each step.

    Attributes:
        steps: in all.
        epoch: steps of an epoch.
        alone: the first steps, of translation alone, after which hard negatives are mined.
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
        """Make a plan; an epoch ends when the largest translation set (or else the largest set) has had its pass.

        Raises:
            TrainingError: there is no task.
        """
        sizes, translations = tasks.sizes, len(tasks.translation)
        if not sizes:
            raise TrainingError(
                "the dual encoder has no task; give it parallel text, one file of pairs or more"
            )
        epoch = max(_steps_of_pass(size, config) for size in sizes[: translations or None]) * len(sizes)
        steps = config.steps if config.epochs is None else min(config.steps, config.epochs * epoch)
        mines = bool(config.hard_negatives and translations)
        return cls(steps, epoch, round(config.mine_after * steps) if mines else 0, translations, len(sizes))

    def task(self, step: int) -> int:
        """Return the number of the task that has this step (from 0): each in its turn."""
        return step % self.translations if step < self.alone else (step - self.alone) % self.tasks

    def turns(self, step: int) -> int:
        """Return how many steps the task of this step has had before."""
        if step < self.alone:
            return step // self.translations
        number = self.task(step)
        alone = len(range(number, self.alone, self.translations)) if number < self.translations else 0
        return alone + (step - self.alone) // self.tasks


@dataclass(frozen=True)
class Batch:
    """A step's examples.

    Attributes:
        step: the step, from 0.
        task: number of its task.
        rows: (B,), the task's examples.
    """

    step: int
    task: int
    rows: Ints

    def __len__(self) -> int:
        """Return B."""
        return len(self.rows)


class DualEncoderTrainer(Trainer[Batch]):
    """Trains a dual encoder (Chidambaram et al. 2019, sections 2.2 and 3.2).

    With hard negatives, translation ranking alone has the first steps; the encoder that comes of it mines them, as in
    the paper, and then all tasks take turns.

    Attributes:
        plan: which task has which step.
        tasks: tokenised.
        heads: of the tasks.
        optimizers: of the embedding tables, and of the other weights.
    """

    def __init__(
        self,
        encoder: DualEncoder,
        tasks: Tasks,
        config: DualEncoderConfig,
        *,
        seed: int,
        score: Callable[[], float] | None = None,
    ) -> None:
        """Tokenise the tasks and draw the heads.

        Args:
            encoder: with random weights, on its device.
            tasks: any of them.
            config: the one that the encoder was made with, or one that differs in how it is trained.
            seed: of heads, order, dropout; the same seed on the same CPU gives the same weights.
            score: held-out percent, which chooses the epoch; None takes the last.

        Raises:
            TrainingError: no task, or one too small.
        """
        self.plan, self.tasks = Plan.of(tasks, config), prepare(encoder, tasks)
        self.stages = [Stage(math.ceil(self.plan.steps / self.plan.epoch), self.plan.epoch, score)]
        self.model = self.encoder = encoder
        self.config, self.seed = config, seed
        torch.manual_seed(seed)
        gain = math.sqrt(encoder.dim) if config.normalised else 1.0
        self.heads = TaskHeads(encoder.dim, config.head_hidden, config.nli_hidden, gain).to(encoder.device)
        self.optimizers = _optimizers(encoder, self.heads, config)
        self._mined = False
        self._losses = _no_losses(self.tasks)
        self._orders: dict[int, tuple[int, Ints]] = {}

    @property
    def total_steps(self) -> int:
        """Steps in all; the last epoch may have fewer than others."""
        return self.plan.steps

    @contextmanager
    def training(self) -> Iterator[None]:
        """Let the tables have sparse gradients, so that a step costs what it reads and not what there is."""
        self.encoder.sparse = True
        try:
            yield
        finally:
            self.encoder.sparse = False
            self.encoder.eval()
            if self._keeps_nli:
                layers = copy.deepcopy(self.heads.nli).cpu().eval()
                self.encoder.relations = Relations(layers, self.heads.gain)

    @property
    def _keeps_nli(self) -> bool:
        return any(isinstance(task, Inference) for task in self.tasks)

    def weights(self) -> Weights:
        """Return the encoder's weights, and those of the head of inference pairs where these are learnt from."""
        nli = self.heads.nli.state_dict() if self._keeps_nli else {}
        return super().weights() | {_NLI + name: weight for name, weight in nli.items()}

    def load_weights(self, weights: Weights) -> None:
        """Restore them; a checkpoint of an earlier version has the encoder's alone."""
        nli = {name.removeprefix(_NLI): own for name, own in weights.items() if name.startswith(_NLI)}
        super().load_weights({name: own for name, own in weights.items() if not name.startswith(_NLI)})
        if nli:
            self.heads.nli.load_state_dict(nli)

    def batches(self, epoch: int, done: int) -> Iterator[Batch]:
        """Draw the examples of each step's task: each once in a pass, in an order of that pass's own."""
        first, size = (epoch - 1) * self.plan.epoch, self.config.batch_size
        for step in range(first + done, min(first + self.plan.epoch, self.plan.steps)):
            number = self.plan.task(step)
            task = self.tasks[number]
            passes, place = divmod(self.plan.turns(step), _steps_of_pass(task.size, self.config))
            if number not in self._orders or self._orders[number][0] != passes:
                order = np.random.default_rng((self.seed, number, passes)).permutation(task.size)
                self._orders[number] = passes, order
            yield Batch(step, number, self._orders[number][1][place * size : (place + 1) * size])

    def step(self, batch: Batch) -> dict[str, float]:
        """Update encoder and heads once, for one task."""
        if batch.step == self.plan.alone and self.plan.alone and not self._mined:
            self._mine()
        task = self.tasks[batch.task]
        # Seeds of a step's own: one that is done again after a stop draws the same.
        torch.manual_seed(self.seed * 1_000_003 + batch.step)
        vectors = self._vectors(task.sides(batch.rows), batch.step)
        loss = task.loss(vectors, batch.rows, self.heads, self.config)
        value = loss.item()
        if self.plan.translations and not isinstance(task, Translation):
            loss = self.config.task_weight * loss
        factor = rate_factor(batch.step, self.plan.steps, self.config)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
            for group in optimizer.param_groups:
                group["lr"] = factor * group["initial_lr"]
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        total, count = self._losses[batch.task]
        self._losses[batch.task] = total + value, count + 1
        return {"loss": value}

    def facts(self, batch: Batch) -> dict[str, str]:
        """Return the task's name."""
        return {"task": self.tasks[batch.task].name}

    def end_epoch(self) -> Record:
        """Return each task's mean loss."""
        losses, self._losses = self._losses, _no_losses(self.tasks)
        named = zip(self.tasks, losses, strict=True)
        return {f"loss {task.name}": total / count for task, (total, count) in named if count}

    def _mine(self) -> None:
        """Find the hard negatives of every translation task, by the encoder as it is."""
        sides, config = (2 if self.config.bidirectional else 1), self.config
        for number, task in enumerate(self.tasks):
            if isinstance(task, Translation):
                rng = np.random.default_rng((self.seed, number))
                found = mine(
                    self.encoder, task.columns, sides, config.hard_negatives, config.mining_pool, rng
                )
                task.negatives = found if all(rows.shape[1] for rows in found) else []
        self._mined = True

    def _vectors(self, sides: Sequence[Sentences], step: int) -> Sequence[Tensor]:
        sentences, drop = joined(sides), None
        if self.config.word_dropout:
            words = int((sentences.ids < self.encoder.hashing.words).sum())
            drop = np.random.default_rng((self.seed, step)).random(words) < self.config.word_dropout
        vectors: Tensor = self.encoder(self.encoder.batch(sentences, drop))
        return vectors.split([len(side) for side in sides])

    def state_dict(self) -> State:
        """Return weights, optimisers, hard negatives and the epoch's losses."""
        return {
            "encoder": self.encoder.state_dict(),
            "heads": self.heads.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "negatives": [
                [torch.from_numpy(rows) for rows in task.negatives] if isinstance(task, Translation) else []
                for task in self.tasks
            ],
            "mined": self._mined,
            "losses": self._losses,
        }

    def load_state_dict(self, state: State) -> None:
        """Restore what `state_dict` returned."""
        self.encoder.load_state_dict(state["encoder"])
        self.heads.load_state_dict(state["heads"])
        for optimizer, its_state in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(its_state)
        for task, negatives in zip(self.tasks, state["negatives"], strict=True):
            if isinstance(task, Translation):
                task.negatives = [rows.numpy() for rows in negatives]
        self._mined, self._losses = state["mined"], state["losses"]

    def shortened(self, batch: Batch, size: int) -> Batch:
        """Return the first examples."""
        return replace(batch, rows=batch.rows[:size])


def _no_losses(tasks: Sequence[Task]) -> list[tuple[float, int]]:
    """Return the sum of each task's losses in an epoch, and of how many steps: none yet."""
    return [(0.0, 0) for _ in tasks]


def _steps_of_pass(size: int, config: DualEncoderConfig) -> int:
    """Return the batches of one pass; what is left over at its end waits for another."""
    return max(1, size // config.batch_size)


def _optimizers(
    encoder: DualEncoder, heads: nn.Module, config: DualEncoderConfig
) -> list[torch.optim.Optimizer]:
    """Return SGD, or Adam that touches only the table rows of a step.

    Updates of the tables are `config.embedding_multiplier` times as large as those of other weights; under SGD that is
    the paper's factor on their gradients.
    """
    tables = encoder.embeddings()
    ids = {id(table) for table in tables}
    others = [weight for weight in chain(encoder.parameters(), heads.parameters()) if id(weight) not in ids]
    rate = config.learning_rate
    table_rate = rate * config.embedding_multiplier
    optimizers: list[torch.optim.Optimizer]
    if config.optimizer is Optimizer.SGD:
        optimizers = [
            torch.optim.SGD(tables, lr=table_rate),
            torch.optim.SGD(others, lr=rate, weight_decay=config.weight_decay),
        ]
    else:
        optimizers = [
            torch.optim.SparseAdam(tables, lr=table_rate, betas=_BETAS),
            torch.optim.AdamW(others, lr=rate, betas=_BETAS, weight_decay=config.weight_decay),
        ]
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return optimizers


def rate_factor(step: int, steps: int, config: DualEncoderConfig) -> float:
    """Return the part of the learning rate at a step (from 0) of so many: up during warm-up, down to the end."""
    rising = config.warmup * steps
    if step < rising:
        return (step + 1) / (rising + 1)
    return (steps - step) / (steps - rising) if config.decay else 1.0
