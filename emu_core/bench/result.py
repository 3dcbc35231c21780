"""What one cell measured, and its file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.outcome import OUTCOME, Outcome


@dataclass(frozen=True, eq=False)
class CellResult(Outcome):
    """What a cell measured, beside its costs.

    Attributes:
        correct: whether each query's nearest neighbour has its intent, by direction "s-t".
        classified: whether a classifier names each sentence's intent, by language; empty where there is none.
        map_rows: rows of the test set that the map shows.
        map_points: their places (N, 2).
    """

    correct: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    classified: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    map_rows: tuple[int, ...] = ()
    map_points: tuple[tuple[float, float], ...] = ()

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


_PLAIN = (*OUTCOME, "map_rows", "map_points")


def bits_of(values: NDArray[np.bool_]) -> str:
    """Return a vector of yes and no as a string of 1 and 0."""
    return "".join("1" if value else "0" for value in values)


def from_bits(bits: str) -> NDArray[np.bool_]:
    """Read what `bits_of` made. Raises ValueError where it is not that."""
    if set(bits) - {"0", "1"}:
        raise ValueError("a vector is written in 0 and 1")
    return np.array([bit == "1" for bit in bits], dtype=bool)
