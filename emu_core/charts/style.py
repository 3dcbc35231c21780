"""The style of every figure: colours that the colour-blind tell apart, and no colour that one theme hides."""

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

# Okabe and Ito 2008; its black and yellow changed for a grey and a yellow that read on white and on black.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#C7B70D", "#8A8A8A")
CLOSEST = "#D55E00"
PLAIN = "#6C8EBF"
GREY = "#8A8A8A"
TRANSPARENT = "rgba(0,0,0,0)"
FAINT = 0.25  # opacity of what is there and not meant; in `GREY`
_PLACE = ("domain", "anchor")  # of an axis in its own figure


def on_page(figure: go.Figure, height: int) -> go.Figure:
    """Give a figure its height and a transparent ground; its text keeps the colour of the page's theme."""
    figure.update_layout(
        height=height,
        paper_bgcolor=TRANSPARENT,
        plot_bgcolor=TRANSPARENT,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )
    return figure


def legend_above(figure: go.Figure, y: float = 1.0) -> None:
    """Show the legend in a line above the chart, for a single group too; `y` is its lower end, 1 the chart's top."""
    figure.update_layout(legend={"orientation": "h", "y": y, "yanchor": "bottom", "x": 0}, showlegend=True)


def name_rows(figure: go.Figure, places: Sequence[int], names: Sequence[str]) -> None:
    """Write the names of N rows, numbered from 0 at the bottom, and draw a line at zero."""
    figure.add_vline(x=0, line={"color": GREY, "width": 1})
    figure.update_xaxes(zeroline=False)
    figure.update_yaxes(
        tickvals=list(places),
        ticktext=list(names),
        range=[-0.6, len(names) - 0.4],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )


def frame_map(figure: go.Figure) -> None:
    """Frame maps, which have no scale and no direction: only who is near whom."""
    for axes in (figure.update_xaxes, figure.update_yaxes):
        # Named, though there are none in Plotly's own template: with density lines it draws them.
        axes(ticks="", showticklabels=False, showgrid=False, zeroline=False)
        axes(showline=True, mirror=True, linecolor=GREY)


def tinted(colour: str, share: float) -> str:
    """Return a colour (#RRGGBB) mixed with so large a share of white, or of black where the share is below 0."""
    goal = 255 if share > 0 else 0
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (goal - part) * abs(share)):02X}" for part in parts)


HOVER = 90  # characters of a sentence


def short(text: str, most: int) -> str:
    """Return a text cut to at most `most` characters, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def plain(text: str) -> str:
    """Return a user's text so that plotly shows its characters and reads no tag in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def on_white(figure: go.Figure) -> go.Figure:
    """Give a figure a white ground and dark text, for files and for notebooks, whose theme no figure can know."""
    return figure.update_layout(template="plotly_white", paper_bgcolor="white", plot_bgcolor="white")


def side_by_side(figures: Sequence[go.Figure]) -> go.Figure:
    """Return figures of one panel each as panels of one figure, under their titles."""
    if len(figures) == 1:
        return figures[0]
    titles = [figure.layout.title.text or "" for figure in figures]
    joined = make_subplots(rows=1, cols=len(figures), subplot_titles=titles)
    for column, figure in enumerate(figures, start=1):
        joined.add_traces(figure.data, rows=1, cols=column)
        for axis, update in (("xaxis", joined.update_xaxes), ("yaxis", joined.update_yaxes)):
            settings = figure.layout[axis].to_plotly_json()
            update({name: value for name, value in settings.items() if name not in _PLACE}, row=1, col=column)
        if column > 1:  # its rows are the first panel's
            joined.update_yaxes(showticklabels=False, title=None, row=1, col=column)
        end = joined.get_subplot(1, column).xaxis.domain[1]
        joined.update_traces(
            {"colorbar": {"x": end, "thickness": 10}}, {"type": "heatmap"}, row=1, col=column
        )
    return on_page(joined, height=max(figure.layout.height for figure in figures))
