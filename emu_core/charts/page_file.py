"""The maps as a page of their own that needs neither this app nor a network."""

from collections.abc import Mapping, Set

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.charts.marks import ColourBy
from emu_core.charts.scatter import sentence_maps


def html_file(
    panels: Mapping[str, NDArray[np.float32]], points: pd.DataFrame, colour_by: ColourBy, chosen: Set[int]
) -> bytes:
    """Return `sentence_maps`, from the same arguments, as an HTML page's bytes, plotly's script inside."""
    figure = sentence_maps(panels, points, colour_by, chosen)
    figure.update_layout(template="plotly_white", paper_bgcolor="white", plot_bgcolor="white")
    page: str = figure.to_html(include_plotlyjs=True, config={"displaylogo": False, "scrollZoom": True})
    return page.encode()
