"""A trained system of Emu's benchmark, and the systems that others train on the same encoder and labels today."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.costs import Took

Encode = Callable[[Sequence[str]], NDArray[np.floating]]
Classify = Callable[[Sequence[str]], Sequence[str]]
THEIR_RATE = 2e-5  # what sentence-transformers' and SetFit's documentation trains with
LDA_SHRINKAGE = 0.5


class Peer(StrEnum):
    """A system of others."""

    LOGISTIC = "logistic-regression"
    LDA = "lda"
    SOFTMAX = "st-softmax"
    TRIPLET = "st-batch-all-triplet"
    RANKING = "st-multiple-negatives"
    COSENT = "st-cosent"
    SETFIT = "setfit"

    @property
    def is_frozen(self) -> bool:
        """Whether the encoder stays as it is; there is then nothing that a seed or a learning rate could change."""
        return self in (Peer.LOGISTIC, Peer.LDA)


@dataclass(frozen=True)
class System:
    """A trained system.

    Attributes:
        encode: sentences to vectors (N, d), whose nearest neighbours are measured.
        classify: sentences to intents; None where the system has no classifier.
        took: how long training took.
        facts: settings and counts that a reader should see.
    """

    encode: Encode
    classify: Classify | None = None
    took: Took = field(default_factory=Took)
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """The budget of a peer: the same as ours.

    Attributes:
        epochs: in each of which every sentence comes once; with losses that take pairs, once as the first of one.
        batch_size: sentences, or pairs, a step.
        learning_rate: of AdamW, falling to 0 in a line, without warm-up: the trainer's defaults.
        seed: of every draw.
        device: where to train.
    """

    epochs: int
    batch_size: int
    learning_rate: float
    seed: int
    device: str
