"""The pictures of a benchmark's report, as data: `emu_core.bench.drawing` draws them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class View:
    """Points of a picture."""

    points: tuple[tuple[float, float], ...]  # positions (N, 2)
    groups: tuple[str, ...]  # each point's group, shown by its colour
    texts: tuple[str, ...] = ()  # a second label of each point, such as its language or its word; or none
    note: str = ""  # what the points are
    # By "a-b": how many words of language a have the right word of b nearest, and how many words there are.
    nearest_right: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, points: NDArray[np.floating], groups: Sequence[str], texts: Sequence[str] = (), **facts: Any
    ) -> Self:
        """Make a view of positions (N, 2), rounded to three decimals."""
        rounded = points.astype(float).round(3).tolist()
        return cls(tuple((x, y) for x, y in rounded), tuple(groups), tuple(texts), **facts)


@dataclass(frozen=True)
class Bars:
    """A bar for each system's mean in percent, with its standard deviation over seeds, and a line at `base`."""

    values: Mapping[str, tuple[float, ...]]  # mean and deviation by the system's label
    base: float
    label: str  # the axis's title


@dataclass(frozen=True)
class IntentMaps:
    """Sentences of two languages (`texts`), a panel for each title, with a colour for each intent (`groups`)."""

    views: Mapping[str, View]


@dataclass(frozen=True)
class GroupMaps:
    """A panel for each title, each with a legend of its own groups."""

    views: Mapping[str, View]


@dataclass(frozen=True)
class WordMaps:
    """Words (`texts`) with a colour for each language (`groups`), a panel for each view, titled by its note."""

    views: Mapping[str, View]
    languages: Sequence[str]


@dataclass(frozen=True)
class Curves:
    """Accuracies by a number of training examples, with a panel for each title and a line for each system."""

    panels: Mapping[str, Mapping[str, Mapping[int, float]]]
    lines: Mapping[str, float]  # the position of each panel's dashed line
    names: Sequence[str]  # the systems in order
    examples: str  # the title of the axis of numbers
    dashed: str  # what the dashed line is


Drawing = Bars | IntentMaps | GroupMaps | WordMaps | Curves


@dataclass(frozen=True)
class Picture:
    """A picture."""

    name: str  # the stem of its file, NAME.svg
    title: str  # above it
    note: str  # below it
    drawing: Drawing | None = field(default=None, compare=False)  # None if it is in its file already


def bars_picture(
    table: str,
    title: str,
    note: str,
    scores: Mapping[str, Sequence[tuple[float, float]]],
    base: str,
    label: str,
) -> Picture:
    """Return a bar for each label that has means and deviations, with a line at the bar of `base`; each is averaged."""
    values = {
        name: tuple(sum(seeds) / len(rows) for seeds in zip(*rows, strict=True))
        for name, rows in scores.items()
        if rows
    }
    return Picture(f"figure_{table}", title, note, Bars(values, values[base][0], label))
