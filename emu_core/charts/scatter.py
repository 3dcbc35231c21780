"""Maps of sentences, one panel for each encoder, and of words."""

from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from emu_core.charts import marks
from emu_core.charts.marks import ColourBy
from emu_core.charts.style import (
    FAINT,
    GREY,
    LIGHT,
    Theme,
    add_marks,
    frame_map,
    on_page,
    panel_axes,
    plain,
    short,
)

MOST_HOVERED = 30_000  # points that show their sentence; the texts of more would take many megabytes
LARGER = 4.0  # added to the size of a point that stands out
TRAINED, HELD_OUT = "trained on: faint", "held out: solid"
SOLID, TRAINED_ON = 0.9, 0.2  # opacity
_SIZES = ((2_000, 8.0), (10_000, 6.0), (30_000, 4.0), (np.inf, 3.0))  # by the number of points, at most
MOST_WRITTEN = 160  # words; more would overlap, and are only shown on hovering
# Of the words of each language: translations lie close together, and so would their words.
WHERE = (
    "top center", "bottom center", "middle right", "middle left", "top right", "bottom left", "top left",
    "bottom right",
)  # fmt: skip


def sentence_maps(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int] = frozenset(),
    *,
    shown: NDArray[np.bool_] | None = None,
    focus: Collection[str] = (),
    shape_languages: bool = False,
    named: int = marks.MAX_NAMED_CLUSTERS,
    density: bool = False,
    theme: Theme = LIGHT,
) -> go.Figure:
    """Return a map for each encoder, side by side and zoomed together, with one legend that hides groups in all.

    Colours, shapes and the frame are those of all points, whatever is shown or chosen. Points that are filtered out
    or not chosen turn grey and stay in place; nothing else is grey. Beyond `MOST_LISTED` groups, those of one colour
    share a trace, and the names of the clusters replace the legend. For a legend of one's own, `layout.meta["groups"]`
    has the name, colour, mark and size of each group, and the `meta` of a trace the number of its group, or of those
    of its points.

    Args:
        panels: positions (N, 2) of the N points by the panel's title, rotated onto each other (see `aligned`).
        points: columns text, intent, language, row (the integer that a selection returns as customdata); template if
            it is coloured; and optionally `trained`, true of sentences that an encoder was trained on, which are faint.
        colour_by: what the colour shows.
        chosen: rows that stand out; if empty, all points look alike until some are selected.
        shown: (N,), the points that pass the filters; None for all.
        focus: groups that come first in the palette, of more than every reader tells apart.
        shape_languages: whether the shape shows the language, which `colour_by` does not show and fewer than
            `MOST_SHAPED` points.
        named: the largest number of intents named beside their clusters.
        density: whether to draw contour lines of the density.
        theme: the colours for the page.
    """
    # First what all panels share: each point's trace, colour, shape, hover text and opacity.
    figure = make_subplots(rows=1, cols=len(panels), subplot_titles=list(panels), horizontal_spacing=0.02)
    coloured = marks.groups(points, colour_by, focus, theme)
    shaped = marks.shapes(points, colour_by) if shape_languages else None
    lit = np.ones(len(points), dtype=bool) if shown is None else shown
    rows = points["row"].to_numpy(np.int32)
    size = next(size for most, size in _SIZES if len(points) <= most)
    listed = len(coloured) <= marks.MOST_LISTED
    colours = list(dict.fromkeys(group.colour for group in coloured))
    number_of = points[colour_by].map({group.value: group.number for group in coloured}).to_numpy()
    trace_of = number_of if listed else number_of % len(colours)
    hover: NDArray[np.object_] | None = None  # with too many points only the group is shown, or the intent
    if len(points) <= MOST_HOVERED:
        hover = marks.hover_texts(points)
    elif not listed:
        hover = points["intent"].map(plain).to_numpy(object)
    is_marked = shaped is None and len(points) <= marks.MOST_SHAPED  # small points have no shape
    group_marks = np.array([group.mark[0] if is_marked else 0 for group in coloured], dtype=np.int16)
    if shaped is None:
        symbols = group_marks[number_of]
    else:
        of_language = {value: group.shape[0] for value, group in shaped.items()}
        symbols = points["language"].map(of_language).to_numpy(np.int16)
    opacity: NDArray[np.float32] | None = None
    if "trained" in points:
        opacity = np.where(points["trained"], TRAINED_ON, SOLID).astype(np.float32)
    stands_out = np.isin(rows, np.fromiter(chosen, dtype=np.int32, count=len(chosen)))
    # Then the layers of each panel, from the back: density, points that are filtered out, a trace for each group, and
    # the names on the clusters.
    traces: list[dict[str, Any]] = []  # as objects, each would be checked twice
    names: list[dict[str, object]] = []
    frame = _frame_of(panels)
    for panel, places in enumerate(panels.values(), start=1):
        axes = panel_axes(panel)
        x, y = np.asarray(places, dtype=np.float32).T
        if density:
            traces.append(
                dict(
                    type="histogram2dcontour", x=x[lit], y=y[lit], nbinsx=40, nbinsy=40, ncontours=8,
                    contours={"coloring": "none"},
                    line={"width": 1.2, "color": theme.ink, "smoothing": 1.3}, opacity=0.7,
                    showlegend=False, showscale=False, hoverinfo="skip", **axes,
                )
            )  # fmt: skip
        if not lit.all():
            traces.append(
                dict(
                    type="scattergl", x=x[~lit], y=y[~lit], mode="markers", name="filtered out",
                    hoverinfo="skip", showlegend=False,
                    marker={"color": GREY, "size": size, "opacity": FAINT},
                    unselected={"marker": {"opacity": FAINT}}, **axes,
                )
            )  # fmt: skip
        for number in np.unique(trace_of[lit]).tolist():
            trace_rows = np.flatnonzero(lit & (trace_of == number))
            group = coloured[number]
            traces.append(
                dict(
                    type="scattergl",
                    x=x[trace_rows],
                    y=y[trace_rows],
                    mode="markers",
                    name=plain(short(group.name, 30)),
                    legendgroup=group.value,
                    showlegend=False,
                    customdata=rows[trace_rows],
                    meta=number if listed else number_of[trace_rows].tolist(),
                    text=None if hover is None else hover[trace_rows],
                    hovertemplate=(plain(group.name) if hover is None else "%{text}") + "<extra></extra>",
                    marker={
                        "color": group.colour,
                        "size": size,
                        "opacity": SOLID if opacity is None else opacity[trace_rows],
                        "symbol": _packed(symbols[trace_rows]),
                    },
                    selectedpoints=np.flatnonzero(stands_out[trace_rows]) if chosen else None,
                    selected={"marker": {"size": size + LARGER, "opacity": 1.0}},
                    unselected={"marker": {"color": GREY, "opacity": FAINT}},
                    **axes,
                )
            )
        own = points["intent"].to_numpy(object)[lit]
        around = marks.cluster_names(places[lit], own, named, frame=frame, panels=len(panels))
        names += [name_beside(name, theme, panel) for name in around]
    # At last they are added, all at once, because adding a trace checks all earlier ones.
    figure.add_traces(traces)
    add_marks(figure, annotations=names)
    group_keys = [
        (plain(group.name), group.colour, mark, group.count)
        for group, mark in zip(coloured, group_marks.tolist(), strict=True)
    ]
    figure.update_layout(meta={"groups": group_keys})
    _legends(figure, coloured, group_marks.tolist(), shaped, colour_by, trained=opacity is not None)
    frame_map(figure)
    for axis, update in enumerate((figure.update_xaxes, figure.update_yaxes)):
        # Only for the axes: a `uirevision` of the layout would restore cleared selections.
        update(range=frame[:, axis].tolist(), matches="xy"[axis], uirevision=str(frame.T.ravel().tolist()))
    margin = {"pad": 0, "t": 64}  # the modebar above the titles
    return on_page(figure, height=700, dragmode="pan", clickmode="event+select", margin=margin)


