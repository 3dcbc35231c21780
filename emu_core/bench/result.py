"""What one cell measured, and its file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CellResult:
    """What a cell measured.

    Attributes:
        correct: whether each query's nearest neighbour has its intent, by direction "s-t".
        classified: whether a classifier names each sentence's intent, by language; empty where there is none.
        seconds: of training alone, from the loaded encoder to the specialised one; 0 where nothing is trained.
        cpu_seconds: what all threads computed in that time.
        seconds_whole: from loading the encoder to the last measure.
        peak_mb: the most resident memory of the cell's process up to then, in megabytes.
        gpu_mb: the most memory of a GPU that torch held, in megabytes; 0 on a CPU.
        facts: settings and counts that a reader should see.
        map_rows: rows of the test set that the map shows.
        map_points: their places (N, 2).
        not_measured: why there is nothing of the above; empty where there is.
    """

    correct: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    classified: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    seconds_whole: float = 0.0
    peak_mb: float = 0.0
    gpu_mb: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    map_rows: tuple[int, ...] = ()
    map_points: tuple[tuple[float, float], ...] = ()
    not_measured: str = ""

    def accuracy(self, direction: str) -> float:
        """Acc@1 of a direction, in percent."""
        return 100 * float(np.mean(self.correct[direction]))

    def to_json(self) -> dict[str, Any]:
        """As plain values; each vector is a string of 0 and 1."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "correct": {name: bits_of(values) for name, values in self.correct.items()},
            "classified": {name: bits_of(values) for name, values in self.classified.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_json` made. Raises KeyError, TypeError or ValueError where it is not that."""
        return cls(
            correct={name: from_bits(bits) for name, bits in values["correct"].items()},
            classified={name: from_bits(bits) for name, bits in values["classified"].items()},
            map_rows=tuple(int(row) for row in values["map_rows"]),
            map_points=tuple((float(x), float(y)) for x, y in values["map_points"]),
            **{name: values[name] for name in _PLAIN if name in values and not name.startswith("map")},
        )


_PLAIN = (
    "seconds",
    "cpu_seconds",
    "seconds_whole",
    "peak_mb",
    "gpu_mb",
    "facts",
    "map_rows",
    "map_points",
    "not_measured",
)


def bits_of(values: NDArray[np.bool_]) -> str:
    """Return a vector of yes and no as a string of 1 and 0."""
    return "".join("1" if value else "0" for value in values)


def from_bits(bits: str) -> NDArray[np.bool_]:
    """Read what `bits_of` made. Raises ValueError where it is not that."""
    if set(bits) - {"0", "1"}:
        raise ValueError("a vector is written in 0 and 1")
    return np.array([bit == "1" for bit in bits], dtype=bool)
