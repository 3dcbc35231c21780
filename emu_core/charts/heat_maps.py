"""Heat maps of accuracies, counts and cosines, with each cell's value printed in a legible colour."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from emu_core.charts.style import on_page, plain, short
from emu_core.data.languages import language_name

# The most columns whose cells are wide enough for a number.
MOST_LANGUAGES = 14  # in a matrix of accuracies
_MOST_COUNTED = 30  # languages of counts
_MOST_SENTENCES = 12  # in a matrix of cosines
_MOST_INTENTS = 10  # in a matrix of confusions
DARK, LIGHT = "#111111", "#FFFFFF"
# Plotly's scales that are safe for colour-blind readers, and one from the page's background to so much blue that the
# page's text is legible on it, be it dark on white or white on dark.
Scale = Literal["Cividis", "PuOr", "Counts"]
_COUNTS = [[0.0, "rgba(0, 114, 178, 0.04)"], [1.0, "rgba(0, 114, 178, 0.6)"]]
# Where a scale is dark, by the share of the way from its lowest to its highest value.
_IS_DARK: dict[Scale, Callable[[NDArray[np.float64]], NDArray[np.bool_]]] = {
    "Cividis": lambda share: 1.0 - share > 0.5,
    "PuOr": lambda share: np.abs(share - 0.5) > 0.3,
}


def heat_map(
    values: ArrayLike,
    x: Sequence[str],
    y: Sequence[Any],
    cells: Sequence[Sequence[str]],
    *,
    span: tuple[float, float],
    scale: Scale = "Cividis",
    hover: Callable[[Any, str, str], str],
    most: int,
    height: int,
    title: str | None = None,
    ink: str | None = None,
) -> go.Figure:
    """Return a heat map of values (rows, columns) and their texts, with its first row on top; NaN leaves a hole.

    `span` has the values of the first and the last colour. `hover` returns the hover text of a cell from its row,
    column and text. With more than `most` columns, a colour bar is shown instead of the texts. `ink` is the colour of
    the texts on colours through which the page is seen; None leaves it to who draws the figure.
    """
    z = np.asarray(values, dtype=np.float64)
    written = len(x) <= most
    figure = go.Figure(
        go.Heatmap(
            z=z, x=list(x), y=list(y), zmin=span[0], zmax=span[1], colorscale=_COUNTS if scale == "Counts" else scale,
            text=[
                [hover(row, column, cell) for column, cell in zip(x, line, strict=True)]
                for row, line in zip(y, cells, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>", showscale=not written, xgap=2, ygap=2,
        )
    )  # fmt: skip
    if written:
        inks: str | list[str] | None = ink
        if scale in _IS_DARK:
            is_dark = _IS_DARK[scale]((z - span[0]) / ((span[1] - span[0]) or 1.0)) & np.isfinite(z)
            inks = np.where(is_dark, LIGHT, DARK).ravel().tolist()
        figure.add_scatter(
            x=[column for _ in y for column in x],
            y=[row for row in y for _ in x],
            text=[cell for row in cells for cell in row],
            mode="text",
            textfont={"color": inks},
            hoverinfo="skip",
            showlegend=False,
        )
    # A numbered axis would reach too far, and would read some language codes as numbers.
    figure.update_xaxes(showgrid=False, zeroline=False, type="category")
    figure.update_yaxes(showgrid=False, zeroline=False, autorange="reversed")
    return on_page(figure, height, title={"text": title})


def accuracy_matrix(
    accuracy: pd.DataFrame, title: str, span: tuple[float, float] = (0.0, 100.0)
) -> go.Figure:
    """Return a heat map of percentages by query language (rows) and pool language (columns); NaN if not measured.

    `span` has the percentages of the darkest and the lightest colour, the same for matrices that are compared.
    """
    text = accuracy.map(lambda value: f"{value:.1f}" if np.isfinite(value) else "–")
    return _matrix(accuracy, text, "similar sentences, %", title=title, span=span)


def accuracy_difference(difference: pd.DataFrame, significant: pd.DataFrame, title: str) -> go.Figure:
    """Return a heat map of differences in points as in `accuracy_matrix`, with a star on significant cells.

    They are violet above zero, orange below, white at zero.
    """
    known = difference.to_numpy()[np.isfinite(difference.to_numpy())]
    reach = max(1.0, float(np.abs(known).max(initial=0.0)))
    text = difference.map(lambda value: f"{value:+.1f}" if np.isfinite(value) else "–")
    starred = text + significant.map(lambda holds: "*" if holds else "")
    return _matrix(
        difference, starred, "Difference in points", title=title, span=(-reach, reach), scale="PuOr"
    )


def _matrix(values: pd.DataFrame, text: pd.DataFrame, what: str, **look: Any) -> go.Figure:
    rows, columns = [plain(str(code)) for code in values.index], [plain(str(code)) for code in values.columns]
    figure = heat_map(
        values.to_numpy(), columns, rows, text.to_numpy().tolist(), most=MOST_LANGUAGES,
        hover=lambda row, column, cell: f"asked in: {language_name(row)}<br>labelled in: {language_name(column)}"
        f"<br>{what}: {cell}",
        height=140 + max(160, 34 * len(rows)), **look,
    )  # fmt: skip
    figure.update_xaxes(title="labelled sentences in")
    return figure.update_yaxes(type="category", title="asked in")


def class_balance(counts: pd.DataFrame, ink: str | None = None) -> go.Figure:
    """Return a heat map of sentence counts by intent (rows) and language code (columns); see `LabelledSet.counts`.

    `ink` is the page's text colour, in which the counts are legible; None leaves it to who draws the figure.
    """
    codes, intents = [plain(str(code)) for code in counts.columns], [str(intent) for intent in counts.index]
    figure = heat_map(
        counts.to_numpy(), codes, range(len(intents)),  # shortened names may repeat
        counts.astype(str).to_numpy().tolist(),
        span=(0.0, max(1.0, float(counts.to_numpy().max(initial=0)))), scale="Counts",
        most=_MOST_COUNTED,
        hover=lambda row, code, cell: f"{plain(intents[row])}<br>{language_name(code)}: {cell}",
        height=90 + 22 * len(intents), ink=ink,
    )  # fmt: skip
    figure.update_xaxes(side="top")
    names = [plain(short(intent, 32)) for intent in intents]
    # Half a cell past the first and the last; the default range would leave room for the printed numbers.
    return figure.update_yaxes(
        tickvals=list(range(len(intents))), ticktext=names, autorange=False, range=[len(intents) - 0.5, -0.5]
    )


def confusion_matrix(shares: pd.DataFrame, title: str, *, difference: bool = False) -> go.Figure:
    """Return a heat map of the intents of nearest neighbours.

    The shares are percent, or a difference in points, by the sentences' intent (rows) and the neighbours' (columns).
    Of a difference, violet is better and orange worse: more neighbours of the sentences' own intent, or fewer of
    another one.
    """
    values = shares.to_numpy(np.float64)
    is_own = np.asarray(shares.index)[:, None] == np.asarray(shares.columns)[None, :]
    # Shares use the upper half of the scale, so that the many zeros are white.
    reach = max(1.0, float(np.abs(values).max(initial=0.0))) if difference else 100.0
    intents = [str(intent) for intent in shares.index]
    places = [str(number) for number in range(len(intents))]  # shortened names may repeat
    names = [plain(short(intent, 18)) for intent in intents]
    form = "+.0f" if difference else ".0f"
    figure = heat_map(
        np.where(is_own, values, -values) if difference else values,
        places,
        places,
        [[f"{value:{form}}" if round(value) else "" for value in row] for row in values],
        span=(-reach, reach), scale="PuOr", most=_MOST_INTENTS,
        hover=lambda row, column, cell: f"{plain(intents[int(row)])}<br>nearest: {plain(intents[int(column)])}<br>"
        f"{cell or '0'} {'points' if difference else '%'}",
        height=240 + max(160, 22 * len(intents)), title=title,
    )  # fmt: skip
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(type="category", tickvals=places, ticktext=names)
    if not difference:
        figure.update_traces(showscale=False, selector={"type": "heatmap"})
    figure.update_xaxes(title="intent of the nearest neighbour", tickangle=-60)
    return figure.update_yaxes(title="intent")


def similarity_matrix(
    cosines: NDArray[np.floating], sentences: Sequence[str], title: str, span: tuple[float, float]
) -> go.Figure:
    """Return a heat map of the cosines (N, N) between N sentences, numbered from 1; hovering shows the sentences.

    `span` has the cosines of the darkest and the lightest colour, the same for encoders that are compared.
    """
    return _of_sentences(cosines, sentences, title, span, "Cividis", "z.2f")


def similarity_change(changes: NDArray[np.floating], sentences: Sequence[str], title: str) -> go.Figure:
    """Return a heat map of the changes (N, N) of the cosines between N sentences, from one encoder to another."""
    most = float(np.abs(changes).max()) or 1.0
    return _of_sentences(changes, sentences, title, (-most, most), "PuOr", "+z.2f")


def _of_sentences(
    cosines: NDArray[np.floating],
    sentences: Sequence[str],
    title: str,
    span: tuple[float, float],
    scale: Scale,
    form: str,
) -> go.Figure:
    texts = [plain(short(text, 90)) for text in sentences]
    places = [str(number) for number in range(1, len(texts) + 1)]
    cells = [[f"{value:{form}}" for value in row] for row in cosines]
    figure = heat_map(
        cosines, places, places, cells, span=span, scale=scale, most=_MOST_SENTENCES,
        hover=lambda first, second, cell: f"{first}. {texts[int(first) - 1]}<br>{second}. {texts[int(second) - 1]}"
        f"<br>similarity {cell}",
        height=110 + max(160, 32 * len(texts)), title=title,
    )  # fmt: skip
    return figure.update_yaxes(type="category")
