"""Differences with their intervals around zero: what every picture of them shares."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.style import GREY, on_page, plain, short

Mark = tuple[str, str]  # a colour and a shape, so that the one is not needed where the other is seen
ROW, AROUND = 30, 150  # pixels


def interval_rows(changes: pd.DataFrame, marks: Mapping[str, Mark], title: str) -> go.Figure:
    """Return a point with its interval for each row, the lowest difference on top, and a line at zero.

    Args:
        changes: columns `name`, `difference`, `low`, `high`, `kind` and `hover`, lines of plain text.
        marks: by kind, in the legend's order.
        title: of the axis: what the differences are.
    """
    ordered = changes.sort_values("difference", ascending=False, kind="stable").reset_index(drop=True)
    figure = go.Figure()
    for kind, (colour, symbol) in marks.items():
        part = ordered[ordered["kind"] == kind]
        if part.empty:
            continue
        figure.add_trace(
            go.Scatter(
                x=part["difference"].tolist(),
                y=part.index.tolist(),
                mode="markers",
                name=kind,
                marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": (part["high"] - part["difference"]).tolist(),
                    "arrayminus": (part["difference"] - part["low"]).tolist(),
                    "color": colour,
                    "thickness": 2,
                },
                text=[_lines(hover) for hover in part["hover"]],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    names = [plain(short(name, 24)) for name in ordered["name"]]
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[-0.6, len(names) - 0.4],
        showgrid=False,
        zeroline=False,
    )
    figure.update_xaxes(title=title, zeroline=False)
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0}, showlegend=True)
    return on_page(figure, height=AROUND + ROW * len(names))


def _lines(hover: Sequence[str]) -> str:
    return "<br>".join(map(plain, hover))
