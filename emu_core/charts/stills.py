"""The maps as a PNG or SVG file, drawn on the server from the same places: no browser is needed for it."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from emu_core.charts.marks import TITLES, ColourBy, Fill, Group, fill, groups, other
from emu_core.charts.style import GREY, darker, short

Format = Literal["png", "svg"]
# A glyph is taken from the first of these that has it: intents are named in every script.
_FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK JP",
    "Noto Sans Arabic",
    "Noto Sans Thai",
    "Arial Unicode MS",
)
_MOST_NAMED = 60  # groups in the legend
_ROWS = 34  # in a column of the legend
_settings = Lock()  # matplotlib's are the whole process's


def maps_file(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    *,
    file_format: Format,
) -> bytes:
    """Return the picture of `sentence_maps`, from the same arguments, as a file's bytes, on white.

    Text in an SVG stays text.
    """
    coloured, shaped = groups(points, colour_by), groups(points, other(colour_by))
    with drawing() as figure_of:
        figure = figure_of((5.8 * len(panels) + 2.6, 6.6))
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (title, places) in zip(axes, panels.items(), strict=True):
            _draw(axis, places, points, colour_by, chosen)
            axis.set(title=title, xticks=[], yticks=[])
        colours = [_key(group.name, group.colour, group, shaped[0]) for group in coloured]
        figure.legend(
            handles=_named(colours), title=f"{TITLES[colour_by]}: colour", loc="outside right upper",
            ncols=-(-min(len(colours), _MOST_NAMED) // _ROWS), frameon=False,
        )  # fmt: skip
        shapes = [_key(group.name, GREY, coloured[0], group) for group in shaped]
        figure.legend(
            handles=_named(shapes), title=f"{TITLES[other(colour_by)]}: shape", loc="outside lower left",
            ncols=4 * len(panels), frameon=False,
        )  # fmt: skip
        out = io.BytesIO()
        figure.savefig(
            out, format=file_format, dpi=150, metadata={"Date": None} if file_format == "svg" else None
        )
    return out.getvalue()


@contextmanager
def drawing() -> Iterator[Callable[[tuple[float, float]], Figure]]:
    """Set matplotlib up for a picture; yield a function that makes a figure of a size in inches."""
    there = {font.name for font in font_manager.fontManager.ttflist}
    settings: Any = {
        "font.family": [font for font in _FONTS if font in there],
        "font.size": 9,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "emu",  # the same picture is the same file
        "text.parse_math": False,  # a name with dollar signs is a name
    }
    with _settings, rc_context(settings):
        yield lambda size: Figure(figsize=size, layout="constrained")


def _draw(
    axis: Axes,
    places: NDArray[np.float32],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
) -> None:
    coloured = {group.value: group for group in groups(points, colour_by)}
    shaped = {group.value: group for group in groups(points, other(colour_by))}
    stands_out = points["row"].isin(chosen).to_numpy() if chosen else np.ones(len(points), dtype=bool)
    for drawn, alpha in ((~stands_out, 0.12), (stands_out, 0.9)):
        part, at_part = points[drawn], places[drawn]
        # One call for a colour with a shape: as many as there are groups, however many points.
        for (colour, shape), at in part.groupby([colour_by, other(colour_by)]).indices.items():
            paint = _paint(coloured[colour].colour, coloured[colour], shaped[shape])
            axis.scatter(at_part[at, 0], at_part[at, 1], s=22, alpha=alpha, **paint)


def _paint(colour: str, coloured: Group, shaped: Group) -> dict[str, Any]:
    """Return matplotlib's marker of a point: its shape, and one of four ways to fill it."""
    style = fill(coloured, shaped)
    return {
        "marker": shaped.shape[1],
        "facecolors": "none" if style in (Fill.OPEN, Fill.OPEN_DOT) else colour,
        "edgecolors": darker(colour) if style is Fill.DOT else colour,
        "linewidths": 1.8 if style is Fill.OPEN_DOT else 0.8,
    }


def _key(name: str, colour: str, coloured: Group, shaped: Group) -> Line2D:
    paint = _paint(colour, coloured, shaped)
    return Line2D(
        [], [], linestyle="none", label=short(name, 30), marker=paint["marker"], markersize=6,
        markerfacecolor=paint["facecolors"], markeredgecolor=paint["edgecolors"],
        markeredgewidth=paint["linewidths"],
    )  # fmt: skip


def _named(keys: Sequence[Line2D]) -> list[Line2D]:
    rest = len(keys) - _MOST_NAMED
    more = [Line2D([], [], linestyle="none", label=f"and {rest} more")] if rest > 0 else []
    return [*keys[:_MOST_NAMED], *more]
