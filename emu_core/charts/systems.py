"""The gain of each system of a benchmark over the base encoder, as bars."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from emu_core.charts.style import CLOSEST, GREY, PALETTE, legend_above, name_rows, on_page, plain, short

ROW, AROUND, MOST = 34, 130, 40  # pixels, pixels, characters
LIBRARY = "sentence-transformers, "  # the table and the hover say whose loss it is
_KINDS = {
    True: ("no direction below the base", PALETTE[0], ""),
    False: ("a direction below the base", CLOSEST, "/"),
}


@dataclass(frozen=True)
class Gain:
    """The gain of a system over the base encoder, in points of mean Acc@1.

    Attributes:
        label: the system.
        gain: mean over directions and seeds.
        deviation: standard deviation over seeds; 0 for a single one.
        below: directions in which it is below the base.
    """

    label: str
    gain: float
    deviation: float
    below: tuple[str, ...]


def system_gains(gains: Sequence[Gain]) -> go.Figure:
    """Return a bar for each system in the table's order, the first on top.

    The whisker is one standard deviation over seeds. A system that is below the base in some direction has another
    colour, and stripes; the hover says which.
    """
    figure = go.Figure()
    places = {id(gain): len(gains) - 1 - i for i, gain in enumerate(gains)}
    for harmless, (name, colour, shape) in _KINDS.items():
        part = [gain for gain in gains if (not gain.below) is harmless]
        if not part:
            continue
        deviations = [gain.deviation for gain in part]
        figure.add_trace(
            go.Bar(
                x=[gain.gain for gain in part],
                y=[places[id(gain)] for gain in part],
                orientation="h",
                name=name,
                marker={"color": colour, "pattern": {"shape": shape, "solidity": 0.25}},
                error_x={"type": "data", "array": deviations, "color": GREY, "thickness": 2}
                if any(deviations)
                else None,
                text=[f"{gain.gain:+.1f}" for gain in part],
                textposition="none",
                customdata=[
                    [plain(gain.label), plain(", ".join(gain.below) or "none"), f"{gain.deviation:.1f}"]
                    for gain in part
                ],
                hovertemplate="%{customdata[0]}<br>%{text} points, over seeds ±%{customdata[2]}"
                "<br>below the base: %{customdata[1]}<extra></extra>",
            )
        )
    names = [f"{plain(short(gain.label.removeprefix(LIBRARY), MOST))}  {gain.gain:+.1f}" for gain in gains]
    name_rows(figure, [places[id(gain)] for gain in gains], names)
    figure.update_xaxes(title="points of mean Acc@1 over the base encoder")
    legend_above(figure)
    figure.update_layout(bargap=0.35)
    return on_page(figure, height=AROUND + ROW * len(gains))
