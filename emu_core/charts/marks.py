"""The points of a picture, and the colour and shape of each group of them, in the browser and in files alike."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.charts.style import HOVER, LIGHT, TOLD_APART, Theme, plain, short
from emu_core.data.languages import language_name, ordered

ColourBy = Literal["intent", "language", "template"]
# plotly's number of each shape, and matplotlib's letter for it.
SHAPES = (
    (0, "o"), (1, "s"), (2, "D"), (5, "^"), (3, "P"), (4, "X"), (17, "*"), (6, "v"), (13, "p"), (14, "h"),
    (7, "<"), (8, ">"),
)  # fmt: skip
MOST_LISTED = 60  # groups in a legend, each a trace of its own
MOST_SHAPED = 10_000
MAX_NAMED_CLUSTERS = 30  # intents named on a map
_SEEDS = 100  # points of an intent around which its cluster is sought
GROUP_NAME = 22  # characters of such a name
# Pixels of a name's letter and line, and of all maps side by side: the space of a notebook and of a small window.
_LETTER, _LINE = 7.5, 16
_MAP_WIDTH, _MAP_HEIGHT = 900, 500
_NARROWEST = 300  # pixels of one map on a phone, or of one of two in a small window
NAME_HEIGHT = _LINE / _MAP_HEIGHT
_GAP = np.array([8 / _MAP_WIDTH, 6 / _MAP_HEIGHT])  # between a name and its cluster or the map's edge
# Where a name may stand: on which side of its cluster, and how many times as far as most of the cluster's points reach.
_SIDES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0], [1, 1], [-1, 1], [1, -1], [-1, -1]])
_AWAY = (1, 1.5, 2.5, 4)
_STEP = 2
TITLES = {"intent": "Intent", "language": "Language", "template": "Template"}


@dataclass(frozen=True)
class ColourGroup:
    """All points of one intent, one language or one template."""

    value: str  # the intent, the language's code, or the template
    name: str  # as legends show it
    number: int  # its position among the groups, from 0
    count: int  # of its points
    colour: str

    @property
    def shape(self) -> tuple[int, str]:
        """A shape of the group alone, as plotly's number and matplotlib's letter."""
        return SHAPES[self.number % len(SHAPES)]

    @property
    def mark(self) -> tuple[int, str]:
        """The shape of eight groups in a row: of 96, each has a colour and mark that every reader tells apart."""
        return SHAPES[self.number // TOLD_APART % len(SHAPES)]


def groups(
    points: pd.DataFrame, by: ColourBy, focus: Collection[str] = (), theme: Theme = LIGHT
) -> tuple[ColourGroup, ...]:
    """Return the groups of a frame's column `by`, the largest first; of one size in order, languages English first.

    If there are more groups than colours that every reader tells apart, those whose values are in `focus` come first
    and get them.
    """
    counts: dict[str, int] = points[by].value_counts().to_dict()
    in_order: Sequence[str] = ordered(counts) if by == "language" else sorted(counts)
    values = sorted(in_order, key=lambda value: -counts[value])  # a stable sort
    if len(values) > TOLD_APART:
        values = sorted(values, key=lambda value: value not in focus)
    name = language_name if by == "language" else str
    return tuple(
        ColourGroup(value, name(value), number, counts[value], theme.palette[number % len(theme.palette)])
        for number, value in enumerate(values)
    )


def shapes(points: pd.DataFrame, colour_by: ColourBy) -> dict[str, ColourGroup] | None:
    """Return the languages that shapes show, by value; None if all points are circles.

    Where colours show the languages, shapes would repeat them, and small points have none.
    """
    if colour_by == "language" or len(points) > MOST_SHAPED:
        return None
    return {group.value: group for group in groups(points, "language")}


def name_width(name: str, panels: int = 1) -> float:
    """Return the width of an intent's name as a share of the map's, with `panels` maps side by side."""
    return panels * _LETTER * len(short(name, GROUP_NAME)) / _MAP_WIDTH


def hover_texts(points: pd.DataFrame) -> NDArray[np.object_]:
    """Return the sentence, intent and language of each point, (N,), as plotly shows them on hovering."""
    # As lists, since pandas takes one string at a time from its own arrays ten times as slowly.
    texts, *groups_of_texts = (points[name].tolist() for name in ("text", "intent", "language"))
    pairs = list(zip(*groups_of_texts, strict=True))
    names = {pair: plain(" · ".join(filter(None, pair))) for pair in set(pairs)}
    hover = [f"{plain(short(text, HOVER))}<br>{names[pair]}" for text, pair in zip(texts, pairs, strict=True)]
    return np.array(hover, dtype=object)


class ClusterName(NamedTuple):
    """An intent's name on a map, and the cluster that it names."""

    intent: str
    x: float  # the middle of the name
    y: float
    at_x: float  # the middle of the cluster
    at_y: float
    fixed_x: float  # its end at a side that it would cross on a narrow map, or else its middle


