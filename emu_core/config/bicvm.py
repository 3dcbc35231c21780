"""Settings of BiCVM."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from emu_core.config.settings import Settings, setting
from emu_core.errors import TrainingError


class Composition(StrEnum):
    """How the vector of a sentence is made of its words' vectors."""

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
    """BiCVM's settings. The paper names neither its batch size nor the width of the first weights' Gaussian."""

    epochs: int = setting(
        50,
        "Passes over all pairs; the best one's weights are saved.",
        label="Epochs",
        source=_DATA,
        low=1,
        common=True,
    )
    dim: int = setting(
        40,
        "Length of a word's embedding, and of a sentence's.",
        label="Word embedding size",
        source=_DATA,
        low=1,
        common=True,
    )
    composition: Composition = setting(
        Composition.ADD,
        "A sentence's embedding: the sum of its words', or of tanh of the sums of two neighbours, which tells some "
        "orders of words apart.",
        label="Composition",
        source=f"{_HERMANN}, section 3.2",
        choices={Composition.ADD: "The sum of its words", Composition.BIGRAM: "The sum of its bigrams"},
        group=_ENCODER,
    )
    min_count: int = _encoder(
        1,
        "Words that the training text has more rarely than so often are unknown.",
        label="Minimum word count",
        low=1,
    )
    batch_size: int = _step(64, "Pairs in a step.", label="Batch size", low=1)
    learning_rate: float = _step(
        0.1,
        "Step size of the word embeddings (AdaGrad).",
        label="Learning rate",
        source=_DATA,
        above=0,
    )
    word_dropout: float = _step(
        0.0,
        "Share of the words left out at random in each batch, so that no sentence depends on one word.",
        label="Word dropout",
        low=0,
        below=1,
    )
    init_deviation: float = _step(
        0.1,
        "Standard deviation of the first weights, which are drawn from a Gaussian.",
        label="Standard deviation of initial weights",
        above=0,
    )
    margin: float = _loss(
        50.0,
        "A translation is to be so much nearer than another sentence.",
        label="Margin",
        source=f"{_DATA}; eq. 6 prints 1",
        above=0,
    )
    noise: int = _loss(
        50,
        "Sentences drawn for each pair in each epoch, to be farther than the translation; 0 takes the others of its "
        "batch (ours).",
        label="Noise samples per pair",
        source=_DATA,
        low=0,
    )
    both_ways: bool = _loss(
        False,
        "Noise in both languages of a pair, and not in the second alone.",
        label="Noise in both languages",
    )
    l2_weight: float = _loss(
        1.0,
        "Weight lambda of the L2 penalty, beside the losses of all pairs added up.",
        label="L2 weight (lambda)",
        source=f"{_DATA}, and eq. 7",
        low=0,
    )
    document_sentences: int = _loss(
        1,
        "Above 1, so many sentences in a row are learnt as one text; 0 takes the documents of the files.",
        label="Sentences per document",
        source=f"{_HERMANN}, section 5",
        low=0,
    )

    def check_together(self) -> None:
        """Check that a pair has noise."""
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
