"""The collapse alarm: do the vectors still tell sentences apart, and do the steps still teach anything."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import nn

from emu_core.encoders.base import Encoder, TokenIds
from emu_core.errors import TrainingError
from emu_core.trainers.emu_data import Labelled

MOST_SENTENCES = 128
"""Of the training sentences: more would cost an encoder such as e5-small a felt part of an epoch over a few hundred."""

CLOSE = 0.95
"""A mean cosine above this is an alarm: hardly any room is left between a sentence and the others..."""

NEARER = 0.5
"""... where training took half or more of the room there was. Some encoders begin there: two sentences of e5 have a
cosine of 0.8 or more whatever they say, and an encoder that goes from 0.94 to 0.96 has not collapsed."""

RANK_LEFT = 0.25
"""An effective rank below this share of the base encoder's is an alarm..."""

RANK_OF_INTENTS = 0.5
"""... where it is also below this share of the directions that keep the intents apart, one fewer than there are
intents. A softmax over few intents that is trained for long loses all other directions and finds its intents the better
for it: what that costs is for the forgetting check to say. Half, since intents that are rare take little of the
variance though they stand apart."""

ONE_CLASS = 0.2
"""So many single-class batches are an alarm: a softmax learns from them only that one class is always right."""

DEAD = 0.1
"""So many steps without a usable gradient are an alarm: they cost time and teach the encoder nothing."""

_NOISE = 1e-6  # singular values below it, for vectors of length 1, are float32's last places


@dataclass(frozen=True)
class Spread:
    """How far apart the vectors of some sentences are.

    Attributes:
        mean_cosine: over all pairs of two sentences.
        effective_rank: how many directions the vectors take, as if they took each alike; 0 where all are equal.
    """

    mean_cosine: float
    effective_rank: float


def spread(vectors: NDArray[np.float32]) -> Spread:
    """Measure vectors (N, d), N at least 2, by their directions.

    The effective rank is exp(H(p)) of Roy and Vetterli (2007), with p the shares of the squared singular values
    (theirs are of the singular values themselves), that is, of the variance. The vectors are centred first, or else an
    encoder whose vectors all point one way, as e5's do, would have a rank of little more than 1 to begin with.

    Raises:
        TrainingError: a vector is not finite.
    """
    if not np.isfinite(vectors).all():
        raise TrainingError(
            "the encoder's vectors are no longer finite numbers; lower the learning rate (--learning-rate) and train "
            "again"
        )
    wide = vectors.astype(np.float64)
    units = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    n = len(units)
    total = units.sum(axis=0)
    mean_cosine = float((total @ total - (units * units).sum()) / (n * (n - 1)))
    singular = np.linalg.svd(units - total / n, compute_uv=False)
    squares = singular[singular > _NOISE * np.sqrt(n)] ** 2
    shares = squares / squares.sum()
    rank = float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else 0.0
    return Spread(mean_cosine, rank)


class Watch:
    """Measures the spread of one fixed sample of the training sentences, first of the encoder as it is now.

    Attributes:
        base: the spread before training.
        intents: how many are trained on.
    """

    def __init__(self, encoder: Encoder, labelled: Mapping[str, Labelled], seed: int) -> None:
        """Draw the sample, by a generator of its own, so that training draws what it would have drawn."""
        ids: list[TokenIds] = [sentence for sentences in labelled.values() for sentence in sentences.ids]
        rows = np.random.default_rng([seed, MOST_SENTENCES]).permutation(len(ids))[:MOST_SENTENCES]
        self._encoder, self._ids = encoder, [ids[row] for row in sorted(rows.tolist())]
        self.intents = len({label for sentences in labelled.values() for label in sentences.labels})
        self.base = self.spread()

    def spread(self) -> Spread:
        """Of the encoder as it is now."""
        return spread(self._encoder.encode_ids(self._ids))


def gradient_length(weights: Iterable[nn.Parameter]) -> float:
    """The Euclidean length of the gradient of weights; 0 where none has one, not finite where a number in it is not.

    A step in which every number is below 1e-23 has length 0 too: in float32 their squares are.
    """
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    return (
        float(nn.utils.get_total_norm(gradients)) if gradients else 0.0
    )  # the largest number takes ten times longer


def spread_alarms(base: Spread, now: Spread, intents: int) -> list[str]:
    """A sentence for each way in which the vectors have collapsed.

    Args:
        base: of the encoder before training.
        now: of the same sentences since.
        intents: how many are trained on.
    """
    found = []
    if now.mean_cosine > CLOSE and 1 - now.mean_cosine <= NEARER * (1 - base.mean_cosine):
        found.append(
            f"the vectors have collapsed towards one direction: the mean cosine of two training sentences went from "
            f"{base.mean_cosine:.2f} to {now.mean_cosine:.2f}; lower the learning rate, or train for fewer epochs"
        )
    if now.effective_rank < min(RANK_LEFT * base.effective_rank, RANK_OF_INTENTS * (intents - 1)):
        found.append(
            f"the vectors have collapsed into few directions: the effective rank of the training sentences went from "
            f"{base.effective_rank:.1f} to {now.effective_rank:.1f}, too few to keep {intents} intents apart; lower "
            "the learning rate, or train for fewer epochs"
        )
    return found


def step_alarms(steps: int, one_class: int, dead: int) -> list[str]:
    """A sentence for each way in which too many steps taught nothing.

    Args:
        steps: done.
        one_class: how many of them had a batch of one intent only.
        dead: in how many the encoder's gradient was exactly zero, or not finite.
    """
    found = []
    if steps and one_class >= ONE_CLASS * steps:
        found.append(one_class_warning(steps, one_class))
    if steps and dead >= DEAD * steps:
        found.append(
            f"{dead} of {steps} steps left the encoder as it was, since its gradient was zero or not finite; lower the "
            "learning rate, or choose another method"
        )
    return found


def one_class_warning(steps: int, one_class: int) -> str:
    """Return the warning about batches of one intent, be they few or many."""
    return f"{one_class} of {steps} batches held one intent only and taught little; raise the batch size"
