"""One map that a slider turns from encoder A's into encoder B's, instead of the two."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.panels import maps
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import ADDRESSED, draw_download
from emu_app.work.cache import computed
from emu_app.work.vectors import weights_of
from emu_app.workbench.subject import Space, computed_once
from emu_core import charts
from emu_core.data.wording import counted
from emu_core.evaluation.neighbour_changes import Change, Morph, neighbour_changes
from emu_core.reports.map_pages import morph_page

_ASKED = "explore-morph"  # the key of the toggle, and its parameter of the address


def draw_toggle(space: Space) -> bool:
    """Ask whether A's map turns into B's; False with one encoder."""
    if len(space.specs) < 2:
        return False
    about = "A slider moves each sentence from its place on A's map to its place on B's."
    return bool(st.toggle("Turn A into B", key=_ASKED, help=about, **ADDRESSED))


def draw_morph(
    space: Space,
    points: pd.DataFrame,
    panels: Mapping[str, NDArray[np.float32]],
    shown: NDArray[np.bool_],
    data_sha: str,
    downloads: Any,
) -> None:
    """Draw the maps (N, 2) of A and B, by their titles, as one that a slider turns from the first into the second.

    `points` are those of the space, with a column `trained` if an encoder was trained on some; `shown` (N,) are those
    that pass the filters; `downloads` is where the download stands.
    """
    weights = ":".join(map(weights_of, space.specs.values()))
    label = f"Finding what changed for {counted(len(points), 'sentence')}"
    key = f"moved:{data_sha}:{len(points)}:{weights}"
    changes = computed(key, label, neighbour_changes, _named(points), *space.vectors.values())
    if changes is None:
        return
    about_trained = ""
    if "trained" in points:
        changes = np.where(points["trained"], Change.UNCHANGED.value, changes)
        about_trained = " Those that an encoder was trained on leave no trail."
    first, second = panels
    places = np.stack([places[shown] for places in panels.values()])
    moved = Morph(points[shown], (first, second), places, changes[shown])
    ink = maps.ink()
    drawn = (key, moved.titles, ink, places.tobytes(), shown.tobytes())
    st.plotly_chart(
        computed_once("morph", drawn, lambda: charts.morph(moved, ink=ink)),
        key="explore-morphing",
        config={"displaylogo": False},
        alt=f"{first} turning into {second}.",
    )
    st.caption(
        "Green: the nearest sentence had another intent by A, and has the sentence's own by B. Orange: the reverse. "
        f"It is looked for among the sentences drawn.{about_trained}",
        help=help_on(Word.NEIGHBOUR, Word.MAP),
    )
    about = "A page with the slider, without a network."
    made = partial(morph_page, moved)
    draw_download("Download it as HTML", made, "emu-a-into-b.html", container=downloads, help=about)


def _named(points: pd.DataFrame) -> pd.DataFrame:
    return points[["text", "intent", "language", "id"]]
