"""A map of words, each written where it lies, coloured by language."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from emu_core.charts.marks import SHAPES, groups
from emu_core.charts.style import GREY, TRANSPARENT, frame_map, on_page, plain, short

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
