"""Explore: the sentences as points on a map, by the base and by the specialised encoder."""

from typing import cast

import streamlit as st

from app.encoders import BASE, encoded, encoder_specs
from app.explore.downloads import draw_downloads
from app.explore.emphasis import Drag, draw_emphasis
from app.explore.layouts import NAMES, layouts
from app.explore.picked import CHART, draw_neighbours, draw_picked, picked, take_from_chart
from app.explore.points import draw_filters, sample, say_how_many
from app.forms.encoder import draw_encoder
from app.state import chosen_data, finished_runs, run_picker
from app.wording import sentence
from emu_core import charts
from emu_core.charts.marks import ColourBy
from emu_core.errors import EmuError
from emu_core.evaluation.projection import Projection

WITH_BASE, ALONE = "A run and its base encoder", "An encoder as it is"
MOUSE: dict[str, Drag] = {"Click": "pan", "Lasso": "lasso", "Box": "select"}


def page() -> None:
    """Draw the page."""
    st.title("Explore")
    st.caption("Every point a sentence: who is near whom, by the base and by the specialised encoder.")
    try:
        specs = draw_encoders()
        if specs is not None:
            draw_maps(specs)
    except EmuError as error:  # a damaged run folder, vectors that are not numbers
        st.error(sentence(error), icon=":material/error:")


def draw_encoders() -> dict[str, str] | None:
    """Ask for a run, or for an encoder as it is; what `load_encoder` takes, by the encoder's name, once it is known."""
    alone = False
    if finished_runs():
        shown = st.segmented_control(
            "Show",
            [WITH_BASE, ALONE],
            default=WITH_BASE,
            required=True,
            key="explore-show",
            persist_state="session",
        )
        alone = shown == ALONE
    run = None if alone else run_picker("Run")
    if run is not None:
        return encoder_specs(run)
    choice = draw_encoder("explore-encoder")
    if choice.problem:
        st.info(sentence(choice.problem), icon=":material/edit:")
        return None
    return {BASE: choice.spec}


def draw_maps(specs: dict[str, str]) -> None:
    """Draw the controls, the maps and what is picked on them."""
    chosen = chosen_data()
    method, colour_by, drag = draw_controls()
    filters = draw_filters(chosen)
    points = sample(chosen.labelled)
    vectors = encoded(specs, chosen.sha256, points["text"].tolist())
    if vectors is None:
        return
    maps = layouts(vectors, specs, chosen.sha256, method)
    if maps is None:
        return
    is_shown = filters.shown(points)
    shown = points[is_shown]
    say_how_many(len(chosen.labelled), len(points), len(shown))
    if shown.empty:
        st.info("The filters leave no sentence; take one away.", icon=":material/filter_alt_off:")
        return
    panels = {f"{name}: {NAMES[method]}": places[is_shown] for name, places in maps.items()}
    rows = picked(chosen.sha256)
    stand_out = frozenset(rows)
    st.plotly_chart(
        charts.sentence_maps(panels, shown, colour_by),
        key=CHART,
        on_select=lambda: take_from_chart(chosen.sha256),
        selection_mode=("points", "box", "lasso"),
        config={"scrollZoom": True, "displaylogo": False},
        alt=f"{' and '.join(panels)} of {len(shown)} sentences, coloured by {colour_by}.",
    )
    draw_emphasis(CHART, rows, drag)
    draw_downloads(panels, shown, colour_by, stand_out, f"emu-{method}")
    place = draw_picked(points, rows, chosen.sha256)
    if place is not None:
        draw_neighbours(points, place, vectors)


def draw_controls() -> tuple[Projection, ColourBy, Drag]:
    """Draw what the maps are, what their colours say and what the mouse does."""
    how, what, mouse = st.columns(3)
    method = how.segmented_control(
        "Map",
        list(NAMES),
        default=Projection.TSNE,
        required=True,
        format_func=NAMES.__getitem__,
        key="explore-method",
        persist_state="session",
        help="t-SNE and UMAP keep neighbours together; PCA keeps the large distances, and is there at once.",
    )
    colour_by = what.segmented_control(
        "Colour by",
        ["intent", "language"],
        default="intent",
        required=True,
        key="explore-colour",
        persist_state="session",
        help="The shape says the other one.",
    )
    drag = mouse.segmented_control(
        "Mouse",
        list(MOUSE),
        default="Click",
        required=True,
        key="explore-mouse",
        persist_state="session",
        help="Click a point for its nearest neighbours, or draw around points to fill a table. Scroll to zoom.",
    )
    return Projection(method), cast(ColourBy, colour_by), MOUSE[drag]


page()
