"""Maps of sentences: which are drawn, where each stands, and the maps as files to keep."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from uuid import uuid4

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app import cache
from app.background import Done, Failed, Pending
from app.mapping import lay_out
from app.vectors import weights_of
from app.wording import literal
from emu_core.charts.marks import ColourBy
from emu_core.charts.scatter import maps_page
from emu_core.data.labelled import LabelledSet
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.projection import Projection, aligned, project, stratified_sample

FIRST_POINTS = 5_000  # of a larger set a sample of so many is drawn first: its map is there in seconds
MOST_POINTS = 30_000  # a browser draws and selects that many with ease
NAMES = {Projection.TSNE: "t-SNE", Projection.UMAP: "UMAP", Projection.PCA: "PCA"}
POLL_S, REDRAWN_AT = 0.5, 0.2  # a map in the making is drawn anew when so much more of it is done
Drag = Literal["pan", "lasso", "select"]
_ASKED, _STOPPED, _SESSION = "maps-asked", "maps-stopped", "maps-session"
_SCRIPT = Path(__file__).with_name("maps.js")


@dataclass(frozen=True, eq=False)
class Layout:
    """An encoder's map as it stands.

    Attributes:
        key: of its task.
        places: (N, 2); the PCA until the method's first map is there.
        method: what is being laid out.
        progress: how far that is, from 0 to 1.
        over: nothing will change any more: it is laid out, or was stopped, or failed.
        stopped: the person stopped it; `places` is the last map there was.
        trust: the trustworthiness of `places`, None until it is measured.
        problem: why the method could not lay it out; empty where it could.
    """

    key: str
    places: NDArray[np.float32]
    method: Projection
    progress: float = 0.0
    over: bool = False
    stopped: bool = False
    trust: float | None = None
    problem: str = ""


def is_shown(points: pd.DataFrame, filters: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
    """Return which rows of a frame are shown, by what a person wants of its columns; nothing wanted shows all."""
    shown = np.ones(len(points), dtype=bool)
    for column, values in filters.items():
        if values:
            shown &= points[column].isin(values).to_numpy()
    return shown


def sample(labelled: LabelledSet, most: int = MOST_POINTS) -> pd.DataFrame:
    """Return the set's frame with a column `row`, at most `most` of its rows, with every intent and language."""
    frame = labelled.frame
    most = min(most, MOST_POINTS)
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), most)
    return frame.iloc[rows].assign(row=rows.astype(np.int32)).reset_index(drop=True)


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


def layouts(
    vectors: Mapping[str, FloatArray], specs: Mapping[str, str], data_sha: str, method: Projection
) -> dict[str, Layout]:
    """Return each encoder's map of its vectors (N, dim) as `laid_out` does; `data_sha` stands for the sentences."""
    keys = {
        name: f"map:{method}:{data_sha}:{len(found)}:{weights_of(specs[name])}"  # a sample is a map of its own
        for name, found in vectors.items()
    }
    return laid_out(vectors, keys, method)


def laid_out(
    vectors: Mapping[str, FloatArray], keys: Mapping[str, str], method: Projection
) -> dict[str, Layout]:
    """Return at once the best map there is of each of several vectors (N, dim) of the same N sentences.

    The first time that is their PCA, computed here in a moment. Two workers refine the maps, so that neither of two
    waits for the other; later calls return the maps in the making and, at last, the final ones, all turned onto the
    first. A page calls this in each of its runs and draws what it gets; then it calls `draw_progress`, which shows
    how far the maps are and runs the page again when one has changed. Maps that the session asked for in its last
    call and not in this one are stopped, unless another session waits for them.

    Args:
        vectors: by name.
        keys: by name; a key stands for the vectors and the method.
        method: how to lay them out.

    Raises:
        DataError: a vector is zero or not finite.
    """
    for key in st.session_state.get(_ASKED, frozenset()) - set(keys.values()):
        cache.mapper().stop(key, _session())
    st.session_state[_ASKED] = frozenset(keys.values())
    found: dict[str, Layout] = {}
    for name, of_encoder in vectors.items():
        one = _as_it_stands(keys[name], of_encoder, method)
        target = next(iter(found.values())).places if found else one.places
        found[name] = replace(one, places=aligned(one.places, target))
    return found


def _as_it_stands(key: str, vectors: FloatArray, method: Projection) -> Layout:
    if (stopped := st.session_state.get(_STOPPED, {}).get(key)) is not None:
        layout: Layout = stopped
        return layout
    outcome = cache.mapper().run(key, lay_out, vectors, method, asker=_session())
    if isinstance(outcome, Done):
        places, trust = outcome.value
        return Layout(key, places, method, progress=1.0, over=True, trust=trust)
    if isinstance(outcome, Failed):
        return Layout(key, _first_map(key, vectors), method, over=True, problem=outcome.message)
    places = _first_map(key, vectors) if outcome.value is None else outcome.value
    return Layout(key, places, method, progress=outcome.progress)


@st.cache_data(max_entries=16, show_spinner=False)
def _first_map(key: str, _vectors: FloatArray) -> NDArray[np.float32]:
    return project(_vectors, Projection.PCA)


