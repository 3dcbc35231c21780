"""What each language's queries gained or lost, with intervals around zero."""

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.intervals import interval_rows
from emu_core.charts.style import CLOSEST, GREY, PALETTE
from emu_core.data.languages import language_name
from emu_core.evaluation.guard import Verdict

_MARKS = {
    Verdict.GAINS.value: (PALETTE[2], "circle"),
    Verdict.NO_CLEAR_CHANGE.value: (GREY, "circle-open"),
    Verdict.MAY_LOSE.value: (PALETTE[1], "triangle-down-open"),
    Verdict.LOSES.value: (CLOSEST, "triangle-down"),
}


def guard_intervals(changes: pd.DataFrame) -> go.Figure:
    """Return a point with its interval for each language, the worst on top, and a line at zero.

    Args:
        changes: a row for each language, in points: `language` (its code), `difference`, `low`, `high`, `verdict`,
            `queries`.
    """
    rows = changes.assign(name=changes["language"].map(language_name), kind=changes["verdict"])
    rows["hover"] = [
        (
            f"{row.name}: {row.difference:+.1f} points",
            f"95 %: {row.low:+.1f} to {row.high:+.1f}",
            f"{row.queries:,} queries: {row.verdict}",
        )
        for row in rows.itertuples()
    ]
    return interval_rows(rows, _MARKS, "points of Acc@1, specialised minus base")
