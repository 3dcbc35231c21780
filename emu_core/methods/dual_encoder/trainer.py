"""Training of the dual encoder (Chidambaram et al. 2019), whose tasks take turns."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.data.texts.tasks import Tasks
from emu_core.errors import TrainingError
from emu_core.methods.dual_encoder.batch import Ints, SentenceBatch, joined
from emu_core.methods.dual_encoder.encoder import DualEncoder
from emu_core.methods.dual_encoder.heads import TaskHeads
from emu_core.methods.dual_encoder.relations import Relations
from emu_core.methods.dual_encoder.settings import DualEncoderConfig, Optimizer
from emu_core.methods.dual_encoder.tasks import Inference, Translation, mine, prepare_tasks
from emu_core.runs.checkpoint import CheckpointState
from emu_core.runs.log import LogValues
from emu_core.training.fit import Stage, Trainer, Weights

_BETAS = (0.9, 0.98)
_NLI = "heads.nli."


@dataclass(frozen=True)
class TaskPlan:
    """The schedule of the tasks."""

    steps: int  # in total
    epoch: int  # steps per epoch
    alone: int  # first steps, on translation only, before hard negatives are mined
    translations: int  # number of translation tasks, which come first
    tasks: int  # number of tasks

    @classmethod
    def of(cls, tasks: Tasks, config: DualEncoderConfig) -> "TaskPlan":
        """Make a plan; an epoch is a pass over the largest translation set, or else over the largest set.

        Raises:
            TrainingError: there is no task.
        """
        sizes, translations = tasks.sizes, len(tasks.translation)
        if not sizes:
            raise TrainingError(
                "the dual encoder has no task; provide parallel text, in one or more files of pairs"
            )
        epoch = max(_steps_of_pass(size, config) for size in sizes[: translations or None]) * len(sizes)
        steps = config.steps if config.epochs is None else min(config.steps, config.epochs * epoch)
        mines = bool(config.hard_negatives and translations)
        return cls(steps, epoch, round(config.mine_after * steps) if mines else 0, translations, len(sizes))

    def task(self, step: int) -> int:
        """Return the number of the task of a step (from 0)."""
        return step % self.translations if step < self.alone else (step - self.alone) % self.tasks

    def turns(self, step: int) -> int:
        """Return the number of previous steps of a step's task."""
        if step < self.alone:
            return step // self.translations
        number = self.task(step)
        alone = len(range(number, self.alone, self.translations)) if number < self.translations else 0
        return alone + (step - self.alone) // self.tasks


@dataclass(frozen=True)
class DualEncoderBatch:
    """The examples of a step."""

    step: int  # from 0
    task: int  # number of the task
    rows: Ints  # (B,), examples of the task

    def __len__(self) -> int:
        return len(self.rows)


