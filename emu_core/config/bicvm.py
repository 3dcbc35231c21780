"""Settings of BiCVM."""

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from emu_core.config.settings import Settings
from emu_core.errors import TrainingError


class Composition(StrEnum):
    """How the vector of a sentence is made of its words' vectors."""

    ADD = "add"  # their sum, eq. 3
    BIGRAM = "bigram"  # the sum of tanh(x_{i-1} + x_i): Hermann and Blunsom's paper that follows (ACL 2014)


@dataclass(frozen=True)
class BicvmConfig(Settings):
    """BiCVM's settings (Hermann and Blunsom, section 4.1 where no other is named).

    The paper doesn't say how large its batches are, nor how wide the Gaussian of the first weights is.

    Raises:
        TrainingError: a value is outside its range.
    """

    composition: Composition = Composition.ADD  # section 3.2
    dim: int = 40
    margin: float = 50.0  # "margin size"; eq. 6 prints 1
    noise: int = 50  # sentences drawn for each pair in each epoch; 0: ours, the other sentences of its batch
    both_ways: bool = False  # ours: noise for the second sentence too, in the first's language
    l2_weight: float = 1.0  # lambda, beside the losses of the whole corpus added up (eq. 7)
    learning_rate: float = 0.1  # AdaGrad's step-size
    epochs: int = 50  # "iterations"
    batch_size: int = 64  # ours
    init_deviation: float = 0.1  # ours
    min_count: int = 1  # ours: words seen more rarely in the training text are unknown
    word_dropout: float = 0.0  # ours: share of the words that each batch leaves out
    document_sentences: int = 1  # section 5: pairs of so many sentences in a row; 0: the text's own documents

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.composition not in list(Composition):
            raise TrainingError(f"no composition '{self.composition}'; there are: {', '.join(Composition)}")
        lowest = {"noise": 0, "document_sentences": 0}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and not (type(value) is int and value >= lowest.get(field.name, 1)):
                least = lowest.get(field.name, 1)
                raise TrainingError(f"{field.name} must be a whole number, {least} or more, not {value}")
            if field.type is float and not (math.isfinite(value) and value >= 0):
                raise TrainingError(f"{field.name} must be a number, 0 or more, not {value}")
        for name in ("learning_rate", "margin", "init_deviation"):
            if not getattr(self, name):
                raise TrainingError(f"{name} must be a number above 0, not 0")
        if self.word_dropout >= 1:
            raise TrainingError(
                f"word_dropout must be below 1, not {self.word_dropout}; it is a share of the words"
            )
        if self.noise == 0 and self.batch_size == 1:
            raise TrainingError(
                "a batch of one pair has no other sentences to be its noise; raise batch_size, or noise"
            )


# Found by measuring on Multi30k, en-de. The noise is the batch's other sentences, so that none is encoded for it alone;
# small first weights leave rare words little to say; words left out keep a sentence from leaning on its rarest word.
TUNED_BICVM: dict[str, Any] = {
    "dim": 256,
    "noise": 0,
    "both_ways": True,
    "learning_rate": 0.2,
    "epochs": 20,
    "batch_size": 256,
    "init_deviation": 0.005,
    "word_dropout": 0.3,
}
