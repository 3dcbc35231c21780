"""Maps of sentences: every point a sentence, one panel an encoder."""

import math
from base64 import b64encode
from collections.abc import Mapping, Set

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from emu_core.charts.marks import SHAPES, TITLES, ColourBy, Fill, Group, groups, other, symbol
from emu_core.charts.style import (
    GREY,
    PALETTE,
    TRANSPARENT,
    darker,
    frame_map,
    on_page,
    on_white,
    plain,
    short,
)

HOVER = 90  # characters of a sentence
LARGER, FADED = 4.0, 0.12  # what stands out is so much larger, and the rest so faint


def sentence_maps(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int] = frozenset(),
) -> go.Figure:
    """Return a map for each encoder, side by side, with one legend: what it hides, it hides in all of them.

    Args:
        panels: by the panel's title, the places (N, 2) of the N points.
        points: columns text, intent, language, row (the integer a selection gives back as customdata), and template
            where the colour says it.
        colour_by: what the colour says; the shape says the other.
        chosen: rows to stand out; the others fade. Empty: all stand alike, until plotly's selected points do.
    """
    figure = make_subplots(rows=1, cols=len(panels), subplot_titles=list(panels), horizontal_spacing=0.02)
    coloured, shaped = groups(points, colour_by), groups(points, other(colour_by))
    rows = points["row"].to_numpy(np.int32)
    hover = np.array(
        [
            f"{plain(short(text, HOVER))}<br>{plain(intent)} · {plain(language)}"
            for text, intent, language in points[["text", "intent", "language"]].itertuples(index=False)
        ],
        dtype=object,
    )
    size = next(size for size, most in ((8.0, 2_000), (6.0, 10_000), (4.0, math.inf)) if len(rows) <= most)
    emphasis = _emphasis(rows, chosen, size)
    colour_values, shape_values = points[colour_by].to_numpy(), points[other(colour_by)].to_numpy()
    for group in coloured:
        symbol_of = {shape.value: symbol(group, shape) for shape in shaped}
        mine = np.flatnonzero(colour_values == group.value)
        symbols = np.array([symbol_of[value] for value in shape_values[mine]], dtype=np.int16)
        for column, places in enumerate(panels.values(), start=1):
            figure.add_trace(
                go.Scattergl(
                    x=places[mine, 0].astype(np.float32),
                    y=places[mine, 1].astype(np.float32),
                    mode="markers",
                    name=plain(short(group.name, 30)),
                    legendgroup=group.value,
                    showlegend=False,
                    customdata=rows[mine],
                    text=hover[mine],
                    hovertemplate="%{text}<extra></extra>",
                    marker={
                        "color": group.colour, "symbol": _packed(symbols), "line": _outline(group.colour, symbols),
                        **{name: _of(values, mine) for name, values in emphasis.items()},
                    },
                    selected={"marker": {"size": size + LARGER, "opacity": 1.0}},
                    unselected={"marker": {"opacity": FADED}},
                ),
                row=1, col=column,
            )  # fmt: skip
    _legends(figure, coloured, shaped, colour_by)
    frame_map(figure)
    on_page(figure, height=700)
    figure.update_layout(
        dragmode="pan",
        clickmode="event+select",
        hovermode="closest",
        margin={"pad": 0, "t": 64},  # the tools above the titles
        modebar={"bgcolor": TRANSPARENT, "color": GREY, "activecolor": PALETTE[4]},
    )
    return figure


def maps_page(
    panels: Mapping[str, NDArray[np.float32]], points: pd.DataFrame, colour_by: ColourBy, chosen: Set[int]
) -> bytes:
    """Return `sentence_maps`, from the same arguments, as an HTML page's bytes that needs no network."""
    figure = on_white(sentence_maps(panels, points, colour_by, chosen))
    page: str = figure.to_html(include_plotlyjs=True, config={"displaylogo": False, "scrollZoom": True})
    return page.encode()


def _emphasis(
    rows: NDArray[np.int32], chosen: Set[int], size: float
) -> dict[str, float | NDArray[np.float32]]:
    """Size and opacity of all points, or of each."""
    if not chosen:
        return {"size": size, "opacity": 0.85}
    stands_out = np.isin(rows, np.fromiter(chosen, dtype=np.int32, count=len(chosen)))
    return {
        "size": np.where(stands_out, size + LARGER, size).astype(np.float32),
        "opacity": np.where(stands_out, 1.0, FADED).astype(np.float32),
    }


