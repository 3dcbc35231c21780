"""One map that a slider turns from encoder A's into encoder B's, instead of the two."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.panels import maps
from emu_app.panels.context import Context
from emu_app.shell.address import MORPH, choices_of_session, write
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import PLAIN_BAR, draw_download
from emu_app.workbench.picked_figures import found_for
from emu_app.workbench.subject import Space, Subject, computed_once
from emu_core import charts
from emu_core.evaluation.neighbour_changes import Change, Morph
from emu_core.reports.map_pages import morph_page
from emu_core.reports.verdict import BEFORE_AND_AFTER

_SCRIPT = Path(maps.__file__).with_name("play.js")


def plays_in(space: Space) -> bool:
    """Return whether A's map turns into B's, never with one encoder."""
    return len(space.specs) > 1 and choices_of_session().get(MORPH) == "true"


def draw_play(space: Space, now: Context) -> bool:
    """Offer to turn A's map into B's, or to show both again; return whether it turns."""
    if len(space.specs) < 2:
        return False
    plays = plays_in(space)
    with st.container(key="play", horizontal=True, horizontal_alignment="center"):
        st.button(
            "Show both maps"
            if plays
            else f"Play {' → '.join(BEFORE_AND_AFTER if now.is_before_and_after else 'AB')}",
            icon=":material/splitscreen_left:" if plays else ":material/play_circle:",
            type="secondary" if plays else "primary",
            key="explore-play",
            help="Each sentence moves from its place on A's map to its place on B's.",
            on_click=write,
            args=(MORPH, "" if plays else "true"),
        )
    return plays


def draw_morph(
    space: Space,
    points: pd.DataFrame,
    panels: Mapping[str, NDArray[np.float32]],
    shown: NDArray[np.bool_],
    subject: Subject | None,
    downloads: Any,
) -> None:
    """Draw the maps (N, 2) of A and B, by their titles, as one that a slider turns from the first into the second.

    `points` are those of the space, with a column `trained` if an encoder was trained on some; `shown` (N,) are those
    that pass the filters; `subject` has the sentences that are measured, whose changed neighbours leave a trail;
    `downloads` is where the download stands.
    """
    changes = np.full(len(points), Change.UNCHANGED.value)
    if subject is not None and subject.is_measured:
        found = found_for(points, subject)["change"]
        changes[points.index.get_indexer(found.index)] = found
    about_trained = ""
    if "trained" in points:
        changes = np.where(points["trained"], Change.UNCHANGED.value, changes)
        about_trained = " Those that an encoder was trained on leave no trail."
    first, second = panels
    places = np.stack(list(panels.values()))
    moved = Morph(points, (first, second), places, changes, shown)
    theme = maps.theme()
    drawn = (
        space,
        None if subject is None else subject.key,
        moved.titles,
        theme,
        places.tobytes(),
        shown.tobytes(),
    )
    st.plotly_chart(
        computed_once("morph", drawn, lambda: charts.morph(moved, theme=theme)),
        key="explore-morphing",
        config=PLAIN_BAR,
        alt=f"{first} turning into {second}.",
    )
    with st.container(key="autoplay"):
        st.html(f"<script>{_SCRIPT.read_text('utf-8')}</script>", unsafe_allow_javascript=True)
    st.caption(
        "Green: the nearest sentence had another intent by A, and has the sentence's own by B. Orange: the reverse. "
        f"These are the measured sentences of *Changed neighbours*; others leave no trail.{about_trained}",
        help=help_on(Word.NEIGHBOUR, Word.MAP),
    )
    about = "A page with the slider, without a network."
    made = partial(morph_page, moved)
    draw_download("Download it as HTML", made, "emu-a-into-b.html", container=downloads, help=about)