def _session() -> str:
    session: str = st.session_state.setdefault(_SESSION, uuid4().hex)
    return session


def stop(maps: Mapping[str, Layout]) -> None:
    """Refine these maps no further in this session: `laid_out` returns them as they are here."""
    for one in maps.values():
        if not one.over:
            cache.mapper().stop(one.key, _session())
            st.session_state.setdefault(_STOPPED, {})[one.key] = replace(one, over=True, stopped=True)


def go_on(maps: Mapping[str, Layout]) -> None:
    """Refine maps again that were stopped or have failed."""
    for one in maps.values():
        st.session_state.get(_STOPPED, {}).pop(one.key, None)
        if one.problem:
            cache.mapper().forget(one.key)


def draw_progress(maps: Mapping[str, Layout], key: str = "maps") -> None:
    """Draw how far maps are, with a button that stops them, and run the page again when one has changed.

    Of maps that failed it says why, and those that were stopped can be refined again; else it draws nothing once all
    are laid out. `key` begins the widgets' keys.
    """
    for name, one in maps.items():
        if one.problem:
            st.error(f"{literal(name)}: {literal(one.problem)}.", icon=":material/error:")
    waiting = {name: one for name, one in maps.items() if not one.over}
    if waiting:
        _draw_bar(waiting, key)
    elif any(one.stopped or one.problem for one in maps.values()):
        st.button("Refine again", icon=":material/replay:", key=f"{key}-go-on", on_click=go_on, args=(maps,))


def _draw_bar(maps: Mapping[str, Layout], key: str) -> None:
    # A map that waits for others is at 0 %, and the bar says how far all of them are.
    label = "Refining " + ", ".join(f"{literal(name)}: {NAMES[one.method]}" for name, one in maps.items())

    @st.fragment(run_every=POLL_S)
    def poll() -> None:
        try:
            now = [cache.mapper().result(one.key, asker=_session()) for one in maps.values()]
        except KeyError:  # it made room for others
            st.rerun()
        shares = [outcome.progress for outcome in now if isinstance(outcome, Pending)]
        if len(shares) < len(maps):
            st.rerun()
        bar, button = st.columns([6, 1], vertical_alignment="center")
        bar.progress(sum(shares) / len(shares), text=label)
        button.button(
            "Stop",
            icon=":material/stop:",
            key=f"{key}-stop",
            help="Keep the maps as they are.",
            on_click=stop,
            args=(maps,),
        )
        if sum(shares) - sum(one.progress for one in maps.values()) >= REDRAWN_AT * len(maps):
            st.rerun()

    poll()


def say_trust(maps: Mapping[str, Layout]) -> None:
    """Say how far each map can be trusted, once that is measured."""
    said = [f"{literal(name)}: **{one.trust:.2f}**" for name, one in maps.items() if one.trust is not None]
    if said:
        st.caption(
            f"Trustworthiness {', '.join(said)}: 1 where all neighbours on the map are neighbours by cosine, 0.5 by "
            "chance."
        )


def draw_emphasis(
    chart: str, rows: Sequence[int], drag: Drag, on_pick: Callable[[int], None], instead: str = ""
) -> None:
    """Have the picked points, by their `customdata`, stand out on the maps of `sentence_maps` in the chart of this key.

    It also sets what dragging does, stacks two maps where there is little room, and makes points reachable by keyboard:
    `on_pick` is called with the row of the one on which Enter was pressed. `instead` is another figure of the same
    places, as JSON, drawn in place of the chart's own; it goes by itself, so that a pick does not send it again.
    """
    component = st.components.v2.component("emu_maps", js=_SCRIPT.read_text("utf-8"))
    key = f"{chart}-emphasis"

    def picked() -> None:
        if (row := st.session_state[key].get("picked")) is not None:
            on_pick(int(row))

    component(key=f"{chart}-instead", data={"chart": chart, "figure": instead}, height=1)
    data = {"chart": chart, "rows": list(rows), "drag": drag}
    component(key=key, data=data, height=1, on_picked_change=picked)


def ink() -> str:
    """Return the colour of letters on the page, stronger than that which Streamlit gives those of a chart."""
    return "#FAFAFA" if st.context.theme.type == "dark" else "#31333F"


def draw_downloads(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    name: str,
    shown: NDArray[np.bool_] | None = None,
) -> None:
    """Draw a button each for PNG, SVG and HTML; `name` is the files', without an ending, the rest as in `maps_file`."""

    def still(file_format: Literal["png", "svg"]) -> bytes:
        from emu_core.charts.stills import maps_file  # which imports matplotlib

        return maps_file(panels, points, colour_by, chosen, file_format=file_format, shown=shown)

    files: dict[str, tuple[str, Callable[[], bytes]]] = {
        "PNG": ("image/png", lambda: still("png")),
        "SVG": ("image/svg+xml", lambda: still("svg")),
        "HTML": ("text/html", lambda: maps_page(panels, points, colour_by, chosen, shown)),
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
