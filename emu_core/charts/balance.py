"""How many sentences each intent has in each language."""

import pandas as pd
import plotly.graph_objects as go

from emu_core.charts.cells import Scale, heat_map
from emu_core.charts.style import on_page, plain, short
from emu_core.data.languages import language_name

MOST_PRINTED = 30  # languages; above it the cells are too narrow for a number


def class_balance(counts: pd.DataFrame) -> go.Figure:
    """Return a heat map of counts, intents down and languages across, the numbers printed in the cells.

    Args:
        counts: sentences by intent (rows) and language code (columns), as `LabelledSet.counts` gives them.
    """
    codes, intents = [plain(str(code)) for code in counts.columns], [str(intent) for intent in counts.index]
    cells = counts.astype(str).to_numpy().tolist()
    figure = heat_map(
        counts.to_numpy(),
        x=codes,
        y=list(range(len(intents))),  # shortened names may repeat, places don't
        scale=Scale(0.0, max(1.0, float(counts.to_numpy().max(initial=0))), dark_is_high=True),
        hover=[
            [f"{plain(intent)}<br>{language_name(code)}: {n}" for code, n in zip(codes, row, strict=True)]
            for intent, row in zip(intents, cells, strict=True)
        ],
        text=cells if len(codes) <= MOST_PRINTED else None,
    )
    figure.update_xaxes(side="top", type="category")
    names = [plain(short(intent, 32)) for intent in intents]
    # Half a cell past the first and the last, and no further: the printed numbers would make room for themselves.
    figure.update_yaxes(
        tickvals=list(range(len(intents))), ticktext=names, autorange=False, range=[len(intents) - 0.5, -0.5]
    )
    return on_page(figure, height=90 + 22 * len(intents))
