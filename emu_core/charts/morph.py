"""One map that turns into another: where sentences go, and whose nearest neighbour became right or wrong."""

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from emu_core.charts.animation import (
    GRID,
    buttons,
    frame_grid,
    frame_margin,
    on_grid,
    slow_at_both_ends,
    stops,
)
from emu_core.charts.comparison import CHANGES
from emu_core.charts.marks import MAX_NAMED_CLUSTERS, cluster_names, hover_texts
from emu_core.charts.scatter import name_beside
from emu_core.charts.style import FAINT, GREY, LIGHT, TRANSPARENT, Theme, on_page
from emu_core.evaluation.neighbour_changes import Change, Morph

STEPS = 20  # between the two maps
_DRAWN = (Change.FIXED, Change.BROKEN)  # the later one on top
CLEAREST, FAINTEST, VISIBLE = 0.4, 0.1, 80  # opacity of a trail: the more there are, the fainter


def morph(moved: Morph, *, theme: Theme = LIGHT) -> go.Figure:
    """Return a map that a slider turns from one encoder's into another's, with a play and a pause button.

    Sentences whose nearest neighbour became right or wrong leave a trail in the colour of that; all others are grey.
    The first map is drawn. `theme` has the colour of the intents' names.
    """
    shown = slice(None) if moved.shown is None else moved.shown
    points, both = moved.sentences[shown], on_grid(moved.places)[:, shown]
    hover, changes = hover_texts(points), moved.changes[shown]
    members = {kind: np.flatnonzero(changes == kind) for kind in _DRAWN}
    others = np.flatnonzero(~np.isin(changes, _DRAWN))
    traces = [_dots(both[0], others, hover, GREY, FAINT, "the others")]
    for kind, rows in members.items():
        name = f"{kind.value}: {len(rows):,}"
        trail = go.Scattergl(
            **_trails(both[0], both[0], rows),
            mode="lines",
            line={"color": CHANGES[kind], "width": 1},
            opacity=min(CLEAREST, max(FAINTEST, VISIBLE / max(len(rows), 1))),
            legendgroup=kind.value,
            showlegend=False,
            hoverinfo="skip",
        )
        traces += [trail, _dots(both[0], rows, hover, CHANGES[kind], 0.9, name, kind.value)]
    figure = go.Figure(traces)
    frame_grid(figure)
    intents = points["intent"].to_numpy(object)
    names = [_names(of_map, intents, theme) for of_map in both]
    figure.update_layout(annotations=_faded(names, 0.0))
    figure.frames = list(_frames(both, others, members, names))
    _add_controls(figure, moved.titles, theme)
    legend = {"itemsizing": "constant", "orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom"}
    return on_page(figure, height=680, legend=legend, showlegend=True, margin=frame_margin(150))


def _add_controls(figure: go.Figure, titles: tuple[str, str], theme: Theme) -> None:
    """Add the slider under the map and the buttons under the slider, which fit on a phone, too."""
    ways = [f"{step / STEPS:.0%} of the way" for step in range(1, STEPS)]
    slider = {
        "active": 0, "steps": stops([(title, str(step)) for step, title in enumerate((titles[0], *ways, titles[1]))]),
        "x": 0, "len": 1, "y": -0.01, "yanchor": "top", "pad": {"t": 0},
        # Of the titles only that of the step that is shown: under the slider they would overlap.
        "font": {"color": TRANSPARENT}, "ticklen": 0, "minorticklen": 0,
        "currentvalue": {"prefix": "", "xanchor": "left", "font": {"size": 13, "color": theme.ink}},
    }  # fmt: skip
    figure.update_layout(updatemenus=[buttons(-0.17)], sliders=[slider])


def _dots(
    places: NDArray[np.int16],
    rows: NDArray[np.intp],
    hover: NDArray[np.object_],
    colour: str,
    opacity: float,
    name: str,
    group: str | None = None,
) -> go.Scattergl:
    return go.Scattergl(
        x=places[rows, 0],
        y=places[rows, 1],
        mode="markers",
        name=name,
        legendgroup=group,
        text=hover[rows],
        hovertemplate="%{text}<extra></extra>",
        marker={"color": colour, "size": 6, "opacity": opacity},
    )


def _trails(
    start: NDArray[np.int16], now: NDArray[np.int16], rows: NDArray[np.intp]
) -> dict[str, NDArray[np.float32]]:
    """Return a line for each of some rows, from where it started to where it is; gaps are NaN."""
    gap = np.full((len(rows), 2), np.nan, dtype=np.float32)
    ends = np.stack([start[rows].astype(np.float32), now[rows].astype(np.float32), gap], axis=1)
    return {"x": ends[..., 0].ravel(), "y": ends[..., 1].ravel()}


def _names(places: NDArray[np.int16], intents: NDArray[np.object_], theme: Theme) -> list[dict[str, object]]:
    """Return the names on the clusters of a map."""
    frame = np.array([[0.0, 0.0], [GRID, GRID]])
    # With room as on each of two maps: on a phone, this one is no wider.
    around = cluster_names(places.astype(np.float32), intents, MAX_NAMED_CLUSTERS, frame=frame, panels=2)
    return [name_beside(name, theme) for name in around]


def _faded(names: Sequence[Sequence[dict[str, object]]], share: float) -> list[dict[str, object]]:
    """Return the names of both maps: the first map's fade until halfway, from where the second's appear."""
    opacities = max(0.0, 1 - 2 * share), max(0.0, 2 * share - 1)
    return [
        {**name, "opacity": opacity}
        for of_map, opacity in zip(names, opacities, strict=True)
        for name in of_map
    ]


def _frames(
    both: NDArray[np.int16],
    others: NDArray[np.intp],
    members: dict[Change, NDArray[np.intp]],
    names: Sequence[Sequence[dict[str, object]]],
) -> Iterator[dict[str, object]]:
    """Yield each step: positions, trails, and how visible the names are."""
    start = both[0]
    for step in range(STEPS + 1):
        share = slow_at_both_ends(step / STEPS)
        now = np.round((1 - share) * start + share * both[1]).astype(np.int16)
        data: list[dict[str, object]] = [{"type": "scattergl", "x": now[others, 0], "y": now[others, 1]}]
        for rows in members.values():
            data.append({"type": "scattergl", **_trails(start, now, rows)})
            data.append({"type": "scattergl", "x": now[rows, 0], "y": now[rows, 1]})
        layout = {"annotations": _faded(names, share)}
        yield {"name": str(step), "data": data, "traces": list(range(len(data))), "layout": layout}
