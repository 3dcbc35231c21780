"""The loop that trains layers over a frozen encoder: stages, early stopping, progress, going on after a kill."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from emu_core.config import FmdaConfig, MeaningLanguageConfig
from emu_core.errors import CancelledError, TrainingError
from emu_core.runs.checkpoint import Checkpoint, Tensors
from emu_core.trainers.loop import Fitted, Record

Losses = dict[str, Tensor]
Score = Callable[[], float]


@dataclass(frozen=True)
class Stage:
    """A part of training with weights and losses of its own.

    Attributes:
        name: for the log.
        weights: what it trains; everything else stays.
        pairs: (P, 2), row numbers of sentences.
        losses: of pairs (B, 2) and, at the same places, negatives (B, 2): scalars by name, weighted.
        score: held-out accuracy in percent, which chooses the epoch; None keeps the last one's weights.
    """

    name: str
    weights: list[nn.Parameter]
    pairs: Tensor
    losses: Callable[[Tensor, Tensor], Losses]
    score: Score | None


@dataclass
class _Position:
    """How far training is, in whole epochs.

    Attributes:
        stage: number of the stage, from 0.
        epoch: of this stage, from 1: the next to be trained.
        step: steps done in all.
        epochs: epochs done in all.
        best_score: of this stage; -1 before its first epoch.
        best_epoch: of this stage; 0 before its first.
    """

    stage: int = 0
    epoch: int = 1
    step: int = 0
    epochs: int = 0
    best_score: float = -1.0
    best_epoch: int = 0


def fit_stages(
    model: nn.Module,
    stages: Sequence[Stage],
    negatives: Tensor,
    config: FmdaConfig | MeaningLanguageConfig,
    *,
    seed: int,
    on_record: Callable[[Record], None],
    should_stop: Callable[[], bool],
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Train a model in place, stage by stage, by Adam.

    A stage ends after `config.epochs`, or when its held-out accuracy has not risen for `config.patience` epochs; the
    weights of its best epoch, of equals the first, are kept.

    Args:
        model: on its device.
        stages: in their order.
        negatives: (N, each), rows of negatives of every sentence; each epoch uses the next column.
        config: batch size, learning rate, epochs and patience.
        seed: of the order of the pairs; the same seed on the same CPU gives the same weights.
        on_record: called with a dict after each step and each epoch.
        should_stop: asked before each step.
        checkpoint: written at the ends of epochs; if there is one already, training goes on from it.

    Returns:
        The best epoch of the last stage, counted from the first epoch of all.

    Raises:
        TrainingError: a loss is no longer a finite number.
        CancelledError: `should_stop` said so.
    """
    at, best = _Position(), {}
    resumed = checkpoint.read() if checkpoint is not None else None
    optimizer: torch.optim.Optimizer | None = None
    if resumed is not None:
        at = _Position(**resumed[1])
    while at.stage < len(stages):
        stage = stages[at.stage]
        for weight in model.parameters():
            weight.requires_grad_(False)
        for weight in stage.weights:
            weight.requires_grad_(True)
        optimizer = torch.optim.Adam(stage.weights, lr=config.learning_rate)
        best = _state(model)
        if resumed is not None:
            best = _restore(model, optimizer, resumed[0])
            resumed = None
        while at.epoch <= config.epochs and at.epoch - at.best_epoch <= config.patience:
            record = _epoch(model, stage, optimizer, negatives, config, seed, at, on_record, should_stop)
            if stage.score is None:
                at.best_epoch, best = at.epoch, _state(model)
            else:
                record["dev_accuracy"] = score = stage.score()
                if score > at.best_score:
                    at.best_score, at.best_epoch, best = score, at.epoch, _state(model)
            on_record(record)
            at.epoch, at.epochs = at.epoch + 1, at.epochs + 1
            if checkpoint is not None and checkpoint.due:
                _write(checkpoint, model, optimizer, best, at)
        model.load_state_dict(best)
        selected = at.epochs - (at.epoch - 1) + at.best_epoch
        at.stage, at.epoch, at.best_score, at.best_epoch = at.stage + 1, 1, -1.0, 0
    for weight in model.parameters():
        weight.requires_grad_(True)
    return Fitted(selected, ())


def _epoch(
    model: nn.Module,
    stage: Stage,
    optimizer: torch.optim.Optimizer,
    negatives: Tensor,
    config: FmdaConfig | MeaningLanguageConfig,
    seed: int,
    at: _Position,
    on_record: Callable[[Record], None],
    should_stop: Callable[[], bool],
) -> Record:
    # A generator for each epoch: one that is trained again after a kill draws the same order.
    draws = torch.Generator().manual_seed(seed * 1_000_003 + at.stage * 10_007 + at.epoch)
    order = torch.randperm(len(stage.pairs), generator=draws).to(stage.pairs.device)
    column = (at.epoch - 1) % negatives.shape[1]
    model.train()
    total = 0.0
    for rows in order.split(config.batch_size):
        if should_stop():
            raise CancelledError(f"cancelled after {at.step} steps")
        pairs = stage.pairs[rows]
        losses = stage.losses(pairs, negatives[pairs, column])
        loss = torch.stack(list(losses.values())).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        at.step += 1
        values = {name: value.item() for name, value in losses.items()} | {"loss": loss.item()}
        _check_finite(values, at.step)
        total += values["loss"] * len(rows)
        on_record({"kind": "step", "step": at.step, "epoch": at.epochs + 1, "stage": stage.name, **values})
    model.eval()
    return {
        "kind": "epoch",
        "stage": stage.name,
        "epoch": at.epochs + 1,
        "step": at.step,
        "loss": total / len(order),
    }


def _check_finite(values: dict[str, float], step: int) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise TrainingError(
                f"the {name.replace('_', '-')} loss is {value} at step {step}; lower the learning rate "
                "(--learning-rate) and train again"
            )


def _state(model: nn.Module) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _write(
    checkpoint: Checkpoint, model: nn.Module, optimizer: torch.optim.Optimizer, best: Tensors, at: _Position
) -> None:
    tensors = {f"model/{name}": tensor for name, tensor in _state(model).items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    for number, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"adam/{number}/{name}": value for name, value in moments.items()}
    checkpoint.write(tensors, asdict(at))


def _restore(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Tensors) -> Tensors:
    def under(part: str) -> Tensors:
        return {name.removeprefix(part): tensor for name, tensor in tensors.items() if name.startswith(part)}

    model.load_state_dict(under("model/"))
    moments: dict[int, Tensors] = {}
    for name, value in under("adam/").items():
        number, _, moment = name.partition("/")
        moments.setdefault(int(number), {})[moment] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})
    return under("best/")
