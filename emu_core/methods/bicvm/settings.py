"""Settings of BiCVM."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from emu_core.errors import Fix, TrainingError
from emu_core.settings import PARTIAL_SHARE_LIMITS, Settings, setting


class Composition(StrEnum):
    """How the vector of a sentence is computed from those of its words."""

    ADD = "add"  # their sum, eq. 3
    BIGRAM = "bigram"  # the sum of tanh(x_{i-1} + x_i): Hermann and Blunsom's paper that follows (ACL 2014)


_HERMANN = "Hermann and Blunsom 2014"
_DATA = f"{_HERMANN}, section 4.1"
_ENCODER, _STEPS, _LOSS = "Encoder", "Steps", "Loss"
_encoder = partial(setting, group=_ENCODER)
_step = partial(setting, group=_STEPS)
_loss = partial(setting, group=_LOSS)


@dataclass(frozen=True)
class BicvmConfig(Settings):
    """BiCVM's settings. The paper states neither the batch size nor the deviation of the initial weights."""

    epochs: int = setting(
        50,
        "Passes over all pairs; the weights of the best one are saved.",
        source=_DATA,
        low=1,
        common=True,
    )
    dim: int = setting(
        40,
        "Length of the embeddings of words and sentences.",
        label="Word embedding size",
        source=_DATA,
        low=1,
        common=True,
    )
    composition: Composition = setting(
        Composition.ADD,
        "The embedding of a sentence: the sum of its words, or the sum of tanh of each two adjacent words, which takes "
        "some account of word order.",
        source=f"{_HERMANN}, section 3.2",
        choices={Composition.ADD: "The sum of its words", Composition.BIGRAM: "The sum of its bigrams"},
        group=_ENCODER,
    )
    min_count: int = _encoder(
        1,
        "Words that occur less often in the training text are unknown.",
        label="Minimum word count",
        low=1,
    )
    batch_size: int = _step(64, "Pairs in a step.", low=1)
    learning_rate: float = _step(
        0.1,
        "Step size of the word embeddings (AdaGrad).",
        source=_DATA,
        above=0,
    )
    word_dropout: float = _step(
        0.0,
        "Share of the words left out at random in each batch, so that no sentence depends on a single word.",
        **PARTIAL_SHARE_LIMITS,
    )
    init_deviation: float = _step(
        0.1,
        "Standard deviation of the Gaussian that the initial weights are drawn from.",
        label="Standard deviation of initial weights",
        above=0,
    )
    margin: float = _loss(
        50.0,
        "How much nearer a translation should be than another sentence.",
        source=f"{_DATA}; eq. 6 prints 1",
        above=0,
    )
    noise: int = _loss(
        50,
        "Sentences drawn for each pair in each epoch, which should be farther away than the translation; 0 takes the "
        "other sentences of the batch (ours).",
        label="Noise samples per pair",
        source=_DATA,
        low=0,
    )
    both_ways: bool = _loss(
        False,
        "Noise in both languages of a pair instead of the second only.",
        label="Noise in both languages",
    )
    l2_weight: float = _loss(
        1.0,
        "Weight lambda of the L2 penalty, relative to the sum of the losses of all pairs.",
        label="L2 weight (lambda)",
        source=f"{_DATA}, and eq. 7",
        low=0,
    )
    document_sentences: int = _loss(
        1,
        "Number of consecutive sentences that are combined into one text; 0 uses the documents of the files.",
        label="Sentences per document",
        source=f"{_HERMANN}, section 5",
        low=0,
    )

    def check_together(self) -> None:
        """Check that there is noise for each pair."""
        if self.noise == 0 and self.batch_size == 1:
            raise TrainingError(
                "a batch of one pair has no other sentences to be its noise; raise ",
                Fix("batch_size"),
                " or ",
                Fix("noise"),
            )


# Measured on Multi30k, en-de. Noise from the same batch need not be encoded separately; with small initial weights,
# rare words have little influence; word dropout prevents a sentence from depending on its rarest word.
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
