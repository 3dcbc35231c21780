"""Settings of the multi-task dual encoder."""

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from emu_core.config.settings import Settings
from emu_core.errors import TrainingError


class Optimizer(StrEnum):
    """What moves the weights."""

    SGD = "sgd"
    ADAM = "adam"  # of the embedding tables, only the rows that a step reads


@dataclass(frozen=True)
class DualEncoderConfig(Settings):
    """The dual encoder's settings (Chidambaram et al. 2019): the paper's own by default, section 3.2 unless said else.

    Words alone, with neither n-grams nor layers, make the encoder a plain mean of word vectors (`SUM_OF_WORDS`).

    Raises:
        TrainingError: a value is outside its range.
    """

    word_buckets: int = 210_000  # 200,000 words and 10,000 buckets for others; here all of them are hashed
    ngram_buckets: int = 200_000
    ngram_min: int = 3  # characters of a word's n-grams, from ...
    ngram_max: int = 4  # ... to; 0 leaves n-grams out
    embedding_dim: int = 320
    table_range: float = (
        0.1  # ours: first weights of the tables; more keeps words apart that training never met
    )
    dim: int = 512  # section 2.1
    layers: int = 3  # section 2.1; 0 is the mean of the words' vectors
    heads: int = 8  # section 2.1
    filter_dim: int = 2048  # section 2.1
    max_tokens: int = 64  # footnote 12
    dropout: float = 0.1  # of Vaswani et al. 2017, whose layers these are; the paper names none
    pre_norm: bool = False  # ours: layer norms before the sub-layers, and a plain sum past them
    position_scale: float = 1.0  # of the sinusoids; 0 leaves the order of words out
    normalised: bool = False  # ours: vectors of length 1, phi is their cosine
    scale: float = 1.0  # ours: phi is multiplied by it
    bidirectional: bool = False  # ours: P(target | source) as well
    word_dropout: float = 0.0  # ours: part of the words left out of each sentence in training
    head_hidden: int = 320  # section 2.2: the task heads' first layer; their second is as wide as the encoder
    nli_hidden: int = 512  # section 2.2
    task_weight: float = (
        1.0  # ours: of the losses of tasks other than translation, where there is translation
    )
    hard_negatives: int = 5  # section 2.2, a pair; 0 for none
    mine_after: float = (
        0.1  # ours: the part of the training, translation's alone, that makes the model which mines them
    )
    mining_pool: int = 50_000  # ours: sentences, at most, that they are chosen from
    optimizer: Optimizer = Optimizer.SGD
    learning_rate: float = 0.008
    embedding_multiplier: float = 100.0  # of the updates to the embedding tables
    warmup: float = 0.0  # ours: part of the training in which the learning rate rises from 0
    decay: bool = False  # ours: the learning rate falls to 0 at the end
    weight_decay: float = 0.0  # ours, of what is not an embedding table
    batch_size: int = 100
    steps: int = 30_000_000  # at most
    epochs: int | None = None  # ours, at most: passes over the largest translation set; None for no limit

    def __post_init__(self) -> None:
        """Check the ranges; the optimiser's name becomes a member of its enum."""
        if self.optimizer not in tuple(Optimizer):
            raise TrainingError(f"optimizer must be one of {', '.join(Optimizer)}, not {self.optimizer}")
        object.__setattr__(self, "optimizer", Optimizer(self.optimizer))
        for name in _POSITIVE:
            _whole(name, getattr(self, name), 1)
        for name in ("ngram_max", "layers", "hard_negatives"):
            _whole(name, getattr(self, name), 0)
        if self.epochs is not None:
            _whole("epochs", self.epochs, 1)
        for name, low, below in _RANGES:
            value = getattr(self, name)
            if not (math.isfinite(value) and low <= value < below):
                limit = "" if below == math.inf else f" and below {below:g}"
                raise TrainingError(f"{name} must be a number, {low:g} or more{limit}, not {value}")
        for name in ("learning_rate", "embedding_multiplier", "scale", "table_range", "task_weight"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise TrainingError(f"{name} must be a number above 0, not {value}")
        for name in ("pre_norm", "normalised", "bidirectional", "decay"):
            if not isinstance(getattr(self, name), bool):
                raise TrainingError(f"{name} must be true or false, not {getattr(self, name)}")
        _check_together(self)


_POSITIVE = (
    "word_buckets", "ngram_buckets", "ngram_min", "embedding_dim", "dim", "heads", "filter_dim", "max_tokens",
    "head_hidden", "nli_hidden", "mining_pool", "batch_size", "steps",
)  # fmt: skip
_RANGES = (
    ("dropout", 0, 1), ("word_dropout", 0, 1), ("warmup", 0, 1), ("mine_after", 0, 1),
    ("weight_decay", 0, math.inf), ("position_scale", 0, math.inf),
)  # fmt: skip

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


def _whole(name: str, value: object, low: int) -> None:
    if not (type(value) is int and value >= low):
        raise TrainingError(f"{name} must be a whole number, {low} or more, not {value}")


def _check_together(config: DualEncoderConfig) -> None:
    if config.word_buckets < 2:
        raise TrainingError("word_buckets must be 2 or more: the first is kept for a text without words")
    if config.batch_size < 2:
        raise TrainingError("batch_size must be 2 or more: a pair is ranked against the others of its batch")
    if config.ngram_max and config.ngram_min > config.ngram_max:
        raise TrainingError(
            f"ngram_min must be at most ngram_max, {config.ngram_max}, not {config.ngram_min}"
        )
    if config.layers and (config.dim % config.heads or config.dim % 2):
        raise TrainingError(f"dim must be even and a multiple of heads, {config.heads}, not {config.dim}")


def architecture(config: DualEncoderConfig) -> dict[str, Any]:
    """The fields that say what the encoder is, and not how it is trained."""
    return {field.name: getattr(config, field.name) for field in fields(config) if field.name in _ENCODER}


_ENCODER = (
    "word_buckets", "ngram_buckets", "ngram_min", "ngram_max", "embedding_dim", "dim", "layers", "heads", "filter_dim",
    "max_tokens", "dropout", "pre_norm", "position_scale", "normalised",
)  # fmt: skip
