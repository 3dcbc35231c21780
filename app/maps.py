"""Maps of sentences: which are drawn, where each stands, and the maps as files to keep."""

from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.cache import computed
from app.panels.widgets import choose_languages
from app.state import ChosenData
from app.vectors import weights_of
from emu_core.charts.marks import ColourBy
from emu_core.charts.scatter import maps_page
from emu_core.charts.stills import maps_file
from emu_core.data.labelled import LabelledSet
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.projection import Projection, project, stratified_sample

MOST_POINTS = 30_000  # a browser draws and selects that many with ease
NAMES = {Projection.TSNE: "t-SNE", Projection.UMAP: "UMAP", Projection.PCA: "PCA"}
# As measured on two cores; UMAP's first map in a process waits for its compiler.
_WAITS = {
    Projection.TSNE: "some 8 seconds for 3,000 sentences, minutes for 30,000",
    Projection.UMAP: "some 3 seconds for 3,000 sentences, and 15 more the first time",
    Projection.PCA: "a moment",
}


def is_shown(points: pd.DataFrame, filters: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
    """Return which rows of a frame are shown, by what a person wants of its columns; nothing wanted shows all."""
    shown = np.ones(len(points), dtype=bool)
    for column, values in filters.items():
        if values:
            shown &= points[column].isin(values).to_numpy()
    return shown


def sample(labelled: LabelledSet) -> pd.DataFrame:
    """Return the set's frame with a column `row`, at most `MOST_POINTS` of its rows, with every intent and language."""
    frame = labelled.frame
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_POINTS)
    return frame.iloc[rows].assign(row=rows.astype(np.int32)).reset_index(drop=True)


def draw_filters(chosen: ChosenData) -> dict[str, list[str]]:
    """Draw the filters of a set and return what a person wants, by column, as `is_shown` takes it."""
    labelled, prefix = chosen.labelled, f"explore-{chosen.sha256[:12]}"
    places = st.columns([3, 4, 2] if labelled.splits else [3, 4])
    of = {
        "language": choose_languages(
            "Languages", labelled.languages, f"{prefix}-languages", place=places[0], placeholder="All"
        ),
        "intent": places[1].multiselect(
            "Intents",
            labelled.intents,
            placeholder="All",
            key=f"{prefix}-intents",
            persist_state="session",
            help="Up to eight at once have a colour of their own.",
        ),
    }
    if labelled.splits:
        of["split"] = places[2].multiselect(
            "Splits", labelled.splits, placeholder="All", key=f"{prefix}-splits", persist_state="session"
        )
    return of


def say_how_many(total: int, drawn: int, shown: int) -> None:
    """Say how many sentences the maps show, and that the rest is left out, where it is."""
    if drawn < total:
        st.info(
            f"The maps show {drawn:,} of {counted(total, 'sentence')}: a sample with its share of every "
            "intent in every language.",
            icon=":material/filter_list:",
        )
    if shown < drawn:
        st.caption(f"The filters leave {shown:,} of {counted(drawn, 'sentence')}.")


def layout(key: str, label: str, vectors: FloatArray, method: Projection) -> NDArray[np.float32] | None:
    """Return the map (N, 2) of vectors (N, dim), or None, and draw why; `key` and `label` as `computed` takes them."""
    laid_out: NDArray[np.float32] | None = computed(key, label, project, vectors, method)
    return laid_out


def layouts(
    vectors: Mapping[str, FloatArray], specs: Mapping[str, str], data_sha: str, method: Projection
) -> dict[str, NDArray[np.float32]] | None:
    """Return each encoder's map (N, 2) of its vectors (N, dim), or None, and draw why, while one is not there.

    `data_sha` stands for the N sentences.
    """
    maps: dict[str, NDArray[np.float32]] = {}
    for name, of_encoder in vectors.items():
        laid_out = layout(
            f"map:{method}:{data_sha}:{weights_of(specs[name])}",
            f"{name} encoder: {NAMES[method]} of {counted(len(of_encoder), 'sentence')} ({_WAITS[method]})",
            of_encoder,
            method,
        )
        if laid_out is None:
            return None
        maps[name] = laid_out
    return maps


def draw_downloads(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    name: str,
) -> None:
    """Draw a button each for PNG, SVG and HTML; `name` is the files', without an ending, the rest as in `maps_file`."""
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
