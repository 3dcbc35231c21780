"""What each language's queries gained or lost, with intervals around zero."""

import pandas as pd
import plotly.graph_objects as go

from app.charts.style import CLOSEST, GREY, PALETTE, on_page, plain, short
from emu_core.data.languages import language_name
from emu_core.evaluation.guard import Verdict

# A colour and a shape, so that the one is not needed where the other is seen.
_MARKS = {
    Verdict.GAINS: (PALETTE[2], "circle"),
    Verdict.NO_CLEAR_CHANGE: (GREY, "circle-open"),
    Verdict.MAY_LOSE: (PALETTE[1], "triangle-down-open"),
    Verdict.LOSES: (CLOSEST, "triangle-down"),
}


def guard_intervals(changes: pd.DataFrame) -> go.Figure:
    """Return a point with its interval for each language, the worst on top, and a line at zero.

    Args:
        changes: a row for each language, in points: `language` (its code), `difference`, `low`, `high`, `verdict`,
            `queries`.
    """
    ordered = changes.sort_values("difference", ascending=False, kind="stable").reset_index(drop=True)
    figure = go.Figure()
    for verdict, (colour, symbol) in _MARKS.items():
        part = ordered[ordered["verdict"] == verdict.value]
        if part.empty:
            continue
        figure.add_trace(
            go.Scatter(
                x=part["difference"].tolist(),
                y=part.index.tolist(),
                mode="markers",
                name=verdict.value,
                marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": (part["high"] - part["difference"]).tolist(),
                    "arrayminus": (part["difference"] - part["low"]).tolist(),
                    "color": colour,
                    "thickness": 2,
                },
                text=[
                    f"{plain(language_name(row.language))}: {row.difference:+.1f} points<br>95 %: {row.low:+.1f} to "
                    f"{row.high:+.1f}<br>{row.queries:,} queries: {row.verdict}"
                    for row in part.itertuples()
                ],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    names = [plain(short(language_name(code), 24)) for code in ordered["language"]]
    figure.update_yaxes(
        tickvals=list(range(len(names))), ticktext=names, range=[-0.6, len(names) - 0.4], showgrid=False
    )
    figure.update_xaxes(title="points of Acc@1, specialised minus base", zeroline=False)
    figure.update_layout(legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0}, showlegend=True)
    return on_page(figure, height=150 + 30 * len(names))
