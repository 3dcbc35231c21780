"""The systems that are trained from nothing, on parallel text, and the settings that each starts from."""

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from emu_core.config.bicvm import TUNED_BICVM, BicvmConfig
from emu_core.config.dual_encoder import TUNED_DUAL_ENCODER, DualEncoderConfig
from emu_core.errors import TrainingError


class Pretraining(StrEnum):
    """What trains an encoder from random weights."""

    DUAL_ENCODER = "dual-encoder"
    BICVM = "bicvm"


PretrainingSettings = DualEncoderConfig | BicvmConfig
SETTINGS_OF: Mapping[Pretraining, type[PretrainingSettings]] = {
    Pretraining.DUAL_ENCODER: DualEncoderConfig,
    Pretraining.BICVM: BicvmConfig,
}
_TUNED: Mapping[Pretraining, dict[str, Any]] = {
    Pretraining.DUAL_ENCODER: TUNED_DUAL_ENCODER,
    Pretraining.BICVM: TUNED_BICVM,
}


def configure_pretraining(method: Pretraining, *, paper: bool = False, **changes: Any) -> PretrainingSettings:
    """Settings of a system that is trained from nothing.

    Args:
        method: which.
        paper: start from the paper's own values instead of those that learn on two cores in minutes.
        changes: fields of `DualEncoderConfig` or `BicvmConfig` to set on top.

    Raises:
        TrainingError: a value is outside its range, or the method has no such setting.
    """
    kind = SETTINGS_OF[method]
    unknown = set(changes) - {field.name for field in fields(kind)}
    if unknown:
        raise TrainingError(
            f"the method {method} has no setting {', '.join(sorted(unknown))}; leave it out, or use another method"
        )
    return kind(**{**({} if paper else _TUNED[method]), **changes})


def pretraining_named(name: str) -> Pretraining:
    """The system. Raises TrainingError for an unknown name."""
    try:
        return Pretraining(name)
    except ValueError:
        raise TrainingError(
            f"no method '{name}' trains from nothing; there are: {', '.join(Pretraining)}"
        ) from None


def pretraining_settings_from(method: str, values: Mapping[str, Any]) -> PretrainingSettings:
    """Settings that were written down, as config.json of a run has them."""
    return SETTINGS_OF[Pretraining(method)](**values)
