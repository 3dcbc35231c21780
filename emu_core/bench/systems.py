"""What a trained system is to the benchmark: vectors of sentences, and where it has one a classifier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.stopwatch import Took

Encode = Callable[[Sequence[str]], NDArray[np.floating]]
Classify = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True)
class System:
    """A trained system.

    Attributes:
        encode: sentences to vectors (N, d), whose nearest neighbours are measured.
        classify: sentences to intents; None where the system has no classifier.
        took: how long training took.
        facts: settings and counts that a reader should see.
    """

    encode: Encode
    classify: Classify | None = None
    took: Took = field(default_factory=Took)
    facts: dict[str, Any] = field(default_factory=dict)
