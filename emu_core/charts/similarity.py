"""Cosines between chosen sentences."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from emu_core.charts.cells import Scale, heat_map
from emu_core.charts.style import on_page, plain, short

MOST_PRINTED = 12  # sentences; above it the cells are too narrow for a number


def similarity_matrix(
    cosines: NDArray[np.floating], sentences: Sequence[str], title: str, span: tuple[float, float]
) -> go.Figure:
    """Return a heat map of the cosine of every two of N sentences, numbered from 1 as they come.

    Args:
        cosines: (N, N).
        sentences: N texts; the axes have the numbers, hovering shows both texts.
        title: what stands over it.
        span: cosines of the darkest and the lightest colour; give the same to encoders that are compared.
    """
    texts = [plain(short(text, 90)) for text in sentences]
    places = [str(place) for place in range(1, len(texts) + 1)]
    cells = [[f"{value:z.2f}" for value in row] for row in cosines]
    hover = [
        [
            f"{first}. {texts[int(first) - 1]}<br>{second}. {texts[int(second) - 1]}<br>cosine {cell}"
            for second, cell in zip(places, row, strict=True)
        ]
        for first, row in zip(places, cells, strict=True)
    ]
    figure = heat_map(
        cosines, places, places, scale=Scale(*span), hover=hover,
        text=cells if len(texts) <= MOST_PRINTED else None,
    )  # fmt: skip
    figure.update_xaxes(type="category")
    figure.update_yaxes(type="category")
    figure.update_layout(title={"text": title})
    return on_page(figure, height=110 + max(160, 32 * len(texts)))
