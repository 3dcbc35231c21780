"""Settings of the methods that train an encoder's own weights: which of them are trained."""

from enum import StrEnum
from functools import partial
from typing import Any, Protocol

from emu_core.settings import OURS, setting


class Trained(StrEnum):
    """The part of the encoder's weights that is trained."""

    ALL = "all"
    ALL_BUT_EMBEDDINGS = "all-but-embeddings"
    LAST_LAYERS = "last-layers"
    LORA = "lora"


class WeightSettings(Protocol):
    """The settings that `emu_core.training.trained_weights.trained_weights` reads."""

    @property
    def trained(self) -> Trained:
        """The part of the weights."""

    @property
    def last_layers(self) -> int:
        """The number of layers, counted from the output."""

    @property
    def lora_rank(self) -> int:
        """The rank of LoRA's additions."""

    @property
    def lora_alpha(self) -> int:
        """Their factor, times the rank."""


WEIGHTS = "Trained weights"  # the heading
_weight = partial(setting, group=WEIGHTS)
_lora = partial(
    _weight,
    source=f"{OURS}, for the additions of Hu et al. 2022, section 4.1",
    matters=lambda config: config.trained is Trained.LORA,
)


def trained_setting(source: str) -> Any:
    """Return the field `trained`."""
    return _weight(
        Trained.ALL_BUT_EMBEDDINGS,
        "The weights that are trained. With more weights the encoder can change more, but needs more memory. The "
        "embedding table has a row for each word piece, and training changes only those of pieces that occur. LoRA "
        "keeps the weights and trains small additions to each layer.",
        label="Trained weights",
        source=source,
        choices={
            Trained.ALL: "All",
            Trained.ALL_BUT_EMBEDDINGS: "All but the embedding table",
            Trained.LAST_LAYERS: "The last layers",
            Trained.LORA: "LoRA: small additions",
        },
        transformers_only=(Trained.LORA,),
    )


def last_layers_setting() -> Any:
    """Return the field `last_layers`."""
    return _weight(
        2,
        "Number of layers that are trained, counted from the output.",
        label="Layers, from the output",
        low=1,
        matters=lambda config: config.trained is Trained.LAST_LAYERS,
    )


def lora_rank_setting() -> Any:
    """Return the field `lora_rank`."""
    return _lora(
        16,
        "Rank r of LoRA's additions, which determines their number of weights.",
        label="LoRA rank (r)",
        low=1,
    )


def lora_alpha_setting() -> Any:
    """Return the field `lora_alpha`."""
    return _lora(
        32,
        "LoRA's additions are multiplied by alpha / r.",
        label="LoRA alpha",
        low=1,
    )
