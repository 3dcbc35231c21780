"""Differences around zero: gains by language with their intervals, forgetting, and the gains of a benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.style import CLOSEST, GREY, PALETTE, on_page, plain, short
from emu_core.data.languages import language_name
from emu_core.evaluation.changes import Verdict

Mark = tuple[str, str]  # a colour and a shape, either of which is enough to tell the kinds apart
ROW, AROUND = 30, 150  # pixels
FELL, RETAINED, ROSE = "fell too far", "retained", "rose"
_SEEN = "better, but seen in training"
_CHANGE_MARKS = {
    Verdict.BETTER.value: (PALETTE[2], "circle"),
    _SEEN: (GREY, "circle"),
    Verdict.NOT_CLEAR.value: (GREY, "circle-open"),
    Verdict.WORSE.value: (CLOSEST, "triangle-down"),
}
_FORGETTING_MARKS = {
    ROSE: (PALETTE[2], "circle"),
    RETAINED: (GREY, "circle-open"),
    FELL: (CLOSEST, "triangle-down"),
}
_LIBRARY = "sentence-transformers, "  # left out of a system's name on the axis
_SYSTEMS = {
    True: ("no language pair below the base", PALETTE[0], ""),
    False: ("a language pair below the base", CLOSEST, "/"),
}


def interval_rows(changes: pd.DataFrame, marks: Mapping[str, Mark], title: str) -> go.Figure:
    """Return a point with its interval for each row, the lowest difference on top, and a line at zero.

    The columns are `name`, `difference`, `low`, `high`, `kind` and `hover`, lines of plain text; each kind has a mark,
    in the legend's order.
    """
    ordered = changes.sort_values("difference", ascending=False, kind="stable").reset_index(drop=True)
    figure = go.Figure()
    for kind, (colour, symbol) in marks.items():
        part = ordered[ordered["kind"] == kind]
        if part.empty:
            continue
        figure.add_scatter(
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
    _name_rows(figure, [plain(short(name, 24)) for name in ordered["name"]])
    figure.update_xaxes(title=title)
    return on_page(figure, height=AROUND + ROW * len(ordered), legend_at=1.0)


def change_intervals(
    changes: pd.DataFrame,
    names: tuple[str, str] = ("base", "specialised"),
    what: str = "similar sentences",
    *,
    seen: bool = False,
) -> go.Figure:
    """Return a point with its interval for each language, the worst on top, and a line at zero.

    Each row has, in points of the second encoder minus the first: `language` (its code), `difference`, `low`, `high`,
    `verdict`, `queries`; `what` they are of. Gains on queries that were `seen` in training are grey, as they do not
    generalise.
    """
    first, second = (plain(short(name, 30)) for name in names)
    rows = changes.assign(name=changes["language"].map(language_name), kind=changes["verdict"])
    rows["hover"] = [
        (
            f"{row.name}: {row.difference:+.1f} points",
            f"95 %: {row.low:+.1f} to {row.high:+.1f}",
            f"{row.queries:,} sentences: {row.verdict}",
        )
        for row in rows.itertuples()
    ]
    if seen:
        rows["kind"] = rows["kind"].replace(Verdict.BETTER.value, _SEEN)
    return interval_rows(rows, _CHANGE_MARKS, f"{what} of 100, {first} → {second}")


def forgetting_intervals(measured: pd.DataFrame, most_fall: float, title: str, places: int) -> go.Figure:
    """Return a point with its interval for each measure, the worst on top, with lines at zero and the largest fall.

    Each row has `name`, `base`, `specialised`, `difference`, `low`, `high`, `count` (pairs of sentences) and `flagged`,
    whether it fell by more than `most_fall`; the measures are printed with `places` decimals.
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


@dataclass(frozen=True)
class SystemGain:
    """The gain of a system of a benchmark over the base encoder, in points of mean Acc@1."""

    label: str
    gain: float  # mean over directions and seeds
    deviation: float  # standard deviation over seeds; 0 for a single one
    below: tuple[str, ...]  # directions in which it is below the base


def system_gains(gains: Sequence[SystemGain]) -> go.Figure:
    """Return a bar for each system in the given order, the first on top, with its standard deviation over seeds.

    A system that is below the base in some direction is striped and has another colour; the hover names the directions.
    """
    figure = go.Figure()
    rows = list(enumerate(reversed(gains)))
    for harmless, (name, colour, shape) in _SYSTEMS.items():
        part = [(row, gain) for row, gain in reversed(rows) if (not gain.below) is harmless]
        if not part:
            continue
        deviations = [gain.deviation for _, gain in part]
        figure.add_bar(
            x=[gain.gain for _, gain in part],
            y=[row for row, _ in part],
            orientation="h",
            name=name,
            marker={"color": colour, "pattern": {"shape": shape, "solidity": 0.25}},
            error_x={"type": "data", "array": deviations, "color": GREY, "thickness": 2}
            if any(deviations)
            else None,
            text=[f"{gain.gain:+.1f}" for _, gain in part],
            textposition="none",
            customdata=[
                [plain(gain.label), plain(", ".join(gain.below) or "none"), f"{gain.deviation:.1f}"]
                for _, gain in part
            ],
            hovertemplate="%{customdata[0]}<br>%{text} points, over seeds ±%{customdata[2]}"
            "<br>below the base: %{customdata[1]}<extra></extra>",
        )
    _name_rows(
        figure,
        [
            f"{plain(short(row_gain.label.removeprefix(_LIBRARY), 40))}  {row_gain.gain:+.1f}"
            for _, row_gain in rows
        ],
    )
    figure.update_xaxes(title="similar sentences of 100, above the base")
    return on_page(figure, height=130 + 34 * len(gains), legend_at=1.0, bargap=0.35)


def _name_rows(figure: go.Figure, names: Sequence[str]) -> None:
    """Label N rows, numbered from 0 at the bottom, and draw a line at zero."""
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    figure.update_xaxes(zeroline=False)
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=list(names),
        range=[-0.6, len(names) - 0.4],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
