"""An animated map: the same sentences after each epoch, beside the accuracy of each language."""

from collections.abc import Iterator, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from emu_core.charts.marks import TITLES, ColourBy, groups, hover_texts
from emu_core.charts.style import CLOSEST, LIGHT, PLAIN, Theme, frame_map, on_page, panel_axes, plain, short
from emu_core.data.languages import language_name
from emu_core.evaluation.film import PLAIN_MEASURES, Film

BETWEEN = 8  # steps between two frames, so that the eye can follow a point
STEP_MS = 80
GRID = 10_000  # positions are integers up to this, which take two bytes each in a file


def animation(film: Film, colour_by: ColourBy = "intent", theme: Theme = LIGHT) -> go.Figure:
    """Return the map as it changes, with a play button and a slider, beside Acc@1 by language.

    On the right, a line marks the accuracy of each language before training. The first frame is drawn. Colours show the
    intent or the language; sentences without intents are coloured by language.
    """
    points = film.sentences
    if (points["intent"] == "").all():
        colour_by = "language"
    measured = list(film.accuracy.columns)
    figure = make_subplots(
        rows=1,
        cols=2 if measured else 1,
        column_widths=[0.7, 0.3] if measured else None,
        horizontal_spacing=0.09,
    )
    places, hover, members = on_grid(film.places), hover_texts(points), list[NDArray[np.intp]]()
    traces: list[go.Scattergl] = []
    for group in groups(points, colour_by, theme=theme):
        members_of_group = np.flatnonzero(points[colour_by].to_numpy() == group.value)
        members.append(members_of_group)
        traces.append(
            go.Scattergl(
                x=places[0, members_of_group, 0],
                y=places[0, members_of_group, 1],
                mode="markers",
                name=plain(f"{short(group.name, 30)} ({group.count:,})"),
                text=hover[members_of_group],
                hovertemplate="%{text}<extra></extra>",
                marker={"color": group.colour, "symbol": group.mark[0], "size": 7, "opacity": 0.8},
                **panel_axes(1),
            )
        )
    figure.add_traces(traces)
    frame_grid(figure)
    if measured:
        _add_accuracy(figure, film)
    figure.frames = list(_frames(film, places, members))
    _add_controls(figure, film.titles)
    legend = {"title": {"text": TITLES[colour_by]}, "itemsizing": "constant"}
    return on_page(figure, height=680, legend=legend, showlegend=True, margin=frame_margin(140))


def on_grid(places: NDArray[np.float32]) -> NDArray[np.int16]:
    """Return the points (F, N, 2) as centred integers, both axes on one scale."""
    low, high = places.min(axis=(0, 1)), places.max(axis=(0, 1))
    scale = GRID / max(float((high - low).max()), 1e-9)
    return np.round((places - (low + high) / 2) * scale + GRID / 2).astype(np.int16)


def frame_grid(figure: go.Figure) -> None:
    """Frame a map of points on the grid, with an edge around them."""
    frame_map(figure)
    edge = GRID // 25
    figure.update_xaxes(range=[-edge, GRID + edge])
    figure.update_yaxes(range=[-edge, GRID + edge])


def frame_margin(bottom: int) -> dict[str, int]:
    """Return the margin of a framed map; padding, which Streamlit has, would push the frame's left side out of view."""
    return {"b": bottom, "pad": 0}


def _add_accuracy(figure: go.Figure, film: Film) -> None:
    """Draw a bar for each language, the first language on top, and a mark at its accuracy before training."""
    names = [plain(language_name(code)) for code in film.accuracy.columns]
    first = film.accuracy.iloc[0].to_numpy()
    shared = {"x": first, "y": names, "showlegend": False, "row": 1, "col": 2}
    figure.add_bar(
        **shared,
        orientation="h",
        marker={"color": PLAIN},
        texttemplate="%{x:.1f}",
        textposition="inside",
        insidetextanchor="start",
        hovertemplate="%{y}: %{x:.1f} %<extra></extra>",
    )
    figure.add_scatter(
        **shared,
        mode="markers",
        marker={"symbol": "line-ns", "size": 14, "line": {"width": 3, "color": CLOSEST}},
        name=film.titles[0],
        hovertemplate=f"%{{y}}, {plain(film.titles[0])}: %{{x:.1f}} %<extra></extra>",
    )
    axis, measure = (
        {"showticklabels": True, "showline": False},
        PLAIN_MEASURES.get(film.measure, film.measure),
    )
    figure.update_xaxes(**axis, range=[0, 100], title={"text": f"{measure}, %"}, row=1, col=2)
    figure.update_yaxes(**axis, autorange="reversed", range=None, row=1, col=2)


def _frames(
    film: Film, places: NDArray[np.int16], members: list[NDArray[np.intp]]
) -> Iterator[dict[str, object]]:
    """Yield every frame and the steps to the next: positions and lengths of bars, and nothing else.

    They are no `go.Frame`, since the figure would check the thousands of traces in them once more.
    """
    accuracy = film.accuracy.to_numpy(np.float64)
    traces = list(range(len(members) + bool(accuracy.shape[1])))
    last = len(places) - 1
    for frame in range(len(places)):
        following = min(frame + 1, last)
        for step in range(BETWEEN if frame < last else 1):
            share = slow_at_both_ends(step / BETWEEN)
            now = np.round((1 - share) * places[frame] + share * places[following]).astype(np.int16)
            data: list[dict[str, object]] = [
                {"type": "scattergl", "x": now[rows, 0], "y": now[rows, 1]} for rows in members
            ]
            if accuracy.shape[1]:
                bars = (1 - share) * accuracy[frame] + share * accuracy[following]
                data.append({"type": "bar", "x": bars.round(1)})
            yield {"name": f"{frame}.{step}", "data": data, "traces": traces}


def slow_at_both_ends(share: float) -> float:
    """Return how far a point has come after a share (0 to 1) of the steps to its next place."""
    return share * share * (3 - 2 * share)


def _shown(duration: int) -> dict[str, object]:
    """Return how Plotly shows a frame, for so many milliseconds."""
    return {
        "mode": "immediate",
        "frame": {"duration": duration, "redraw": True},
        "transition": {"duration": 0},
    }


def stops(steps: Sequence[tuple[str, str]]) -> list[dict[str, object]]:
    """Return the stops of a slider; each has a title and the name of its frame."""
    return [
        {"label": plain(title), "method": "animate", "args": [[frame], _shown(0)]} for title, frame in steps
    ]


def buttons(y: float) -> dict[str, object]:
    """Return the buttons that play and pause, at the left, with their upper end at `y` of the map's height."""
    return {
        "type": "buttons", "direction": "left", "showactive": False,
        "buttons": [
            {"label": "▶ Play", "method": "animate", "args": [None, {**_shown(STEP_MS), "fromcurrent": True}]},
            {"label": "❚❚ Pause", "method": "animate", "args": [[None], _shown(0)]},
        ],
        "x": 0, "y": y, "xanchor": "left", "yanchor": "top", "pad": {"t": 0},
    }  # fmt: skip


def _add_controls(figure: go.Figure, titles: tuple[str, ...]) -> None:
    """Add the buttons and the slider under the map."""
    steps = stops([(title, f"{frame}.0") for frame, title in enumerate(titles)])
    slider = {
        "active": 0, "steps": steps, "x": 0.18, "len": 0.82, "y": -0.08, "yanchor": "top",
        "currentvalue": {"visible": True, "prefix": "", "xanchor": "left"}, "pad": {"t": 0},
    }  # fmt: skip
    figure.update_layout(updatemenus=[buttons(-0.12)], sliders=[slider])
