"""Settings of the posterior method."""

import math
from dataclasses import dataclass

from emu_core.config.settings import Settings
from emu_core.errors import TrainingError


@dataclass(frozen=True)
class PosteriorConfig(Settings):
    """Settings of the posterior method; see `emu_core.models.posterior_head` for what they do there.

    There is no paper to take defaults from: these were found by measuring (benchmarks/README.md), for encoders whose
    vectors all lie in one direction, as those of e5-small do. The logistic regression's penalty is no setting: it is
    chosen on labelled sentences that are held out (`emu_core.trainers.posterior_regression`).

    Raises:
        TrainingError: a value is outside its range.
    """

    kernel_temperature: float = 0.04  # of the cosines to the training sentences
    softening: float = 2.0  # of the posterior: above 1, less sure, so that two translations agree more
    share: float = 0.55  # of a vector's squared length that the posterior may take, where it is sure
    gate_temperature: float = 0.05  # of the cosines that say how near the training sentences are
    gate_quantile: float = 0.05  # of the training sentences' own nearness: there the gate is half open
    gate_width: float = 0.8  # of the gate's slope, in standard deviations of their nearness
    language_directions: int = 5  # between the languages' means, taken out of every vector
    centering: float = 0.75  # of the mean over all languages, taken out of every vector

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("kernel_temperature", "softening", "gate_temperature", "gate_width"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise TrainingError(f"{name} must be a number above 0, not {value}")
        for name in ("share", "gate_quantile", "centering"):
            if not 0 <= getattr(self, name) <= 1:
                raise TrainingError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        directions = self.language_directions
        if not (isinstance(directions, int) and directions >= 0):
            raise TrainingError(f"language_directions must be a whole number, 0 or more, not {directions}")
