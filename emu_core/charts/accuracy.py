"""Acc@1 of every direction, as a matrix: queries down, labelled pool across."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.cells import Scale, heat_map
from emu_core.charts.style import on_page, plain
from emu_core.data.languages import language_name

MOST_PRINTED = 14  # languages; above it the cells are too narrow for a number


def accuracy_matrix(
    accuracy: pd.DataFrame, title: str, span: tuple[float, float] = (0.0, 100.0)
) -> go.Figure:
    """Return a heat map of percentages with the values in the cells.

    Args:
        accuracy: percent by query language (rows) and pool language (columns); NaN where nothing was
            measured.
        title: what stands over it.
        span: percentages of the darkest and the lightest colour; give the same to matrices that are compared.
    """
    text = accuracy.map(lambda value: f"{value:.1f}" if np.isfinite(value) else "–")
    return _matrix(accuracy, text, title, "Acc@1", Scale(*span))


def accuracy_difference(difference: pd.DataFrame, significant: pd.DataFrame, title: str) -> go.Figure:
    """Return a heat map of differences in points: violet above zero, orange below, white at zero.

    Args:
        difference: points by query language (rows) and pool language (columns); NaN where nothing was
            measured.
        significant: of the same shape; a cell that holds gets a star.
        title: what stands over it.
    """
    known = difference.to_numpy()[np.isfinite(difference.to_numpy())]
    reach = max(1.0, float(np.abs(known).max(initial=0.0)))
    text = difference.map(lambda value: f"{value:+.1f}" if np.isfinite(value) else "–")
    starred = text + significant.map(lambda holds: "*" if holds else "")
    return _matrix(difference, starred, title, "Difference in points", Scale(-reach, reach, diverging=True))


def _matrix(values: pd.DataFrame, text: pd.DataFrame, title: str, what: str, scale: Scale) -> go.Figure:
    rows, columns = [plain(str(code)) for code in values.index], [plain(str(code)) for code in values.columns]
    cells = text.to_numpy().tolist()
    hover = [
        [
            f"queries: {language_name(row)}<br>labelled pool: {language_name(column)}<br>{what}: {cell}"
            for column, cell in zip(columns, line, strict=True)
        ]
        for row, line in zip(rows, cells, strict=True)
    ]
    figure = heat_map(
        values.to_numpy(), columns, rows, scale=scale, hover=hover,
        text=cells if len(columns) <= MOST_PRINTED else None,
    )  # fmt: skip
    # Codes are names even where they look like numbers.
    figure.update_xaxes(type="category", title="labelled pool")
    figure.update_yaxes(type="category", title="queries")
    figure.update_layout(title={"text": title})
    return on_page(figure, height=140 + max(160, 34 * len(rows)))
