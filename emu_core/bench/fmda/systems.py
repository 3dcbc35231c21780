"""What a trained system is to the benchmark: embeddings of sentences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.stopwatch import Took
from emu_core.models.parts import Part

PartsOf = Callable[[Sequence[str]], Mapping[Part, NDArray[np.floating]]]


@dataclass(frozen=True)
class FmdaSystem:
    """A trained system.

    Attributes:
        parts: sentences to their embeddings, (N, d) each.
        took: how long training took.
        facts: settings and counts that a reader should see.
    """

    parts: PartsOf
    took: Took = field(default_factory=Took)
    facts: Mapping[str, Any] = field(default_factory=dict)
