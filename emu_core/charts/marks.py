"""The points of a picture, and the colour and shape of each group of them, in the browser and in files alike."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.charts.style import GREY, HOVER, PALETTE, plain, short, tinted
from emu_core.data.languages import language_name, ordered

ColourBy = Literal["intent", "language", "template"]
# plotly's number of each shape, and matplotlib's letter for it.
SHAPES = (
    (0, "o"), (1, "s"), (2, "D"), (5, "^"), (3, "P"), (4, "X"), (17, "*"), (6, "v"), (13, "p"), (14, "h"),
    (7, "<"), (8, ">"),
)  # fmt: skip
_TINTS = (0.0, 0.45, -0.35)
MOST_LISTED = 60  # groups in a legend, each a trace of its own
MOST_SHAPED = 10_000
MAX_NAMED_CLUSTERS = 30  # intents named on a map
_SEEDS = 100  # points of an intent around which its cluster is sought
GROUP_NAME = 22  # characters of such a name
# Pixels of a name's letter and line, and of a map: the space left beside its legend in the app at 1440 pixels.
_LETTER, _LINE = 7.5, 16
_MAP_WIDTH, _MAP_HEIGHT = 640, 450
NAME_HEIGHT = _LINE / _MAP_HEIGHT
TITLES = {"intent": "Intent", "language": "Language", "template": "Template"}


@dataclass(frozen=True)
class ColourGroup:
    """All points of one intent, one language or one template."""

    value: str  # the intent, the language's code, or the template
    name: str  # as legends show it
    number: int  # its position among the groups, from 0

    @property
    def colour(self) -> str:
        """The colour of the group: from the palette, then from lighter and darker ones; all others are grey."""
        tint, hue = divmod(self.number, len(PALETTE))
        return tinted(PALETTE[hue], _TINTS[tint]) if tint < len(_TINTS) else GREY

    @property
    def shape(self) -> tuple[int, str]:
        """The shape of the group, as plotly's number and matplotlib's letter."""
        return SHAPES[self.number % len(SHAPES)]


def groups(points: pd.DataFrame, by: ColourBy, focus: Collection[str] = ()) -> tuple[ColourGroup, ...]:
    """Return the groups of a frame's column `by`: sorted, languages English first.

    If there are more groups than the palette has colours, those whose values are in `focus` come first and get them.
    """
    values: Sequence[str] = ordered(points[by].unique()) if by == "language" else sorted(points[by].unique())
    if len(values) > len(PALETTE):
        values = sorted(values, key=lambda value: value not in focus)  # a stable sort
    name = language_name if by == "language" else str
    return tuple(ColourGroup(value, name(value), number) for number, value in enumerate(values))


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


def cluster_names(
    places: NDArray[np.floating],
    intents: NDArray[np.object_],
    most: int,
    *,
    frame: NDArray[np.floating] | None = None,
    panels: int = 1,
) -> list[tuple[str, float, float]]:
    """Return the names to write on a map: of up to `most` of the largest intents that form a cluster.

    The third of an intent's points that are closest to each other are its cluster if its share of all points there is
    at least halfway from its share of the map to one: a name among scattered points would show what the map does not.

    Args:
        places: (N, 2).
        intents: (N,).
        most: the largest number of names.
        frame: the lowest and the highest position that the map shows, (2, 2); None takes those of the points.
        panels: number of maps side by side.

    Returns:
        The intent and the x and y of its cluster's centre, for each.
    """
    if not len(places):
        return []
    low, high = (places.min(axis=0), places.max(axis=0)) if frame is None else frame
    spans = np.maximum(high - low, 1e-9)
    values, codes, counts = np.unique(intents.astype(str), return_inverse=True, return_counts=True)
    clusters: list[tuple[str, float, float]] = []
    scaled = (places - low) / spans
    for code in np.argsort(-counts, kind="stable"):
        intent = str(values[code])
        if len(clusters) == most:
            break
        if intent == "":
            continue
        centre = _cluster(scaled, codes == code)
        if centre is None:
            continue
        half = name_width(intent, panels) / 2
        x, y = centre
        x = min(max(x, half), max(1 - half, half))  # inside the map
        if all(
            abs(x - left) > half + name_width(name, panels) / 2 or abs(y - below) > NAME_HEIGHT
            for name, left, below in clusters
        ):
            clusters.append((intent, x, y))
    return [(intent, *(low + spans * [x, y]).tolist()) for intent, x, y in clusters]


def _cluster(places: NDArray[np.floating], is_own: NDArray[np.bool_]) -> NDArray[np.floating] | None:
    """Return the centre (2,) of the cluster that an intent's points form among all (N, 2); None if they form none."""
    own = places[is_own]
    nearest = math.ceil(len(own) / 3)
    seeds = own[:: math.ceil(len(own) / _SEEDS)]
    distances = np.hypot(*(own - seeds[:, None]).transpose(2, 0, 1))
    radii = np.partition(distances, nearest - 1, axis=1)[:, nearest - 1]
    densest = radii.argmin()
    inside = np.hypot(*(places - seeds[densest]).T) <= radii[densest]
    if is_own[inside].mean() < (1 + is_own.mean()) / 2:
        return None
    centre: NDArray[np.floating] = np.median(own[distances[densest] <= radii[densest]], axis=0)
    return centre
