"""The share of each token in an embedding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from emu_core.charts.style import GREY, PALETTE, add_marks, on_page, panel_axes, plain, short, vertical_line


class TokenKind(StrEnum):
    """The kind of a token, as the legend names it."""

    TEMPLATE = "word of the template"
    SLOT = "word of a slot"
    WORD = "word"
    ADDED = "added by the encoder"


_COLOURS = {
    TokenKind.TEMPLATE: PALETTE[0],
    TokenKind.SLOT: PALETTE[1],
    TokenKind.WORD: PALETTE[0],
    TokenKind.ADDED: GREY,
}
_FAINT = 0.4


@dataclass(frozen=True)
class Bar:
    """A token."""

    word: str
    kind: TokenKind


def attention_bars(tokens: Sequence[Bar], shares: Mapping[str, Sequence[float]]) -> go.Figure:
    """Return a panel of bars for each embedding, side by side, with a bar for each of the sentence's L tokens.

    The L shares of each panel's title add up to 1; a dotted line marks an even share.
    """
    figure = make_subplots(
        rows=1, cols=len(shares), shared_yaxes=True, subplot_titles=list(shares), horizontal_spacing=0.03
    )
    most = max((share for panel in shares.values() for share in panel), default=1.0)
    traces: list[go.Bar] = []
    for number, panel in enumerate(shares.values(), start=1):
        for kind in TokenKind:
            bars = [token_number for token_number, token in enumerate(tokens) if token.kind is kind]
            if not bars:
                continue
            traces.append(
                go.Bar(
                    x=[100 * panel[token_number] for token_number in bars],
                    y=bars,
                    orientation="h",
                    name=kind.value,
                    legendgroup=kind.value,
                    showlegend=number == 1,
                    marker={"color": _COLOURS[kind], "opacity": _FAINT if kind is TokenKind.ADDED else 1.0},
                    text=[f"{100 * panel[token_number]:.1f}" for token_number in bars],
                    textposition="outside",
                    cliponaxis=False,
                    hovertext=[plain(tokens[token_number].word) for token_number in bars],
                    hovertemplate="%{hovertext}: %{x:.1f} %<extra></extra>",
                    **panel_axes(number),
                )
            )
    figure.add_traces(traces)
    even, panels = {"color": GREY, "width": 1, "dash": "dot"}, range(1, len(shares) + 1)
    add_marks(figure, [vertical_line(100 / len(tokens), even, panel) for panel in panels])
    figure.update_xaxes(
        range=[0, 115 * most], ticksuffix=" %", showgrid=False, zeroline=False, nticks=5, fixedrange=True
    )
    figure.update_yaxes(
        tickvals=list(range(len(tokens))),  # by number: a word may come twice
        ticktext=[plain(short(token.word, 24)) for token in tokens],
        range=[len(tokens) - 0.4, -0.6],
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    height = 90 + 24 * len(tokens)
    below = {"orientation": "h", "x": 0, "y": -30 / height, "yanchor": "top"}
    return on_page(figure, height, barmode="overlay", bargap=0.25, legend=below, margin={"b": 60})