def _of(values: float | NDArray[np.float32], mine: NDArray[np.intp]) -> float | NDArray[np.float32]:
    """A group's part of what may be the same for all points."""
    return values[mine] if isinstance(values, np.ndarray) else values


def _outline(colour: str, symbols: NDArray[np.int16]) -> dict[str, object]:
    """A dot inside a full shape has the outline's colour, so that can't be the shape's own."""
    return {"width": 1, "color": darker(colour) if (symbols // 100 == Fill.DOT).any() else colour}


def _packed(numbers: NDArray[np.int16]) -> dict[str, str]:
    """An array as plotly.js reads it; given so, plotly doesn't look up every single shape in a list."""
    return {"dtype": "i2", "bdata": b64encode(numbers.astype("<i2").tobytes()).decode()}


def _legends(
    figure: go.Figure, coloured: tuple[Group, ...], shaped: tuple[Group, ...], colour_by: ColourBy
) -> None:
    """Explain colours and shapes: the longer list beside the maps, the shorter under them."""
    for group in coloured:
        figure.add_trace(_key(group.name, group.colour, symbol(group, shaped[0]), "legend", group.value))
    for group in shaped:
        figure.add_trace(_key(group.name, GREY, symbol(coloured[0], group), "legend2", None))
    beside = {"x": 1.01, "y": 1, "xanchor": "left", "yanchor": "top", "tracegroupgap": 0}
    under = {"x": 0, "y": -0.02, "xanchor": "left", "yanchor": "top", "orientation": "h"}
    colours_beside = len(coloured) >= len(shaped)
    figure.update_layout(
        legend={**(beside if colours_beside else under), "title": {"text": f"{TITLES[colour_by]}: colour"}},
        legend2={
            **(under if colours_beside else beside),
            "title": {"text": f"{TITLES[other(colour_by)]}: shape"},
            "itemclick": False,  # a shape runs through every colour's points: the page's filter hides it
            "itemdoubleclick": False,
        },
    )


def _key(name: str, colour: str, shape: int, legend: str, legend_group: str | None) -> go.Scattergl:
    """A legend's entry: a trace without points, so that fading and sizes don't reach its mark."""
    return go.Scattergl(
        x=[None],
        y=[None],
        mode="markers",
        name=plain(short(name, 30)),
        legend=legend,
        legendgroup=legend_group,
        marker={
            "color": colour,
            "symbol": shape,
            "size": 9,
            "line": _outline(colour, np.array([shape], dtype=np.int16)),
        },
        hoverinfo="skip",
    )


MOST_WRITTEN = (
    160  # words; above it they would hide each other and stand at their points only while hovered over
)
# Translations lie on one another, and their words would, too.
WHERE = (
    "top center",
    "bottom center",
    "middle right",
    "middle left",
    "top right",
    "bottom left",
    "top left",
    "bottom right",
)


def word_map(places: NDArray[np.floating], words: pd.DataFrame) -> go.Figure:
    """Return a map of N words.

    Args:
        places: (N, 2).
        words: columns `word` and `language` (codes), N rows.
    """
    figure = go.Figure()
    written = len(words) <= MOST_WRITTEN
    for group in groups(words, "language"):
        mine = np.flatnonzero(words["language"].to_numpy() == group.value)
        labels = [plain(short(word, 30)) for word in words["word"].iloc[mine]]
        figure.add_trace(
            go.Scatter(
                x=places[mine, 0].tolist(),
                y=places[mine, 1].tolist(),
                mode="markers+text" if written else "markers",
                name=plain(group.name),
                text=labels,
                textposition=WHERE[group.place % len(WHERE)],
                textfont={
                    "size": 12
                },  # in the page's colour: some of the palette's is hard to read as letters
                marker={"color": group.colour, "symbol": SHAPES[group.place % len(SHAPES)][0], "size": 8},
                hovertemplate=f"%{{text}}, {plain(group.name)}<extra></extra>",
                cliponaxis=False,
            )
        )
    frame_map(figure)
    on_page(figure, height=640)
    figure.update_layout(
        dragmode="pan",
        hovermode="closest",
        showlegend=True,
        margin={"l": 12, "r": 12, "pad": 0},
        legend={"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0},
        modebar={"bgcolor": TRANSPARENT, "color": GREY},
    )
    return figure
