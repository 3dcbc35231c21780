"""Settings of the multi-task dual encoder."""

from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from typing import Any

from emu_core.errors import Fix, TrainingError
from emu_core.settings import PARTIAL_SHARE_LIMITS, Settings, setting


class Optimizer(StrEnum):
    """The optimiser of the weights."""

    SGD = "sgd"
    ADAM = "adam"  # updates only the rows of the embedding tables that a step reads


_CHIDAMBARAM = "Chidambaram et al. 2019"
_MODEL, _TASKS, _CONFIGURATION = (
    f"{_CHIDAMBARAM}, section 2.1", f"{_CHIDAMBARAM}, section 2.2", f"{_CHIDAMBARAM}, section 3.2",
)  # fmt: skip
_ENCODING, _STEPS, _LOSS = "Encoder", "Steps", "Loss"
_encoder = partial(setting, group=_ENCODING)
_layer = partial(_encoder, matters=lambda config: config.layers > 0)
_ngram = partial(_encoder, matters=lambda config: config.ngram_max > 0)
_step = partial(setting, group=_STEPS)
_loss = partial(setting, group=_LOSS)
_hard_negative = partial(_loss, matters=lambda config: config.hard_negatives > 0)


@dataclass(frozen=True)
class DualEncoderConfig(Settings):
    """The dual encoder's settings, by default the paper's.

    Without n-grams and layers, the encoder is a mean of word vectors (`SUM_OF_WORDS`).
    """

    epochs: int | None = setting(
        None,
        "Maximum number of passes over the largest set of translations; the weights of the best one are saved.",
        low=1,
        common=True,
        matters=lambda config: config.epochs is not None,
    )
    steps: int = setting(
        30_000_000,
        "Maximum number of training steps.",
        source=_CONFIGURATION,
        low=1,
        common=True,
        matters=lambda config: config.epochs is None,
    )
    hard_negatives: int = setting(
        5,
        "Sentences for each pair that are similar to the translation but wrong, found with a first model; 0 for none.",
        label="Hard negatives per pair",
        source=_TASKS,
        low=0,
        common=True,
    )
    layers: int = _encoder(
        3,
        "Layers of the transformer; without layers (0), the embedding is the mean of the word embeddings.",
        source=_MODEL,
        low=0,
    )
    dim: int = _encoder(
        512,
        "Length of a sentence's embedding.",
        label="Sentence embedding size",
        source=_MODEL,
        low=1,
    )
    heads: int = _layer(
        8,
        "Attention heads of each layer.",
        label="Attention heads",
        source=_MODEL,
        low=1,
    )
    filter_dim: int = _layer(
        2048,
        "Width of the feed-forward part of each layer.",
        label="Feed-forward size",
        source=_MODEL,
        low=1,
    )
    pre_norm: bool = _layer(
        False,
        "Layer norms before the sub-layers instead of after them.",
        label="Pre-norm layers",
    )
    position_scale: float = _layer(
        1.0,
        "Factor of the sinusoidal position embeddings; 0 ignores word order.",
        label="Scale of position embeddings",
        low=0,
    )
    embedding_dim: int = _encoder(
        320,
        "Length of a word's embedding.",
        label="Word embedding size",
        source=_CONFIGURATION,
        low=1,
    )
    # The first bucket is for a text without words.
    word_buckets: int = _encoder(
        210_000,
        "Rows of the table that words are hashed into.",
        source=f"{_CONFIGURATION}: 200,000 words and 10,000 buckets for others; here all words are hashed",
        low=2,
    )
    ngram_buckets: int = _ngram(
        200_000,
        "Rows of the table that character n-grams are hashed into.",
        label="N-gram buckets",
        source=_CONFIGURATION,
        low=1,
    )
    ngram_min: int = _ngram(
        3,
        "Length of the shortest n-grams in characters.",
        label="Shortest character n-gram",
        source=_CONFIGURATION,
        low=1,
    )
    ngram_max: int = _encoder(
        4,
        "Length of the longest n-grams in characters; 0 uses no n-grams.",
        label="Longest character n-gram",
        source=_CONFIGURATION,
        low=0,
    )
    table_range: float = _encoder(
        0.1,
        "The initial weights of the tables are drawn between this value and its negative; larger values separate words "
        "that are not in the training text.",
        label="Range of initial embeddings",
        above=0,
    )
    max_tokens: int = _encoder(
        64,
        "Number of words of a sentence that are read; the rest is cut off.",
        label="Maximum sequence length",
        source=f"{_CHIDAMBARAM}, footnote 12",
        low=1,
    )
    normalised: bool = _encoder(
        False,
        "Normalise embeddings to length 1, so that scores are cosines.",
        label="Unit-length embeddings",
    )
    batch_size: int = _step(
        100,
        "Pairs in a step; each is ranked against the others of its batch.",
        source=_CONFIGURATION,
        low=2,
    )
    optimizer: Optimizer = setting(
        Optimizer.SGD,
        "The optimiser of the weights.",
        label="Optimiser",
        source=_CONFIGURATION,
        choices={Optimizer.ADAM: "Adam", Optimizer.SGD: "Gradient descent (SGD)"},
        group=_STEPS,
    )
    learning_rate: float = _step(
        0.008,
        "Step size of the weights.",
        source=_CONFIGURATION,
        above=0,
    )
    embedding_multiplier: float = _step(
        100.0,
        "Factor of the embedding tables' learning rate.",
        label="Learning rate multiplier of embeddings",
        source=_CONFIGURATION,
        above=0,
    )
    warmup: float = _step(
        0.0,
        "Share of training during which the learning rate rises from 0.",
        label="Warm-up",
        **PARTIAL_SHARE_LIMITS,
    )
    decay: bool = _step(False, "Decay the learning rate linearly to 0.", label="Learning rate decay")
    weight_decay: float = _step(
        0.0,
        "Weight decay of all weights except the embedding tables.",
        low=0,
    )
    dropout: float = _step(
        0.1,
        "Share of values in the layers that are left out at random.",
        source="Vaswani et al. 2017, whose layers these are; the paper states none",
        **PARTIAL_SHARE_LIMITS,
    )
    word_dropout: float = _step(
        0.0,
        "Share of the words of each sentence left out at random in training.",
        **PARTIAL_SHARE_LIMITS,
    )
    scale: float = _loss(1.0, "Factor of the scores before the softmax.", label="Logit scale", above=0)
    bidirectional: bool = _loss(
        False,
        "Also rank the sources given the target.",
        label="Bidirectional ranking",
    )
    mine_after: float = _hard_negative(
        0.1,
        "Share of training, on translations only, after which the model finds the hard negatives.",
        label="Share of training before hard negatives",
        **PARTIAL_SHARE_LIMITS,
    )
    mining_pool: int = _hard_negative(
        50_000,
        "Maximum number of sentences that hard negatives are chosen from.",
        label="Pool of hard negatives",
        low=1,
    )
    task_weight: float = _loss(
        1.0,
        "Weight of the losses of other tasks, if there are translations, too.",
        label="Weight of other tasks",
        above=0,
    )
    head_hidden: int = _loss(
        320,
        "Width of the first layer of the other tasks' heads; their second is as wide as the embedding.",
        label="Hidden size of the task heads",
        source=_TASKS,
        low=1,
    )
    nli_hidden: int = _loss(
        512,
        "Width of the hidden layer for natural language inference.",
        label="Hidden size of the NLI head",
        source=_TASKS,
        low=1,
    )

    def check_together(self) -> None:
        """Check that n-gram lengths and layer sizes are possible."""
        if self.ngram_max and self.ngram_min > self.ngram_max:
            raise TrainingError(
                Fix("ngram_min"),
                " must be at most ",
                Fix("ngram_max"),
                f", {self.ngram_max}, not {self.ngram_min}",
            )
        if self.layers and (self.dim % self.heads or self.dim % 2):
            raise TrainingError(
                Fix("dim"),
                " must be even and a multiple of ",
                Fix("heads"),
                f", {self.heads}, not {self.dim}",
            )


