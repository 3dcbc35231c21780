"""The maps as files to keep: drawn only when their button is pressed."""

from collections.abc import Callable, Mapping, Set

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_core.charts.marks import ColourBy
from emu_core.charts.scatter import maps_page
from emu_core.charts.stills import maps_file


def draw_downloads(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    name: str,
) -> None:
    """Draw a button each for PNG, SVG and HTML.

    Args:
        panels: as `sentence_maps` takes them, and so the next three.
        points: the N points.
        colour_by: what the colour says.
        chosen: rows that stand out.
        name: of the files, without an ending.
    """
    files: dict[str, tuple[str, Callable[[], bytes]]] = {
        "PNG": ("image/png", lambda: maps_file(panels, points, colour_by, chosen, file_format="png")),
        "SVG": ("image/svg+xml", lambda: maps_file(panels, points, colour_by, chosen, file_format="svg")),
        "HTML": ("text/html", lambda: maps_page(panels, points, colour_by, chosen)),
    }
    for column, (ending, (mime, draw)) in zip(st.columns([1, 1, 1, 5]), files.items(), strict=False):
        column.download_button(
            ending,
            draw,
            file_name=f"{name}.{ending.lower()}",
            mime=mime,
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
            help="A page of its own that can be zoomed and hovered over, without a network."
            if ending == "HTML"
            else None,
        )
