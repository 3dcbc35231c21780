"""The style of every figure: colours that the colour-blind tell apart, and no colour that one theme hides."""

import plotly.graph_objects as go

# Okabe and Ito 2008; its black and yellow changed for a grey and a yellow that read on white and on black.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#C7B70D", "#8A8A8A")
CLOSEST = "#D55E00"
PLAIN = "#6C8EBF"
GREY = "#8A8A8A"
TRANSPARENT = "rgba(0,0,0,0)"


def on_page(figure: go.Figure, height: int) -> go.Figure:
    """Give a figure its height and a transparent ground; its text keeps the colour of the page's theme."""
    figure.update_layout(
        height=height,
        paper_bgcolor=TRANSPARENT,
        plot_bgcolor=TRANSPARENT,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
    )
    return figure


def darker(colour: str) -> str:
    """Return a colour (#RRGGBB) at a third of its brightness."""
    return "#" + "".join(f"{int(colour[at : at + 2], 16) // 3:02X}" for at in (1, 3, 5))


def short(text: str, most: int) -> str:
    """Return a text cut to at most `most` characters, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def plain(text: str) -> str:
    """Return a user's text so that plotly shows its characters and reads no tag in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
