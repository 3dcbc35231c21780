"""How well held-out translations were found, epoch by epoch."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from emu_core.charts.style import PALETTE, on_page


def held_out_curve(history: Sequence[dict[str, Any]]) -> go.Figure:
    """Return P@1 on held-out pairs after each epoch, the best one marked.

    Args:
        history: the run's log; of the records of kind "epoch" `epoch` and `dev_accuracy`, percent, are drawn.
    """
    found = [
        (int(record["epoch"]), float(record["dev_accuracy"]))
        for record in history
        if record.get("kind") == "epoch" and isinstance(record.get("dev_accuracy"), int | float)
    ]
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=[epoch for epoch, _ in found],
            y=[percent for _, percent in found],
            mode="lines+markers",
            line={"color": PALETTE[0], "width": 2},
            hovertemplate="epoch %{x}: %{y:.1f} %<extra></extra>",
        )
    )
    if found:
        best = max(found, key=lambda one: one[1])  # of equals the first, as the trainer has it
        figure.add_annotation(
            x=best[0], y=best[1], text=f"best: {best[1]:.1f} %, epoch {best[0]}",
            showarrow=True, arrowhead=0, arrowwidth=1, ax=0, ay=34, font={"size": 12},
        )  # fmt: skip
    lowest = min((percent for _, percent in found), default=0.0)
    figure.update_xaxes(title="epoch", dtick=max(1, len(found) // 10), rangemode="tozero")
    figure.update_yaxes(title="P@1, %", range=[max(0.0, lowest - 15), 102], zeroline=False)
    figure.update_layout(showlegend=False)
    return on_page(figure, height=280)