def cluster_names(
    places: NDArray[np.floating],
    intents: NDArray[np.object_],
    most: int,
    *,
    frame: NDArray[np.floating] | None = None,
    panels: int = 1,
) -> list[ClusterName]:
    """Return the names to write on a map: of up to `most` of the largest intents that form a cluster.

    The third of an intent's points that are closest to each other are its cluster if its share of all points there is
    at least halfway from its share of the map to one: a name among scattered points would show what the map does not.
    A name stands beside its cluster, where it covers the fewest points, and never on another name.

    Args:
        places: (N, 2).
        intents: (N,).
        most: the largest number of names.
        frame: the lowest and the highest position that the map shows, (2, 2); None takes those of the points.
        panels: number of maps side by side.
    """
    if not len(places):
        return []
    low, high = (places.min(axis=0), places.max(axis=0)) if frame is None else frame
    spans = np.maximum(high - low, 1e-9)
    values, codes, counts = np.unique(intents.astype(str), return_inverse=True, return_counts=True)
    names: list[ClusterName] = []
    boxes: list[_Box] = []
    scaled = (places - low) / spans
    for code in np.argsort(-counts, kind="stable"):
        intent = str(values[code])
        if len(names) == most:
            break
        if intent == "" or (cluster := _cluster(scaled, codes == code)) is None:
            continue
        box = _beside(cluster, name_width(intent, panels), scaled, boxes)
        if box is not None:
            boxes.append(box)
            (x, y), (at_x, at_y) = (low + spans * [box.middle, cluster.centre]).tolist()
            share, reach = float(box.middle[0]), name_width(intent) / 2 * _MAP_WIDTH / _NARROWEST
            side = (share > 1 - reach) - (share < reach)
            fixed_x = x + side * float(spans[0] * box.half[0])
            names.append(ClusterName(intent, x, y, at_x, at_y, fixed_x))
    return names


class _Cluster(NamedTuple):
    """Where an intent's points are closest, in shares of the map."""

    centre: NDArray[np.floating]  # (2,)
    reach: NDArray[np.floating]  # (2,): how far most of its points lie from there, across and up


class _Box(NamedTuple):
    """The room of a name, in shares of the map."""

    middle: NDArray[np.floating]  # (2,)
    half: NDArray[np.floating]  # (2,)

    def meets(self, other: "_Box") -> bool:
        return bool((np.abs(self.middle - other.middle) < self.half + other.half).all())

    def covered(self, places: NDArray[np.floating]) -> int:
        """Return how many points lie in it."""
        return int((np.abs(places - self.middle) < self.half).all(axis=1).sum())


def _beside(
    cluster: _Cluster, width: float, places: NDArray[np.floating], boxes: Sequence[_Box]
) -> _Box | None:
    """Return the best room for a name of this width beside its cluster; None if others or the edge leave none.

    It covers few of the points (N, 2): a further step away from the cluster counts as `_STEP` of them.
    """
    half = np.array([width, NAME_HEIGHT]) / 2
    edge = half + _GAP
    best: tuple[int, _Box] | None = None
    for distance, away in enumerate(_AWAY):
        for side in _SIDES:
            middle = cluster.centre + side * (half + _GAP + away * cluster.reach)
            box = _Box(np.clip(middle, edge, np.maximum(1 - edge, edge)), half)  # inside the map
            if box.covered(cluster.centre[None]) or any(map(box.meets, boxes)):
                continue
            cost = box.covered(places) + _STEP * distance
            if best is None or cost < best[0]:
                best = (cost, box)
    return None if best is None else best[1]


def _cluster(places: NDArray[np.floating], is_own: NDArray[np.bool_]) -> _Cluster | None:
    """Return the cluster that an intent's points form among all (N, 2); None if they form none."""
    own = places[is_own]
    nearest = math.ceil(len(own) / 3)
    seeds = own[:: math.ceil(len(own) / _SEEDS)]
    distances = np.hypot(*(own - seeds[:, None]).transpose(2, 0, 1))
    radii = np.partition(distances, nearest - 1, axis=1)[:, nearest - 1]
    densest = radii.argmin()
    inside = np.hypot(*(places - seeds[densest]).T) <= radii[densest]
    if is_own[inside].mean() < (1 + is_own.mean()) / 2:
        return None
    dense = own[distances[densest] <= radii[densest]]
    centre: NDArray[np.floating] = np.median(dense, axis=0)
    return _Cluster(centre, np.maximum(np.quantile(np.abs(dense - centre), 0.9, axis=0), _GAP))
