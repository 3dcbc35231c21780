"""Settings of FMDA and of its baseline."""

import math
from dataclasses import dataclass, fields

from emu_core.config.settings import Settings
from emu_core.errors import TrainingError


@dataclass(frozen=True)
class FmdaConfig(Settings):
    """FMDA's settings (Wu et al., sections 3.5 and 4.2). A loss of weight 0 is left out.

    The paper gives no weights (eq. 5 adds the losses up), and of its other settings says that they are like those of
    Tiyajamorn et al.; `configure` has what was found by measuring (benchmarks/README.md).

    Raises:
        TrainingError: a value is outside its range, or no loss is left.
    """

    language_weight: float = 1.0  # language identification, section 3.2
    utterance_weight: float = 1.0  # utterance reconstruction, section 3.3
    utterance_cross_weight: float = (
        0.0  # ours, with the other language's embedding: eq. 5 has it of the parts only
    )
    template_weight: float = 1.0  # template reconstruction, eq. 1
    template_cross_weight: float = 1.0  # with the other language's embedding, eq. 2
    residual_weight: float = 1.0
    residual_cross_weight: float = 1.0  # eq. 5 prints this pair twice
    template_contrast_weight: float = 1.0  # eq. 3
    meaning_contrast_weight: float = 1.0  # eq. 4
    two_stage: bool = False  # section 4.6: the template encoder first, then the rest
    standardised: bool = False  # ours: states without their mean, at unit deviation
    hidden: int = 768  # width of the MLPs
    language_hidden: int = 768  # width of the language's MLP
    negatives: int = 4  # drawn for each utterance (section 4.2), used in turn
    batch_size: int = 256
    learning_rate: float = 1e-4
    epochs: int = 20  # at most, of each stage
    patience: int = 5  # epochs without a better dev accuracy, after which a stage ends

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check(self)


@dataclass(frozen=True)
class MeaningLanguageConfig(Settings):
    """Settings of FMDA's baseline (Tiyajamorn et al., 2021). A loss of weight 0 is left out.

    Raises:
        TrainingError: a value is outside its range, or no loss is left.
    """

    reconstruction_weight: float = 1.0
    cross_reconstruction_weight: float = 1.0
    meaning_weight: float = 1.0
    attraction_weight: float = 1.0  # language embeddings of one language
    language_weight: float = 1.0  # language identification
    repulsion_weight: float = 1.0  # language embeddings of two languages
    standardised: bool = False  # as FMDA's
    negatives: int = 4  # as FMDA's
    batch_size: int = 256
    learning_rate: float = 1e-3
    epochs: int = 20
    patience: int = 5

    def __post_init__(self) -> None:
        """Check the ranges."""
        _check(self)


def _check(config: FmdaConfig | MeaningLanguageConfig) -> None:
    weights = [field.name for field in fields(config) if field.name.endswith("_weight")]
    for field in fields(config):
        value = getattr(config, field.name)
        if field.type in (int, "int") and not (type(value) is int and value > 0):
            raise TrainingError(f"{field.name} must be a whole number above 0, not {value}")
        if field.name in weights and not (math.isfinite(value) and value >= 0):
            raise TrainingError(f"{field.name} must be a number, 0 or more, not {value}")
    if not (math.isfinite(config.learning_rate) and config.learning_rate > 0):
        raise TrainingError(f"learning_rate must be a number above 0, not {config.learning_rate}")
    if all(getattr(config, name) == 0 for name in weights):
        raise TrainingError("every loss has weight 0, so nothing would be trained; give one a weight")
