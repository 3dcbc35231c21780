"""The points of a picture; and which colour and shape a group of them has, in the browser and in a file alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.charts.style import PALETTE
from emu_core.data.languages import language_name, ordered

ColourBy = Literal["intent", "language", "template"]
# plotly's number of each shape, and matplotlib's letter for it.
SHAPES = (
    (0, "o"), (1, "s"), (2, "D"), (5, "^"), (3, "P"), (4, "X"), (17, "*"), (6, "v"), (13, "p"), (14, "h"),
    (7, "<"), (8, ">"),
)  # fmt: skip
TITLES = {"intent": "Intent", "language": "Language", "template": "Template"}


@dataclass(frozen=True)
class View:
    """Points of a picture.

    Attributes:
        points: their places (N, 2).
        groups: of each point, shown by its colour.
        texts: a second label of each point, such as its language or its word; empty where there is none.
        note: which points these are.
        found: by "a-b", how many of the words of a have the right one of b nearest, and how many there are.
    """

    points: tuple[tuple[float, float], ...]
    groups: tuple[str, ...]
    texts: tuple[str, ...] = ()
    note: str = ""
    found: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, points: NDArray[np.floating], groups: Sequence[str], texts: Sequence[str] = (), **facts: Any
    ) -> Self:
        """Make a view of an array of places (N, 2), rounded to three decimals."""
        rounded = points.astype(float).round(3).tolist()
        return cls(tuple((x, y) for x, y in rounded), tuple(groups), tuple(texts), **facts)


@dataclass(frozen=True)
class Group:
    """All points of one intent, of one language, or of one template.

    Attributes:
        value: the intent, the language's code, or the template.
        name: how a person reads it.
        place: its number among the groups, from 0.
    """

    value: str
    name: str
    place: int

    @property
    def colour(self) -> str:
        """The colour of the group's points where groups are told apart by colour."""
        return PALETTE[self.place % len(PALETTE)]

    @property
    def shape(self) -> tuple[int, str]:
        """The shape of the group's points where groups are told apart by shape: plotly's and matplotlib's name."""
        return SHAPES[self.place % len(SHAPES)]


class Fill(IntEnum):
    """How a point is filled, once the colours or the shapes are used up: hundreds of plotly's number."""

    FULL = 0
    OPEN = 1
    DOT = 2
    OPEN_DOT = 3


def other(colour_by: ColourBy) -> ColourBy:
    """Return what the shape says where the colour says `colour_by`."""
    return "intent" if colour_by == "language" else "language"


def groups(points: pd.DataFrame, by: ColourBy) -> tuple[Group, ...]:
    """Return the groups of a frame's column `by`: sorted, languages English first."""
    values: Sequence[str] = ordered(points[by].unique()) if by == "language" else sorted(points[by].unique())
    name = language_name if by == "language" else str
    return tuple(Group(value, name(value), place) for place, value in enumerate(values))


def fill(coloured: Group, shaped: Group) -> Fill:
    """Return the way a point is filled: it tells apart groups that have to share a colour, or a shape."""
    rounds = coloured.place // len(PALETTE) + shaped.place // len(SHAPES)
    return Fill(rounds % len(Fill))


def symbol(coloured: Group, shaped: Group) -> int:
    """Return plotly's number for a point's shape, filled as it should be."""
    return shaped.shape[0] + 100 * fill(coloured, shaped)
