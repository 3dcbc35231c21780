"""The style of every figure: colours that are distinct to colour-blind readers and visible in every theme."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

# The farthest apart, and from GREY, that a search found around the hues of Okabe and Ito 2008: in every colour vision
# any two differ by 12 or more (CIEDE2000), and each has a contrast above 2 to the light and to the dark page.
PALETTE = ("#0072B2", "#F18707", "#05C67F", "#BF5629", "#2F8FFF", "#D595C1", "#883351", "#4A00E0")
TOLD_APART = 8  # colours in a row of a theme's palette that every reader tells apart
CLOSEST = "#D55E00"
PLAIN = "#6C8EBF"
GREY = "#8A8A8A"
TRANSPARENT = "rgba(0,0,0,0)"
FAINT = 0.25  # opacity of points that are not selected, in `GREY`
HOVER = 90  # characters of a sentence shown on hovering


@dataclass(frozen=True)
class Theme:
    """The colours of groups, the largest first, and that of their names, on a light or a dark page.

    A search found them. Each has a contrast above 3 to its page. In every colour vision, any two of the first
    `TOLD_APART` differ from each other and from GREY by more than 12 (CIEDE2000), and those of each later row, which
    has a mark of its own on maps, by more than 6. No two of all are alike in normal vision.
    """

    palette: tuple[str, ...]
    ink: str


LIGHT = Theme(
    (
        "#546CFC", "#C07860", "#18603C", "#A8246C", "#0C9CB4", "#787800", "#900000", "#3C00D8",
        "#0C3CB4", "#FC6030", "#00A86C", "#CC003C", "#D800F0", "#00849C", "#780060", "#485400",
        "#2484FF", "#C0300C", "#0C780C", "#FF0060", "#9C18B4", "#008484", "#FF3CB4", "#9C9000",
    ),
    ink="#31333F",
)  # fmt: skip
DARK = Theme(
    (
        "#246CFF", "#F0A878", "#3CFFC0", "#C0489C", "#24C0C0", "#E4E400", "#F00C0C", "#B49CFF",
        "#0CB4FF", "#A86C00", "#A8F06C", "#FFA8A8", "#8460D8", "#00FCF0", "#F0006C", "#B4A800",
        "#4890FC", "#E4900C", "#00B478", "#FF0048", "#9C78A8", "#24E4FF", "#FF9CCC", "#FCCC30",
    ),
    ink="#FAFAFA",
)  # fmt: skip
_PLACE = ("domain", "anchor")  # what an axis keeps of its own figure


def on_page(figure: go.Figure, height: int, *, legend_at: float | None = None, **layout: Any) -> go.Figure:
    """Set a figure's height, a transparent background and more of its layout; its text keeps the colour of the theme.

    A legend stands in a line above the chart, even for a single group, with its lower end at `legend_at` (1: the top).
    """
    if legend_at is not None:
        line = {"orientation": "h", "y": legend_at, "yanchor": "bottom", "x": 0}
        figure.update_layout(legend=line, showlegend=True)
    figure.update_layout(
        height=height,
        paper_bgcolor=TRANSPARENT,
        plot_bgcolor=TRANSPARENT,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )
    return figure.update_layout(layout)


def panel_axes(panel: int) -> dict[str, str]:
    """Return the axes of a panel, as a trace names them; panels are counted from 1 along the rows of a grid."""
    end = "" if panel == 1 else str(panel)
    return {"xaxis": f"x{end}", "yaxis": f"y{end}"}


def panel_layout(panel: int, x: Mapping[str, Any], y: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return settings of a panel's axes, as the layout names them; panels are counted as in `panel_axes`."""
    return {
        f"{axis[0]}axis{axis[1:]}": settings
        for axis, settings in zip(panel_axes(panel).values(), (x, y), strict=True)
    }


def vertical_line(x: float, line: Mapping[str, Any], panel: int = 1) -> dict[str, Any]:
    """Return a line over the whole height of a panel, for `add_marks`."""
    axes = panel_axes(panel)
    height = {"y0": 0, "y1": 1, "yref": f"{axes['yaxis']} domain"}
    return {"type": "line", "x0": x, "x1": x, "xref": axes["xaxis"], "line": line, **height}


def add_marks(
    figure: go.Figure,
    shapes: Iterable[Mapping[str, Any]] = (),
    annotations: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Add shapes and annotations to those of a figure, all by one call.

    `add_vline`, `add_shape` and `add_annotation` copy and check all earlier ones: twenty lines in each of twelve panels
    took 37 seconds.
    """
    layout = figure.layout
    layout.shapes = [*layout.shapes, *shapes]
    layout.annotations = [*layout.annotations, *annotations]


def frame_map(figure: go.Figure) -> None:
    """Draw a frame instead of axes around maps, in which only distances between points have a meaning."""
    for axes in (figure.update_xaxes, figure.update_yaxes):
        # `ticks` is set because Plotly draws ticks with density lines.
        axes(ticks="", showticklabels=False, showgrid=False, zeroline=False)
        axes(showline=True, mirror=True, linecolor=GREY)
    bar = {"bgcolor": TRANSPARENT, "color": GREY, "activecolor": PALETTE[4]}
    figure.update_layout(hovermode="closest", modebar=bar)


def short(text: str, most: int) -> str:
    """Return a text on one line, cut to at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def plain(text: str) -> str:
    """Return a user's text escaped, so that plotly reads no tag in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def on_white(figure: go.Figure) -> go.Figure:
    """Give a figure a white background and dark text, for files and for notebooks, whose theme is unknown."""
    return figure.update_layout(template="plotly_white", paper_bgcolor="white", plot_bgcolor="white")


def side_by_side(figures: Sequence[go.Figure]) -> go.Figure:
    """Return figures of one panel each as the titled panels of one figure."""
    if len(figures) == 1:
        return figures[0]
    titles = [figure.layout.title.text or "" for figure in figures]
    joined = make_subplots(rows=1, cols=len(figures), subplot_titles=titles)
    for column, figure in enumerate(figures, start=1):
        joined.add_traces(figure.data, rows=1, cols=column)
        for axis, update in (("xaxis", joined.update_xaxes), ("yaxis", joined.update_yaxes)):
            settings = figure.layout[axis].to_plotly_json()
            update({name: value for name, value in settings.items() if name not in _PLACE}, row=1, col=column)
        if column > 1:  # its rows are labelled in the first panel
            joined.update_yaxes(showticklabels=False, title=None, row=1, col=column)
        end = joined.get_subplot(1, column).xaxis.domain[1]
        joined.update_traces(
            {"colorbar": {"x": end, "thickness": 10}}, {"type": "heatmap"}, row=1, col=column
        )
    return on_page(joined, height=max(figure.layout.height for figure in figures))