def _frame_of(panels: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float64]:
    """Return the lowest and the highest place of the maps of all panels, (2, 2), with an edge around their points."""
    everything = np.concatenate([*panels.values(), np.zeros((0, 2))])
    if not len(everything):
        return np.array([[0.0, 0.0], [1.0, 1.0]])
    low, high = everything.min(axis=0), everything.max(axis=0)
    edge = 0.04 * np.where(high > low, high - low, 1.0)
    return np.stack([low - edge, high + edge])


def _packed(numbers: NDArray[np.int16]) -> int | dict[str, str]:
    """Return shapes in plotly.js's binary form, which spares plotly the check of every single one; alike, their one."""
    if (numbers == numbers[0]).all():
        return int(numbers[0])
    return {"dtype": "i2", "bdata": b64encode(numbers.astype("<i2").tobytes()).decode()}


def _legends(
    figure: go.Figure,
    coloured: tuple[marks.ColourGroup, ...],
    group_marks: Sequence[int],
    shaped: Mapping[str, marks.ColourGroup] | None,
    colour_by: ColourBy,
    *,
    trained: bool,
) -> None:
    """Add the legends of colours and shapes, the longer beside the maps and the shorter below them."""
    listed = coloured if len(coloured) <= marks.MOST_LISTED else ()
    seen = ((TRAINED, TRAINED_ON), (HELD_OUT, SOLID)) if trained else ()
    keys = [
        _key(f"{short(of.name, 30)} ({of.count:,})", of.colour, mark, "legend", of.value)
        for of, mark in zip(listed, group_marks, strict=False)
    ]
    keys += [_key(short(of.name, 30), GREY, of.shape[0], "legend2", None) for of in (shaped or {}).values()]
    keys += [_key(name, GREY, 0, "legend2", None, opacity) for name, opacity in seen]
    figure.add_traces(keys)
    beside = {"x": 1.01, "y": 1, "xanchor": "left", "yanchor": "top", "tracegroupgap": 0}
    under = {"x": 0, "y": -0.02, "xanchor": "left", "yanchor": "top", "orientation": "h"}
    colours_beside = len(coloured) >= len(shaped or ())
    title = "Language: shape" if shaped else ""
    figure.update_layout(
        legend={
            **(beside if colours_beside else under),
            "title": {"text": f"{marks.TITLES[colour_by]}: colour"},
        },
        legend2={
            **(under if colours_beside else beside),
            "title": {"text": title},
            "itemclick": False,  # a shape spans the traces of all colours
            "itemdoubleclick": False,
        },
    )


