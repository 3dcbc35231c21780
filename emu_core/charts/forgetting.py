"""What an encoder could do before it was specialised, and how much of it is left, with intervals around zero."""

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.intervals import interval_rows
from emu_core.charts.style import CLOSEST, GREY, PALETTE

FELL, KEPT, ROSE = "fell too far", "kept", "rose"
_MARKS = {ROSE: (PALETTE[2], "circle"), KEPT: (GREY, "circle-open"), FELL: (CLOSEST, "triangle-down")}


def kept_intervals(measured: pd.DataFrame, most_fall: float, title: str, places: int) -> go.Figure:
    """Return a point with its interval for each measure, the worst on top, a line at zero and one at the largest fall.

    Args:
        measured: columns `name`, `base`, `specialised`, `difference`, `low`, `high`, `count` (pairs of sentences) and
            `flagged`, whether it fell too far.
        most_fall: a fall that is still harmless.
        title: of the axis: what the differences are.
        places: decimals of what is measured.
    """
    rows = measured.assign(kind=KEPT)
    rows.loc[rows["low"] > 0, "kind"] = ROSE
    rows.loc[rows["flagged"], "kind"] = FELL
    rows["hover"] = [
        (
            f"{row.name}: {row.base:.{places}f}, now {row.specialised:.{places}f}",
            f"{row.difference:+.{places}f}, 95 %: {row.low:+.{places}f} to {row.high:+.{places}f}",
            f"{row.pairs:,} pairs: {row.kind}",
        )
        for row in rows.rename(columns={"count": "pairs"}).itertuples()
    ]
    figure = interval_rows(rows, _MARKS, title)
    return figure.add_vline(x=-most_fall, line={"color": CLOSEST, "width": 1, "dash": "dot"})
