"""Maps of sentences as HTML pages that need no network: still ones, and the animation over a run's epochs."""

from collections.abc import Mapping, Set

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.charts.animation import animation
from emu_core.charts.marks import ColourBy
from emu_core.charts.scatter import sentence_maps
from emu_core.charts.style import on_white
from emu_core.evaluation.film import Film
from emu_core.reports.markup import escaped, html_page

# Plotly's WebGL compiles functions of its own.
_SCRIPTS = "'unsafe-inline' 'unsafe-eval'"


def animation_page(film: Film, colour_by: ColourBy, name: str) -> str:
    """Return the figure of `animation` for a run's name as an HTML page."""
    title = f"{name}: the space at each epoch"
    drawn = on_white(animation(film, colour_by)).to_html(
        full_html=False,
        include_plotlyjs=False,
        auto_play=False,
        config={"displaylogo": False, "responsive": True},
    )
    return html_page(title, f"<h1>{escaped(title)}</h1>\n{drawn}", scripts=_SCRIPTS)


def maps_page(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    shown: NDArray[np.bool_] | None = None,
) -> bytes:
    """Return the figure of `sentence_maps`, from the same arguments, as an HTML page."""
    figure = on_white(sentence_maps(panels, points, colour_by, chosen, shown=shown))
    page: str = figure.to_html(include_plotlyjs=True, config={"displaylogo": False, "scrollZoom": True})
    return page.encode()
