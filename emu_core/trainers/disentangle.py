"""Training of layers over a frozen encoder's states: what FMDA and its baseline have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from emu_core.config import FmdaConfig, MeaningLanguageConfig
from emu_core.encoders.base import FloatArray
from emu_core.encoders.transformer.token_states import TokenStates
from emu_core.evaluation.template_retrieval import template_retrieval
from emu_core.evaluation.translation_retrieval import translation_retrieval
from emu_core.models.fmda import Fmda
from emu_core.models.meaning_language import MeaningLanguage
from emu_core.models.parts import Part
from emu_core.runs.checkpoint import State
from emu_core.trainers.disentangle_data import HeldOut
from emu_core.trainers.fit import Stage, Trainer

Losses = dict[str, Tensor]
Score = Callable[[], float]
BATCH = 1024  # sentences encoded at a time


@dataclass(frozen=True)
class Objective:
    """A stage of training: its weights and its data.

    Attributes:
        name: of the stage, for the log.
        weights: what it trains; all other weights stay as they are.
        pairs: (P, 2), row numbers of sentences.
        losses: of pairs (B, 2) and, at the same places, negatives (B, 2): scalars by name, weighted.
        score: held-out accuracy in percent, which chooses the epoch; None takes the last one's weights.
    """

    name: str
    weights: list[nn.Parameter]
    pairs: Tensor
    losses: Callable[[Tensor, Tensor], Losses]
    score: Score | None


@dataclass(frozen=True)
class Batch:
    """Pairs of sentences.

    Attributes:
        pairs: (B, 2), row numbers.
        negatives: (B, 2), row numbers of a negative of each.
    """

    pairs: Tensor
    negatives: Tensor

    def __len__(self) -> int:
        """Return B."""
        return len(self.pairs)


class DisentangleTrainer(Trainer[Batch]):
    """Trains a model by Adam, a stage for each objective.

    A stage ends when its held-out accuracy has not risen for `config.patience` epochs.

    Attributes:
        model: on its device.
        objectives: in their order.
    """

    weighs_by_size = True
    model: Fmda | MeaningLanguage
    optimizer: torch.optim.Optimizer

    def __init__(
        self,
        model: Fmda | MeaningLanguage,
        objectives: Sequence[Objective],
        negatives: Tensor,
        config: FmdaConfig | MeaningLanguageConfig,
        *,
        seed: int,
    ) -> None:
        """Take a model and what it is trained on.

        Args:
            model: on its device.
            objectives: in their order.
            negatives: (N, each), rows of negatives of every sentence; each epoch uses the next column.
            config: batch size, learning rate, epochs and patience.
            seed: of the order of the pairs.
        """
        self.model, self.objectives, self.negatives = model, objectives, negatives
        self.config, self.seed = config, seed
        self.stages = [
            Stage(
                config.epochs, -(-len(one.pairs) // config.batch_size), one.score, config.patience, one.name
            )
            for one in objectives
        ]
        self.stage = 0

    @contextmanager
    def training(self) -> Iterator[None]:
        """Leave all weights trainable, whatever the stages froze."""
        try:
            yield
        finally:
            self.model.requires_grad_(True)

    def start_stage(self, number: int) -> None:
        """Let gradients reach the stage's weights alone."""
        self.stage, weights = number, self.objectives[number].weights
        self.model.requires_grad_(False)
        for weight in weights:
            weight.requires_grad_(True)
        self.optimizer = torch.optim.Adam(weights, lr=self.config.learning_rate)

    def batches(self, epoch: int, done: int) -> list[Batch]:
        """Draw the order of the pairs by a generator of the epoch's own, which another process draws alike."""
        pairs = self.objectives[self.stage].pairs
        draws = torch.Generator().manual_seed(self.seed * 1_000_003 + self.stage * 10_007 + epoch)
        order = torch.randperm(len(pairs), generator=draws).to(pairs.device)
        column = self.negatives[:, (epoch - 1) % self.negatives.shape[1]]  # (N,)
        return [
            Batch(pairs[rows], column[pairs[rows]]) for rows in order.split(self.config.batch_size)[done:]
        ]

    def step(self, batch: Batch) -> dict[str, float]:
        """Update the stage's weights once."""
        losses = self.objectives[self.stage].losses(batch.pairs, batch.negatives)
        loss = torch.stack(list(losses.values())).sum()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return {name: value.item() for name, value in losses.items()} | {"loss": loss.item()}

    def state_dict(self) -> State:
        """Return model and optimiser; what else a step reads is drawn anew."""
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: State) -> None:
        """Restore what `state_dict` returned."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])

    def shortened(self, batch: Batch, size: int) -> Batch:
        """Return the first pairs."""
        return Batch(batch.pairs[:size], batch.negatives[:size])


def weighted(config: FmdaConfig | MeaningLanguageConfig, terms: Mapping[str, Callable[[], Tensor]]) -> Losses:
    """Compute the losses by name, each times its weight in the settings; one of weight 0 is left out."""
    weights = {name: getattr(config, f"{name}_weight") for name in terms}
    return {name: weights[name] * loss() for name, loss in terms.items() if weights[name]}


def translation_score(model: Fmda | MeaningLanguage, held_out: HeldOut | None) -> Score | None:
    """Return what measures the meaning embeddings: Acc@1 in percent, cross-lingual, mean over pairs and both ways."""
    if held_out is None:
        return None

    def score() -> float:
        vectors = part_vectors(model, held_out.states, Part.MEANING)
        found = []
        for pairs in held_out.pairs:
            first, second = (vectors[_rows(column)] for column in pairs.T)
            found += [translation_retrieval(a, b).accuracy for a, b in ((first, second), (second, first))]
        return float(np.mean(found))

    return score


def template_score(model: Fmda, held_out: HeldOut | None) -> Score | None:
    """Return what measures the template embeddings: Acc@1 in percent in template retrieval, mean over languages."""
    if held_out is None or not held_out.templates:
        return None

    def score() -> float:
        vectors = part_vectors(model, held_out.states, Part.TEMPLATE)
        found = []
        for pairs in held_out.templates:
            sources, targets = (vectors[_rows(column)] for column in pairs.T)
            found.append(template_retrieval(sources, targets).accuracy)
        return float(np.mean(found))

    return score


@torch.no_grad()
def part_vectors(model: Fmda | MeaningLanguage, states: TokenStates, part: Part) -> FloatArray:
    """Compute one embedding of every sentence: (N, d)."""
    every = torch.arange(len(states), device=states.starts.device)
    return torch.cat([model(*states.batch(some)).parts()[part] for some in every.split(BATCH)]).cpu().numpy()


def _rows(column: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = column.cpu().numpy()
    return rows
