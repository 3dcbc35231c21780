"""Settings of the posterior method."""

import math
from dataclasses import dataclass

from emu_core.errors import TrainingError


@dataclass(frozen=True)
class PosteriorConfig:
    """Settings of the posterior method; see `emu_core.models.posterior_head` for what they do there.

    There is no paper to take defaults from: these were found by measuring (benchmarks/README.md), for encoders whose
    vectors all lie in one direction, as those of e5-small do.

    Raises:
        TrainingError: a value is outside its range.
    """

    inverse_penalty: float = 10.0  # C of the logistic regression
    kernel_temperature: float = 0.05  # of the cosines to the training sentences
    share: float = 0.25  # of a vector's squared length that the posterior may take, where it is sure
    neighbours: int = 5  # training sentences whose mean cosine says how near a sentence is to them
    gate_quantile: float = 0.01  # of the training sentences' own nearness: there the gate is half open
    gate_width: float = 0.3  # of the gate's slope, in standard deviations of their nearness
    language_directions: int = 5  # between the languages' means, taken out of every vector
    centering: float = 0.75  # of the mean over all languages, taken out of every vector

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("inverse_penalty", "kernel_temperature", "gate_width"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise TrainingError(f"{name} must be a number above 0, not {value}")
        for name in ("share", "gate_quantile", "centering"):
            if not 0 <= getattr(self, name) <= 1:
                raise TrainingError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        for name, least in (("neighbours", 1), ("language_directions", 0)):
            if not (isinstance(getattr(self, name), int) and getattr(self, name) >= least):
                raise TrainingError(
                    f"{name} must be a whole number, {least} or more, not {getattr(self, name)}"
                )