def name_beside(name: marks.ClusterName, theme: Theme, panel: int = 1) -> dict[str, object]:
    """Return a cluster's name as plotly writes it, with a thin line to the cluster."""
    axes = panel_axes(panel)
    x, y = axes["xaxis"], axes["yaxis"]
    anchor = {-1: "right", 0: "center", 1: "left"}[int(np.sign(name.x - name.fixed_x))]
    return {
        "text": f"<b>{plain(short(name.intent, marks.GROUP_NAME))}</b>",
        "x": name.at_x, "y": name.at_y, "xref": x, "yref": y,
        "ax": name.fixed_x, "ay": name.y, "axref": x, "ayref": y, "xanchor": anchor,
        "showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": theme.ink, "borderpad": 0,
        "font": {"size": 12, "shadow": "auto", "color": theme.ink},
    }  # fmt: skip


def _key(
    name: str, colour: str, shape: int, legend: str, legend_group: str | None, opacity: float = 1.0
) -> go.Scattergl:
    """Return a legend's entry: a trace without points, whose mark keeps its size and opacity."""
    return go.Scattergl(
        x=[None],
        y=[None],
        mode="markers",
        name=plain(name),
        legend=legend,
        legendgroup=legend_group,
        marker={"color": colour, "symbol": shape, "size": 9, "opacity": opacity},
        hoverinfo="skip",
    )


def word_map(places: NDArray[np.floating], words: pd.DataFrame, theme: Theme = LIGHT) -> go.Figure:
    """Return a map of N words at places (N, 2); `words` has N rows with `word` and `language` (a code)."""
    written, traces = len(words) <= MOST_WRITTEN, list[go.Scatter]()
    for group in marks.groups(words, "language", theme=theme):
        language_rows = np.flatnonzero(words["language"].to_numpy() == group.value)
        labels = [plain(short(word, 30)) for word in words["word"].iloc[language_rows]]
        traces.append(
            go.Scatter(
                x=places[language_rows, 0].tolist(),
                y=places[language_rows, 1].tolist(),
                mode="markers+text" if written else "markers",
                name=plain(group.name),
                text=labels,
                textposition=WHERE[group.number % len(WHERE)],
                textfont={"size": 12},  # in the page's colour, as letters in the palette's are hard to read
                marker={"color": group.colour, "symbol": group.shape[0], "size": 8},
                hovertemplate=f"%{{text}}, {plain(group.name)}<extra></extra>",
                cliponaxis=False,
            )
        )
    figure = go.Figure(traces)
    frame_map(figure)
    below = {"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0}
    margin = {"l": 12, "r": 12, "pad": 0}
    return on_page(figure, height=640, dragmode="pan", showlegend=True, margin=margin, legend=below)
