"""Differences with their intervals around zero: gains by language, and what was forgotten."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.style import CLOSEST, GREY, PALETTE, legend_above, name_rows, on_page, plain, short
from emu_core.data.languages import language_name
from emu_core.evaluation.guard import Verdict

Mark = tuple[str, str]  # a colour and a shape, so that the one is not needed where the other is seen
ROW, AROUND = 30, 150  # pixels
FELL, RETAINED, ROSE = "fell too far", "retained", "rose"
_GUARD_MARKS = {
    Verdict.GAINS.value: (PALETTE[2], "circle"),
    Verdict.NO_CLEAR_CHANGE.value: (GREY, "circle-open"),
    Verdict.MAY_LOSE.value: (PALETTE[1], "triangle-down-open"),
    Verdict.LOSES.value: (CLOSEST, "triangle-down"),
}
_SEEN = "gains, seen in training"
_FORGETTING_MARKS = {
    ROSE: (PALETTE[2], "circle"),
    RETAINED: (GREY, "circle-open"),
    FELL: (CLOSEST, "triangle-down"),
}


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
                text=["<br>".join(map(plain, lines)) for lines in part["hover"]],
                hovertemplate="%{text}<extra></extra>",
            )
        )
    name_rows(figure, ordered.index, [plain(short(name, 24)) for name in ordered["name"]])
    figure.update_xaxes(title=title)
    legend_above(figure)
    return on_page(figure, height=AROUND + ROW * len(ordered))


def guard_intervals(
    changes: pd.DataFrame, names: tuple[str, str] = ("base", "specialised"), *, seen: bool = False
) -> go.Figure:
    """Return a point with its interval for each language, the worst on top, and a line at zero.

    Args:
        changes: a row for each language, in points: `language` (its code), `difference`, `low`, `high`, `verdict`,
            `queries`.
        names: what the two encoders are called; differences are the second's minus the first's.
        seen: whether the queries were seen in training; a gain is then grey, as it is none on new sentences.
    """
    first, second = (plain(short(name, 30)) for name in names)
    rows = changes.assign(name=changes["language"].map(language_name), kind=changes["verdict"])
    rows["hover"] = [
        (
            f"{row.name}: {row.difference:+.1f} points",
            f"95 %: {row.low:+.1f} to {row.high:+.1f}",
            f"{row.queries:,} queries: {row.verdict}",
        )
        for row in rows.itertuples()
    ]
    gains = Verdict.GAINS.value
    marks = _GUARD_MARKS
    if seen:
        rows["kind"] = rows["kind"].replace(gains, _SEEN)
        marks = {_SEEN: (GREY, "circle"), **{kind: mark for kind, mark in marks.items() if kind != gains}}
    return interval_rows(rows, marks, f"points of Acc@1, {second} minus {first}")


def forgetting_intervals(measured: pd.DataFrame, most_fall: float, title: str, places: int) -> go.Figure:
    """Return a point with its interval for each measure, the worst on top, a line at zero and one at the largest fall.

    Args:
        measured: columns `name`, `base`, `specialised`, `difference`, `low`, `high`, `count` (pairs of sentences) and
            `flagged`, whether it fell too far.
        most_fall: a fall that is still harmless.
        title: of the axis: what the differences are.
        places: decimals of what is measured.
    """
    rows = measured.assign(kind=RETAINED)
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
    figure = interval_rows(rows, _FORGETTING_MARKS, title)
    return figure.add_vline(x=-most_fall, line={"color": CLOSEST, "width": 1, "dash": "dot"})
