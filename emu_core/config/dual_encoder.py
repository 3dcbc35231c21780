"""Settings of the multi-task dual encoder."""

from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from typing import Any

from emu_core.config.settings import Settings, setting
from emu_core.errors import TrainingError


class Optimizer(StrEnum):
    """The optimiser of the weights."""

    SGD = "sgd"
    ADAM = "adam"  # of the embedding tables, only the rows that a step reads


def _limits_epochs(config: Any) -> bool:
    return config.epochs is not None


def _has_layers(config: Any) -> bool:
    return config.layers > 0


def _has_ngrams(config: Any) -> bool:
    return config.ngram_max > 0


def _has_hard_negatives(config: Any) -> bool:
    return config.hard_negatives > 0


_CHIDAMBARAM = "Chidambaram et al. 2019"
_MODEL, _TASKS, _CONFIGURATION = (
    f"{_CHIDAMBARAM}, section 2.1", f"{_CHIDAMBARAM}, section 2.2", f"{_CHIDAMBARAM}, section 3.2",
)  # fmt: skip
_ENCODING, _STEPS, _LOSS = "Encoder", "Steps", "Loss"
_layer = partial(setting, group=_ENCODING, matters=_has_layers)
_encoder = partial(setting, group=_ENCODING)
_step = partial(setting, group=_STEPS)
_loss = partial(setting, group=_LOSS)


@dataclass(frozen=True)
class DualEncoderConfig(Settings):
    """The dual encoder's settings: the paper's own by default.

    Words alone, with neither n-grams nor layers, make the encoder a plain mean of word vectors (`SUM_OF_WORDS`).
    """

    epochs: int | None = setting(
        None,
        "Passes over the largest set of translations, at most; the best one's weights are saved.",
        label="Epochs",
        low=1,
        common=True,
        matters=_limits_epochs,
    )
    steps: int = setting(
        30_000_000,
        "Steps of training, at most.",
        label="Steps",
        source=_CONFIGURATION,
        low=1,
        common=True,
        matters=lambda config: not _limits_epochs(config),
    )
    hard_negatives: int = setting(
        5,
        "Sentences a pair that are much like the translation but are not it, found with a first model; 0 for none.",
        label="Hard negatives per pair",
        source=_TASKS,
        low=0,
        common=True,
    )
    layers: int = _encoder(
        3,
        "Layers of the transformer; 0 makes the embedding the mean of the words'.",
        label="Layers",
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
        "Width of each layer's feed-forward part.",
        label="Feed-forward size",
        source=_MODEL,
        low=1,
    )
    pre_norm: bool = _layer(
        False,
        "Layer norms before the sub-layers instead of after them, and a plain sum past them.",
        label="Pre-norm layers",
    )
    position_scale: float = _layer(
        1.0,
        "Factor of the sinusoids that say where a word is; 0 ignores the order of words.",
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
        label="Word buckets",
        source=f"{_CONFIGURATION}: 200,000 words and 10,000 buckets for others; here all are hashed",
        low=2,
    )
    ngram_buckets: int = _encoder(
        200_000,
        "Rows of the table that character n-grams are hashed into.",
        label="N-gram buckets",
        source=_CONFIGURATION,
        low=1,
        matters=_has_ngrams,
    )
    ngram_min: int = _encoder(
        3,
        "Characters of the shortest n-grams.",
        label="Shortest character n-gram",
        source=_CONFIGURATION,
        low=1,
        matters=_has_ngrams,
    )
    ngram_max: int = _encoder(
        4,
        "Characters of the longest n-grams; 0 leaves n-grams out.",
        label="Longest character n-gram",
        source=_CONFIGURATION,
        low=0,
    )
    table_range: float = _encoder(
        0.1,
        "The tables' first weights are drawn from between this and its negative; larger values keep words apart that "
        "training never met.",
        label="Range of initial embeddings",
        above=0,
    )
    max_tokens: int = _encoder(
        64,
        "Words of a sentence that are read; the rest is cut.",
        label="Maximum sequence length",
        source=f"{_CHIDAMBARAM}, footnote 12",
        low=1,
    )
    normalised: bool = _encoder(
        False,
        "Embeddings have length 1, so that scores are cosines.",
        label="Unit-length embeddings",
    )
    batch_size: int = _step(
        100,
        "Pairs in a step; each is ranked against the others of its batch.",
        label="Batch size",
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
        label="Learning rate",
        source=_CONFIGURATION,
        above=0,
    )
    embedding_multiplier: float = _step(
        100.0,
        "Factor of the updates of the embedding tables.",
        label="Learning rate multiplier of embeddings",
        source=_CONFIGURATION,
        above=0,
    )
    warmup: float = _step(
        0.0,
        "Share of training in which the learning rate rises from 0.",
        label="Warm-up",
        low=0,
        below=1,
    )
    decay: bool = _step(False, "The learning rate falls to 0 at the end.", label="Learning rate decay")
    weight_decay: float = _step(
        0.0,
        "Weight decay of all weights but the embedding tables.",
        label="Weight decay",
        low=0,
    )
    dropout: float = _step(
        0.1,
        "Share of values left out at random in the layers.",
        label="Dropout",
        source="Vaswani et al. 2017, whose layers these are; the paper names none",
        low=0,
        below=1,
    )
    word_dropout: float = _step(
        0.0,
        "Share of the words of each sentence left out at random in training.",
        label="Word dropout",
        low=0,
        below=1,
    )
    scale: float = _loss(1.0, "Factor of the scores before the softmax.", label="Logit scale", above=0)
    bidirectional: bool = _loss(
        False,
        "The source is looked for given the target, too.",
        label="Bidirectional ranking",
    )
    mine_after: float = _loss(
        0.1,
        "Share of training, on translations alone, that makes the model which finds the hard negatives.",
        label="Share of training before hard negatives",
        low=0,
        below=1,
        matters=_has_hard_negatives,
    )
    mining_pool: int = _loss(
        50_000,
        "Sentences that hard negatives are chosen from, at most.",
        label="Pool of hard negatives",
        low=1,
        matters=_has_hard_negatives,
    )
    task_weight: float = _loss(
        1.0,
        "Weight of the losses of other tasks where there are translations, too.",
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
        """Check that n-grams and layers have shapes that are possible."""
        if self.ngram_max and self.ngram_min > self.ngram_max:
            raise TrainingError(
                f"ngram_min must be at most ngram_max, {self.ngram_max}, not {self.ngram_min}"
            )
        if self.layers and (self.dim % self.heads or self.dim % 2):
            raise TrainingError(f"dim must be even and a multiple of heads, {self.heads}, not {self.dim}")


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
"""The plain model that the dual encoder is compared with: the mean of word vectors, in-batch softmax."""


def architecture(config: DualEncoderConfig) -> dict[str, Any]:
    """The fields that say what the encoder is, and not how it is trained."""
    return {field.name: getattr(config, field.name) for field in fields(config) if field.name in _ENCODER}


_ENCODER = (
    "word_buckets", "ngram_buckets", "ngram_min", "ngram_max", "embedding_dim", "dim", "layers", "heads", "filter_dim",
    "max_tokens", "dropout", "pre_norm", "position_scale", "normalised",
)  # fmt: skip
