"""A heat map whose cells say their value in a colour that can be read on theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

DARK, LIGHT = "#111111", "#FFFFFF"


@dataclass(frozen=True)
class Scale:
    """Colours from `low` to `high`.

    Attributes:
        low: the value of the first colour.
        high: the value of the last.
        diverging: light in the middle and dark at both ends.
        dark_is_high: light to dark, not dark to light.
    """

    low: float
    high: float
    diverging: bool = False
    dark_is_high: bool = False

    @property
    def colours(self) -> str:
        """The name of plotly's scale: all are told apart with every kind of colour vision."""
        if self.diverging:
            return "PuOr"
        return "Cividis_r" if self.dark_is_high else "Cividis"

    def ink(self, values: NDArray[np.float64]) -> NDArray[np.str_]:
        """Return the colour of the text on each value's colour."""
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        towards_dark = share if self.dark_is_high else 1.0 - share
        dark_ground = np.abs(share - 0.5) > 0.3 if self.diverging else towards_dark > 0.5
        return np.where(dark_ground & np.isfinite(values), LIGHT, DARK)


def heat_map(
    values: ArrayLike,
    x: Sequence[Any],
    y: Sequence[Any],
    *,
    scale: Scale,
    hover: Sequence[Sequence[str]],
    text: Sequence[Sequence[str]] | None,
) -> go.Figure:
    """Return a heat map, its first row on top.

    Args:
        values: (rows, columns); NaN leaves a hole.
        x: the columns' places or names.
        y: the rows'.
        scale: the colours.
        hover: (rows, columns) what hovering over a cell says.
        text: (rows, columns) what the cells say; None prints nothing and shows a colour bar.
    """
    z = np.asarray(values, dtype=np.float64)
    figure = go.Figure(
        go.Heatmap(
            z=z, x=list(x), y=list(y), zmin=scale.low, zmax=scale.high, colorscale=scale.colours,
            text=hover, hovertemplate="%{text}<extra></extra>", showscale=text is None, xgap=2, ygap=2,
        )
    )  # fmt: skip
    if text is not None:
        figure.add_trace(
            go.Scatter(
                x=[column for _ in y for column in x],
                y=[row for row in y for _ in x],
                text=[cell for row in text for cell in row],
                mode="text",
                textfont={"color": scale.ink(z).ravel().tolist()},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    # Numbered axes reach half a cell past the first and the last.
    figure.update_xaxes(showgrid=False, zeroline=False)
    figure.update_yaxes(showgrid=False, zeroline=False, autorange="reversed")
    return figure
