"""Settings of the distillation."""

from dataclasses import dataclass

from emu_core.settings import CHOSEN_ON, Settings, setting
from emu_core.training.weight_settings import (
    Trained,
    last_layers_setting,
    lora_alpha_setting,
    lora_rank_setting,
    trained_setting,
)

_CHOSEN = CHOSEN_ON.format("SIB-200 and the demo set")
_STEPS, _LOSS = "Steps", "Loss"


@dataclass(frozen=True)
class DistilConfig(Settings):
    """Settings of the distillation of a teacher's similarities; see `emu_core.losses.relations` for the loss.

    Any encoder and any run may be the teacher, with vectors of any length. Reimers and Gurevych (2020) distil the
    vectors themselves, which have to be of equal length for that.
    """

    teacher: str | None = setting(
        None,
        "The encoder whose similarities are learnt: a published one, or the encoder of a finished run.",
        is_encoder=True,
        common=True,
    )
    epochs: int = setting(3, "Passes over all sentences.", source=_CHOSEN, low=1, common=True)
    learning_rate: float = setting(
        3e-4,
        "Step size of the encoder's weights (Adam) in the first step; it falls linearly to 0.",
        source=_CHOSEN,
        above=0,
        common=True,
    )
    trained: Trained = trained_setting("ours")
    last_layers: int = last_layers_setting()
    lora_rank: int = lora_rank_setting()
    lora_alpha: int = lora_alpha_setting()
    batch_size: int = setting(
        64,
        "Sentences in a step, all of which are compared with each other.",
        source=_CHOSEN,
        low=2,
        group=_STEPS,
    )
    temperature: float = setting(
        0.05,
        "Divides the cosines before the softmax, in which the nearest sentences count most; the smaller, the more.",
        label="Temperature of the cosines",
        source=f"{_CHOSEN}; the softmax is that of Fang et al. 2021",
        above=0,
        group=_LOSS,
    )
    difference_weight: float = setting(
        5.0,
        "Weight of the mean squared difference of the cosines, in which all sentences count alike. It keeps the length "
        "of the distances, which the softmax leaves open.",
        label="Weight of the differences",
        source=f"{_CHOSEN}; the difference of relations is that of Park et al. 2019",
        low=0,
        group=_LOSS,
    )
