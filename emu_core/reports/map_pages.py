"""Maps of sentences as HTML pages that need no network: still ones, from one encoder to another, and by epoch."""

from collections.abc import Collection, Mapping, Set

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from emu_core.charts.animation import animation
from emu_core.charts.marks import ColourBy
from emu_core.charts.morph import morph
from emu_core.charts.scatter import sentence_maps
from emu_core.charts.style import on_white
from emu_core.evaluation.film import Film
from emu_core.evaluation.neighbour_changes import Morph
from emu_core.reports.templating import WEBGL, render_html


def animation_page(film: Film, colour_by: ColourBy, name: str) -> str:
    """Return the figure of `animation` for a run's name as an HTML page."""
    return _page(f"{name}: the space at each epoch", animation(film, colour_by))


def morph_page(moved: Morph) -> str:
    """Return the figure of `morph` as an HTML page."""
    return _page(f"From {moved.titles[0]} to {moved.titles[1]}", morph(moved))


def maps_page(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    shown: NDArray[np.bool_] | None = None,
    focus: Collection[str] = (),
    shape_languages: bool = False,
) -> bytes:
    """Return the figure of `sentence_maps`, from the same arguments, as an HTML page."""
    title = f"Maps of the sentences by {' and '.join(panels)}"
    figure = sentence_maps(
        panels, points, colour_by, chosen, shown=shown, focus=focus, shape_languages=shape_languages
    )
    return _page(title, figure).encode()


def _page(title: str, figure: go.Figure) -> str:
    return render_html("figure.html.j2", title=title, figure=on_white(figure), scripts=WEBGL)