class DualEncoderTrainer(Trainer[DualEncoderBatch]):
    """Trains a dual encoder (Chidambaram et al. 2019, sections 2.2 and 3.2).

    With hard negatives, the first steps train translation ranking only; the resulting encoder mines the negatives, and
    goes on with all tasks in turn. In the paper, the encoder that mines them is another one.
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
        """Tokenise the tasks and initialise the heads.

        Args:
            encoder: an untrained encoder, on its device.
            tasks: one or more tasks.
            config: the settings; those of the architecture must be the encoder's.
            seed: for heads, order and dropout; the same seed on the same CPU gives the same weights.
            score: measures a held-out score, which chooses the epoch; None takes the last one.

        Raises:
            TrainingError: there is no task, or one is too small.
        """
        self.plan, self.tasks = TaskPlan.of(tasks, config), prepare_tasks(encoder, tasks)
        self.stages = [Stage(math.ceil(self.plan.steps / self.plan.epoch), self.plan.epoch, score)]
        self.model = self.encoder = encoder
        self.config, self.seed = config, seed
        torch.manual_seed(seed)
        gain = math.sqrt(encoder.dim) if config.normalised else 1.0
        self.heads = TaskHeads(encoder.dim, config.head_hidden, config.nli_hidden, gain).to(encoder.device)
        self.optimizers = _optimizers(encoder, self.heads, config)
        self._mined = False
        self._losses = [(0.0, 0)] * len(self.tasks)  # for each task, sum and number in this epoch
        self._orders: dict[int, tuple[int, Ints]] = {}

    @property
    def total_steps(self) -> int:
        """Total number of steps; the last epoch may be shorter."""
        return self.plan.steps

    @contextmanager
    def training(self) -> Iterator[None]:
        """Use sparse gradients for the tables, so that a step's time does not depend on their size."""
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
        """Return the weights of the encoder and, if it is trained on NLI pairs, of their head."""
        nli = self.heads.nli.state_dict() if self._keeps_nli else {}
        return super().weights() | {_NLI + name: weight for name, weight in nli.items()}

    def load_weights(self, weights: Weights) -> None:
        """Restore what `weights` returned."""
        nli = {name.removeprefix(_NLI): weight for name, weight in weights.items() if name.startswith(_NLI)}
        super().load_weights({name: weight for name, weight in weights.items() if not name.startswith(_NLI)})
        if nli:
            self.heads.nli.load_state_dict(nli)

    def sentences(self, batch: DualEncoderBatch) -> int:
        """Return the number of sentences, without hard negatives."""
        return len(self.tasks[batch.task].columns) * len(batch)

    def batches(self, epoch: int, done: int) -> Iterator[DualEncoderBatch]:
        """Draw the examples of each step's task, in a new order for each pass over the task."""
        first, size = (epoch - 1) * self.plan.epoch, self.config.batch_size
        for step in range(first + done, min(first + self.plan.epoch, self.plan.steps)):
            number = self.plan.task(step)
            task = self.tasks[number]
            passes, step_of_pass = divmod(self.plan.turns(step), _steps_of_pass(task.size, self.config))
            if number not in self._orders or self._orders[number][0] != passes:
                order = np.random.default_rng((self.seed, number, passes)).permutation(task.size)
                self._orders[number] = passes, order
            yield DualEncoderBatch(
                step, number, self._orders[number][1][step_of_pass * size : (step_of_pass + 1) * size]
            )

    def step(self, batch: DualEncoderBatch) -> dict[str, float]:
        """Update encoder and heads once, for one task."""
        if batch.step == self.plan.alone and self.plan.alone and not self._mined:
            self._mine()
        task = self.tasks[batch.task]
        # A seed for each step, so that resumed training draws the same.
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

    def facts(self, batch: DualEncoderBatch) -> dict[str, str]:
        """Return the task's name."""
        return {"task": self.tasks[batch.task].name}

    def end_epoch(self) -> LogValues:
        """Return each task's mean loss."""
        named = list(zip(self.tasks, self._losses, strict=True))
        self._losses = [(0.0, 0)] * len(self.tasks)
        return {f"loss {task.name}": total / count for task, (total, count) in named if count}

    def _mine(self) -> None:
        """Find hard negatives for each translation task with the current encoder."""
        for number, task in enumerate(self.tasks):
            if isinstance(task, Translation):
                hard_negatives = mine(
                    self.encoder, task.columns, self.config, np.random.default_rng((self.seed, number))
                )
                task.negatives = hard_negatives if all(rows.shape[1] for rows in hard_negatives) else []
        self._mined = True

    def _vectors(self, sides: Sequence[SentenceBatch], step: int) -> Sequence[Tensor]:
        sentences, drop = joined(sides), None
        if self.config.word_dropout:
            words = int((sentences.ids < self.encoder.hashing.words).sum())
            drop = np.random.default_rng((self.seed, step)).random(words) < self.config.word_dropout
        vectors: Tensor = self.encoder(self.encoder.batch(sentences, drop))
        return vectors.split([len(side) for side in sides])

    def parts(self) -> dict[str, nn.Module]:
        """Return encoder and heads."""
        return {"encoder": self.encoder, "heads": self.heads}

    def state_dict(self) -> CheckpointState:
        """Return weights, optimisers, hard negatives and the epoch's losses."""
        return super().state_dict() | {
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "negatives": [
                [torch.from_numpy(rows) for rows in task.negatives] if isinstance(task, Translation) else []
                for task in self.tasks
            ],
            "mined": self._mined,
            "losses": self._losses,
        }

    def load_state_dict(self, state: CheckpointState) -> None:
        """Restore what `state_dict` returned."""
        super().load_state_dict(state)
        for optimizer, its_state in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(its_state)
        for task, negatives in zip(self.tasks, state["negatives"], strict=True):
            if isinstance(task, Translation):
                task.negatives = [rows.numpy() for rows in negatives]
        self._mined, self._losses = state["mined"], state["losses"]

    def shortened(self, batch: DualEncoderBatch, size: int) -> DualEncoderBatch:
        """Return the first examples."""
        return replace(batch, rows=batch.rows[:size])


def _steps_of_pass(size: int, config: DualEncoderConfig) -> int:
    """Return the number of batches in a pass; an incomplete last batch is left out."""
    return max(1, size // config.batch_size)


def _optimizers(
    encoder: DualEncoder, heads: nn.Module, config: DualEncoderConfig
) -> list[torch.optim.Optimizer]:
    """Return SGD, or Adam that only updates the table rows of a step.

    The learning rate of the tables is multiplied by `config.embedding_multiplier`; for SGD this is the paper's factor
    on their gradients.
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
    """Return the factor of the learning rate at a step (from 0): it rises during warm-up, then decays linearly."""
    rising = config.warmup * steps
    if step < rising:
        return (step + 1) / (rising + 1)
    return (steps - step) / (steps - rising) if config.decay else 1.0
