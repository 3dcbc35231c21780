"""Maps of sentences: a sample to draw, its layout in the background, and the widgets of a map."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import uuid4

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.shell.glossary import Word, help_on
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import draw_download, draw_note
from emu_app.shell.wording import literal, worded
from emu_app.work import cache
from emu_app.work.background import Done, Failed, Pending
from emu_app.work.mapping import lay_out
from emu_core.charts.marks import ColourBy
from emu_core.charts.style import DARK, LIGHT, Theme
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.projection import Projection, aligned, project, stratified_sample
from emu_core.reports.map_pages import maps_page

FIRST_POINTS = 5_000  # sentences of a larger set that are drawn first: their map takes seconds
MAX_DRAWN_POINTS = 30_000  # that a browser draws and selects with ease
PROJECTION_NAMES = {Projection.TSNE: "t-SNE", Projection.UMAP: "UMAP", Projection.PCA: "PCA"}
POLL_S, REDRAWN_AT = 0.5, 0.2  # an unfinished map is redrawn after this much more progress
Drag = Literal["pan", "lasso", "select"]
Ending = Literal["png", "svg", "html"]  # the ending of a file to download
_ASKED = Remembered[frozenset[str]]("maps-asked", frozenset())  # the keys of the maps asked for last
_SESSION = Remembered("maps-session", "")
_SCRIPT = Path(__file__).with_name("maps.js")


@dataclass(frozen=True, eq=False)
class Layout:
    """A map so far."""

    key: str  # the key of its task
    places: NDArray[np.float32]  # (N, 2); the PCA until the method's first map is there
    method: Projection
    progress: float = 0.0  # up to 1
    over: bool = False  # it is final: laid out, stopped or failed
    stopped: bool = False  # a person stopped it; `places` is the last map there was
    trust: float | None = None  # the trustworthiness of `places`, None until it is measured
    problem: str = ""  # why the method failed; "" if it did not


_STOPPED = Remembered[dict[str, Layout]]("maps-stopped", {})  # by key


def is_shown(points: pd.DataFrame, filters: Mapping[str, Sequence[str]]) -> NDArray[np.bool_]:
    """Return which rows have one of the wanted values in each column; a column without wanted values is ignored."""
    shown = np.ones(len(points), dtype=bool)
    for column, values in filters.items():
        if values:
            shown &= points[column].isin(values).to_numpy()
    return shown


def sample(labelled: LabelledSet, most: int) -> pd.DataFrame:
    """Return at most `most` rows of a set, stratified by language and intent, with their number in `row`."""
    frame = labelled.frame
    most = min(most, MAX_DRAWN_POINTS)
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), most)
    return frame.iloc[rows].assign(row=rows.astype(np.int32)).reset_index(drop=True)


def say_sampled(total: int, drawn: int) -> None:
    """Say how many of all sentences are drawn, if these are a sample."""
    if drawn < total:
        draw_note(
            f"The maps show {drawn:,} of {counted(total, 'sentence')}: a sample with its share of every "
            "intent in every language."
        )


def laid_out(
    vectors: Mapping[str, FloatArray], keys: Mapping[str, str], method: Projection
) -> dict[str, Layout]:
    """Return the best available map of each of several vectors (N, dim) of the same N sentences.

    At first that is their PCA, computed here at once. Two workers refine the maps in parallel; later calls return
    their maps so far and, at last, the final ones, all aligned to the first. A page calls this on each of its runs
    and draws the result; then it calls `draw_progress`, which runs the page again when a map has changed. Maps that
    the session's last call asked for and this one does not are stopped, unless another session wants them.

    Vectors and keys are by name; a key identifies vectors and method. Raises DataError if a vector is zero or not
    finite.
    """
    for key in _ASKED.get() - set(keys.values()):
        cache.mapper().stop(key, _session())
    _ASKED.set(frozenset(keys.values()))
    layouts: dict[str, Layout] = {}
    for name, of_encoder in vectors.items():
        layout = _as_it_stands(keys[name], of_encoder, method)
        target = next(iter(layouts.values())).places if layouts else layout.places
        layouts[name] = replace(layout, places=aligned(layout.places, target))
    return layouts


def _as_it_stands(key: str, vectors: FloatArray, method: Projection) -> Layout:
    if (stopped := _STOPPED.get().get(key)) is not None:
        return stopped
    if (stored := cache.stored_map(key)) is not None:
        places, trust = stored
        return Layout(key, places, method, progress=1.0, over=True, trust=trust)
    outcome = cache.mapper().run(key, lay_out, vectors, method, asker=_session())
    if isinstance(outcome, Done):
        places, trust = outcome.value
        return Layout(key, places, method, progress=1.0, over=True, trust=trust)
    if isinstance(outcome, Failed):
        return Layout(key, _first_map(key, vectors), method, over=True, problem=worded(outcome.message))
    places = _first_map(key, vectors) if outcome.value is None else outcome.value
    return Layout(key, places, method, progress=outcome.progress)


@st.cache_data(max_entries=16, show_spinner=False)
def _first_map(key: str, _vectors: FloatArray) -> NDArray[np.float32]:
    return project(_vectors, Projection.PCA)


def _session() -> str:
    return _SESSION.get_or_make(lambda: uuid4().hex)


def _stop(maps: Mapping[str, Layout]) -> None:
    """Stop refining maps in this session: `laid_out` returns them as they are."""
    for layout in maps.values():
        if not layout.over:
            cache.mapper().stop(layout.key, _session())
            _STOPPED.get_or_make(dict)[layout.key] = replace(layout, over=True, stopped=True)


def _go_on(maps: Mapping[str, Layout]) -> None:
    """Refine maps again that were stopped or have failed."""
    for layout in maps.values():
        _STOPPED.get_or_make(dict).pop(layout.key, None)
        if layout.problem:
            cache.mapper().forget(layout.key)


def draw_progress(maps: Mapping[str, Layout], key: str = "maps") -> None:
    """Draw the progress of maps with a Stop button, and run the page again when one has changed.

    Of maps that are over it draws the errors, and a button that refines stopped and failed ones again. `key` is the
    prefix of the widgets' keys.
    """
    for name, layout in maps.items():
        if layout.problem:
            st.error(f"{literal(name)}: {literal(layout.problem)}.", icon=":material/error:")
    waiting = {name: layout for name, layout in maps.items() if not layout.over}
    if waiting:
        _draw_bar(waiting, key)
    elif any(layout.stopped or layout.problem for layout in maps.values()):
        st.button("Refine again", icon=":material/replay:", key=f"{key}-go-on", on_click=_go_on, args=(maps,))


def _draw_bar(maps: Mapping[str, Layout], key: str) -> None:
    # One bar for all maps; a map that waits for others is at 0 %.
    label = "Refining " + ", ".join(
        f"{literal(name)}: {PROJECTION_NAMES[layout.method]}" for name, layout in maps.items()
    )

    @st.fragment(run_every=POLL_S)
    def poll() -> None:
        try:
            now = [cache.mapper().result(layout.key, asker=_session()) for layout in maps.values()]
        except KeyError:  # evicted
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
            on_click=_stop,
            args=(maps,),
        )
        if sum(shares) - sum(layout.progress for layout in maps.values()) >= REDRAWN_AT * len(maps):
            st.rerun()

    poll()


def say_trust(maps: Mapping[str, Layout]) -> None:
    """Draw the trustworthiness of the maps for which it is measured."""
    values = [
        f"{literal(name)}: **{layout.trust:.2f}**"
        for name, layout in maps.items()
        if layout.trust is not None
    ]
    if values:
        st.caption(f"Trust in the maps (0.5–1): {', '.join(values)}", help=help_on(Word.TRUST))


@dataclass(frozen=True)
class Spoken:
    """A sentence in one of several languages, with a line to its nearest neighbour on a map."""

    x: float
    y: float
    near: tuple[float, float] | None  # the neighbour's place
    right: bool  # whether that is a right one
    label: (
        str  # written beside it, to its right or left: its language and those of the sentences in its place
    )
    is_left: bool
    hover: str  # as plotly shows it
    row: int  # of the set, as a selection returns it


@dataclass(frozen=True)
class Mark:
    """A sentence that is pointed at on a map, with lines to its neighbours there."""

    x: float
    y: float
    typed: bool  # and no point of the map: it is drawn as a star
    near: tuple[tuple[float, float, bool], ...]  # of each neighbour, its place and whether it is a right one
    spoken: tuple[Spoken, ...] = ()  # the sentence in all of its languages, if it is asked in them


def draw_emphasis(
    chart: str,
    rows: Sequence[int],
    drag: Drag,
    on_pick: Callable[[int], None],
    instead: str = "",
    marks: Sequence[Mark] = (),
    focus: Sequence[int] = (),
) -> None:
    """Draw the legend of a chart's maps, emphasise picked points, by their `customdata`, and mark a place on each map.

    While some are picked, all others are grey, except those of the rows in `focus`. What the mouse is on in the legend
    or on a map, and the groups that are pressed in the legend, are lit in the browser alone.

    This also sets what dragging does, stacks two maps on a narrow page, and makes the points reachable by keyboard:
    Enter on one calls `on_pick` with its row. `instead` is another figure of the same places, as JSON, which replaces
    the chart's own; it is sent separately, so that a pick does not send it again.
    """
    component = st.components.v2.component("emu_maps", js=_SCRIPT.read_text("utf-8"))
    emphasis = Remembered[Any](f"{chart}-emphasis", None)

    def picked() -> None:
        if (row := emphasis.get().get("picked")) is not None:
            on_pick(int(row))

    component(key=f"{chart}-instead", data={"chart": chart, "figure": instead}, height=1)
    data = {"chart": chart, "rows": list(rows), "drag": drag, "ink": theme().ink, "focus": list(focus)}
    data["marks"] = [asdict(mark) for mark in marks]
    component(key=emphasis.key, data=data, on_picked_change=picked)


def theme() -> Theme:
    """Return the colours of figures on the page; that of text is stronger than Streamlit's for charts."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def draw_downloads(
    panels: Mapping[str, NDArray[np.float32]],
    points: pd.DataFrame,
    colour_by: ColourBy,
    chosen: Set[int],
    name: str,
    **look: Any,
) -> None:
    """Draw buttons that download maps as PNG, SVG and HTML.

    `name` is the stem of the file names; `look` are further arguments of `maps_page`.
    """

    def made(ending: Ending) -> bytes:
        if ending == "html":
            return maps_page(panels, points, colour_by, chosen, **look)
        from emu_core.charts.stills import maps_file  # which imports matplotlib

        return maps_file(panels, points, colour_by, chosen, file_format=ending, **look)

    about = {"html": "A page that can be zoomed and hovered over, without a network."}
    st.caption("Download the maps")
    with st.container(horizontal=True):
        for ending in get_args(Ending):
            draw_download(ending.upper(), partial(made, ending), f"{name}.{ending}", help=about.get(ending))
