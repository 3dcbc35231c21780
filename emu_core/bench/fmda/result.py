"""What one cell measured, and its file."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.outcome import OUTCOME, Outcome
from emu_core.bench.result import bits_of, from_bits
from emu_core.models.parts import Part

Right = Mapping[Part, Mapping[str, NDArray[np.bool_]]]


@dataclass(frozen=True)
class View:
    """A picture's points.

    Attributes:
        labels: what each point is of.
        points: their places (N, 2).
    """

    labels: tuple[str, ...]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class FmdaResult(Outcome):
    """What a cell measured, beside its costs.

    Attributes:
        translations: whether each query's nearest neighbour is its translation, by embedding and direction "s-t".
        templates: whether each source's nearest neighbour is its target, by embedding and language.
        precisions: average precision of each source's five targets, 0 to 1, by embedding and language.
        probes: what `Leakage.facts` gives, by embedding and pair "s-t".
        views: Figure 4's panels by letter.
    """

    translations: Right = field(default_factory=dict)
    templates: Right = field(default_factory=dict)
    precisions: Mapping[Part, Mapping[str, NDArray[np.float64]]] = field(default_factory=dict)
    probes: Mapping[Part, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values; each vector of yes and no is a string of 1 and 0."""
        return {
            **{name: getattr(self, name) for name in OUTCOME},
            "translations": {part: _each(bits_of, row) for part, row in self.translations.items()},
            "templates": {part: _each(bits_of, row) for part, row in self.templates.items()},
            "precisions": {part: _each(_numbers, row) for part, row in self.precisions.items()},
            "probes": {part: dict(row) for part, row in self.probes.items()},
            "views": {name: asdict(view) for name, view in self.views.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_json` made. Raises KeyError, TypeError or ValueError where it is not that."""
        return cls(
            translations={Part(part): _each(from_bits, row) for part, row in values["translations"].items()},
            templates={Part(part): _each(from_bits, row) for part, row in values["templates"].items()},
            precisions={Part(part): _each(_array, row) for part, row in values["precisions"].items()},
            probes={Part(part): row for part, row in values["probes"].items()},
            views={
                name: View(
                    tuple(str(label) for label in view["labels"]),
                    tuple((float(x), float(y)) for x, y in view["points"]),
                )
                for name, view in values["views"].items()
            },
            **{name: values[name] for name in OUTCOME},
        )


def _each(change: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: change(values) for name, values in row.items()}


def _numbers(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 6) for value in values]


def _array(values: Any) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError("average precisions are a list of numbers from 0 to 1")
    return array