_OURS: dict[str, Any] = {
    "word_buckets": 65_536,
    "embedding_dim": 256,
    "dim": 256,
    "normalised": True,
    "scale": 20.0,
    "bidirectional": True,
    "hard_negatives": 0,
    "optimizer": Optimizer.ADAM,
    "learning_rate": 3e-4,
    "embedding_multiplier": 10.0,
    "warmup": 0.05,
    "decay": True,
    "batch_size": 256,
}
TUNED_DUAL_ENCODER: dict[str, Any] = {
    **_OURS,
    "ngram_buckets": 65_536,
    "table_range": 0.2,
    "learning_rate": 1e-4,
    "embedding_multiplier": 30.0,
    "layers": 1,
    "heads": 4,
    "filter_dim": 256,
    "pre_norm": True,
    "position_scale": 0.02,
    "dropout": 0.2,
    "word_dropout": 0.1,
    "task_weight": 0.1,
    "epochs": 5,
}
"""Ours, for tens of thousands of pairs and two cores (benchmarks/README.md)."""

SUM_OF_WORDS: dict[str, Any] = {**_OURS, "ngram_max": 0, "layers": 0, "epochs": 6}
"""A plain model to compare the dual encoder with: the mean of word vectors, trained with in-batch softmax."""


def architecture(config: DualEncoderConfig) -> dict[str, Any]:
    """Return the settings of the architecture, without those of training."""
    return {field.name: getattr(config, field.name) for field in fields(config) if field.name in _ENCODER}


_ENCODER = (
    "word_buckets", "ngram_buckets", "ngram_min", "ngram_max", "embedding_dim", "dim", "layers", "heads", "filter_dim",
    "max_tokens", "dropout", "pre_norm", "position_scale", "normalised",
)  # fmt: skip
