"""The maps of the workbench, one for each encoder with a point for each sentence, and the choices above them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from emu_app.panels import maps
from emu_app.panels.context import Context
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import ADDRESSED, PLAIN_BAR, choose_languages, choose_many, choose_one, draw_note
from emu_app.work.cache import encoded
from emu_app.work.vectors import map_key, weights_of
from emu_app.workbench.inspector import Found, Inspection
from emu_app.workbench.languages import Asked, spoken_marks
from emu_app.workbench.morphing import draw_morph, draw_play
from emu_app.workbench.picked import pick
from emu_app.workbench.predict import draw_near
from emu_app.workbench.subject import Space, Subject, computed_once
from emu_core import charts
from emu_core.charts.marks import MOST_SHAPED, ColourBy
from emu_core.charts.style import Theme
from emu_core.data.wording import counted
from emu_core.evaluation.arrays import unit_vectors
from emu_core.evaluation.projection import Projection, place_on_map

MOUSE: dict[str, maps.Drag] = {"Click": "pan", "Lasso": "lasso", "Box": "select"}
_BY_MEANING = Remembered("explore-meaning", False)
_CHART = Remembered[Any]("explore-map", None)
_Panels = Mapping[str, NDArray[np.float32]]
_LAYOUTS = [Projection.TSNE, Projection.UMAP]
HEIGHT_PX = 600
NEAREST = 3  # sentences of each language that a search by meaning finds


class _Look(TypedDict):
    """How maps are drawn: arguments of `charts.sentence_maps`."""

    colour_by: ColourBy
    shown: NDArray[np.bool_]
    focus: tuple[str, ...]
    shape_languages: bool
    density: bool


_FIRST = Remembered[tuple[Hashable, _Look] | None]("explore-first", None)


@dataclass(frozen=True, eq=False)
class MapChoices:
    """The choices above the maps."""

    method: Projection
    drag: maps.Drag
    look: _Look
    passing: list[int] | None  # the rows of the set that pass filters and search; None without any
    wanted: str  # the words of the search
    found: pd.DataFrame | None  # what a search by meaning found, the nearest first
    downloads: Any  # the place of the downloads


def draw_choices(space: Space, now: Context) -> MapChoices:
    """Ask how the N points are laid out and drawn, which of them, and what the mouse does."""
    labelled, points = now.chosen.labelled, space.points
    method = choose_one(
        "Map",
        _LAYOUTS,
        "explore-method",
        format_func=maps.PROJECTION_NAMES.__getitem__,
        help=help_on(Word.MAP),
        **ADDRESSED,
    )
    colour_by = cast(ColourBy, choose_one("Colour by", ["intent", "language"], "explore-colour", **ADDRESSED))
    filters = {
        "language": _chosen("Languages", labelled.languages, now, choose_languages),
        "intent": _chosen("Intents", labelled.intents, now),
    }
    key = f"explore-{now.chosen.sha256[:12]}-search"
    wanted = st.text_input("Search", placeholder="Some words", key=key, width=150, **ADDRESSED).strip()
    found = _found(wanted, space) if wanted and _BY_MEANING.get() else None
    with st.popover("More", icon=":material/tune:", key="map-more"), st.container(key="map-more-settings"):
        if labelled.splits:
            filters["split"] = _chosen("Splits", labelled.splits, now)
        about = "The plain projection onto the two axes along which the sentences differ most."
        if st.toggle(maps.PROJECTION_NAMES[Projection.PCA], key="explore-pca", help=about, **ADDRESSED):
            method = Projection.PCA
        shape_languages = _draw_shape_toggle(points, colour_by)
        about = "Contour lines where most sentences are."
        density = st.toggle("Density", key="explore-density", help=about, **ADDRESSED)
        about = (
            "Click a point for its nearest neighbours, or draw around points to list them. On the keyboard, the arrows "
            "move from point to point and Enter picks one. The wheel zooms a map that was clicked."
        )
        drag = MOUSE[choose_one("Mouse", list(MOUSE), "explore-mouse", help=about)]
        downloads = st.container(key="map-downloads")

    def passes(frame: pd.DataFrame) -> NDArray[np.bool_]:
        shown = maps.is_shown(frame, filters)
        if found is not None:
            shown &= frame.get("row", frame.index.to_series()).isin(found["row"]).to_numpy()
        elif wanted:
            shown &= frame["text"].str.contains(wanted, case=False, regex=False).to_numpy()
        return shown

    is_filtered = bool(wanted) or any(filters.values())
    focus: dict[ColourBy, list[str]] = {"intent": filters["intent"], "language": filters["language"]}
    look: _Look = {
        "colour_by": colour_by,
        "shown": passes(points),
        "focus": tuple(focus[colour_by]),
        "shape_languages": shape_languages,
        "density": density,
    }
    passing = np.flatnonzero(passes(labelled.frame)).tolist() if is_filtered else None
    return MapChoices(Projection(method), drag, look, passing, wanted, found, downloads)


def _found(wanted: str, space: Space) -> pd.DataFrame | None:
    """Return the points in each language that are nearest to some words, the nearest first.

    None, with progress drawn, while the words are being encoded, by the last encoder: that is the run's own.
    """
    name = [*space.vectors][-1]
    vectors = encoded({name: space.specs[name]}, "", [wanted])
    if vectors is None:
        return None

    def find() -> pd.DataFrame:
        cosines = unit_vectors(space.vectors[name]) @ unit_vectors(vectors[name])[0]
        near = space.points.assign(cosine=cosines).sort_values("cosine", ascending=False, kind="stable")
        return near.groupby("language", sort=False).head(NEAREST)

    return computed_once("meaning", (space, wanted), find)


def draw_space(
    space: Space, subject: Subject | None, now: Context, choices: MapChoices, inspection: Inspection
) -> None:
    """Draw the maps, with what is inspected; what is picked on them is inspected from the next run on."""
    points, sha = space.points, now.chosen.sha256
    method, look = choices.method, choices.look
    kept = look["shown"]
    maps.say_sampled(len(now.chosen.labelled), len(points))
    # In places that stay the same: a chart that moves is made anew. What comes and goes is below the maps, so that
    # these stay where they are.
    morphs = draw_play(space, now)
    drawn = st.container(key="drawn-maps")
    said = st.container(key="said-of-maps")
    keys = {
        name: map_key(method, sha, len(points), weights_of(spec))  # a sample has a map of its own
        for name, spec in space.specs.items()
    }
    layouts = maps.laid_out(space.vectors, keys, method)
    with said:
        _draw_passing(points, now, choices)
        maps.draw_progress(layouts)
        maps.say_trust(layouts)
    panels = {
        f"{space.titles[name]}{when}, {maps.PROJECTION_NAMES[method]}": layout.places
        for (name, layout), when in zip(layouts.items(), _when(now), strict=False)
    }
    seen = _seen(points, now)
    places = (f"{sha}:{'trained' in seen}", panels, seen, maps.theme())
    progress = tuple((layout.key, layout.progress) for layout in layouts.values())
    if morphs:
        with drawn:
            draw_morph(space, seen, panels, kept, subject, choices.downloads)
        return
    with drawn:
        first = _figure(*places, _first_look((places[0], *panels, maps.theme(), progress), look))
        st.plotly_chart(
            first,
            key=_CHART.key,
            on_select=lambda: _take_from_chart(sha),
            selection_mode=("points", "box", "lasso"),
            config={"scrollZoom": True, **PLAIN_BAR},
            alt=f"{' and '.join(panels)} of {counted(len(points), 'sentence')}.",
        )
        instead = "" if _figure(*places, look) is first else _as_json(*places, look)
        maps.draw_emphasis(
            _CHART.key,
            inspection.picked,
            choices.drag,
            lambda row: pick(sha, [row]),
            instead,
            _marks(space, layouts, inspection),
            _same_intent(points, inspection.row),
        )
    with choices.downloads:
        maps.draw_downloads(
            panels,
            points,
            look["colour_by"],
            frozenset(inspection.picked),
            f"emu-{method}",
            shown=kept,
            focus=look["focus"],
            shape_languages=look["shape_languages"],
        )


@st.cache_resource(max_entries=8, show_spinner=False)
def _figure(key: str, panels: _Panels, _points: pd.DataFrame, theme: Theme, look: _Look) -> go.Figure:
    """Return the figure of the maps, drawn once for all sessions; the key identifies the points."""
    figure = charts.sentence_maps(panels, _points, theme=theme, **look).update_layout(
        height=HEIGHT_PX,
        legend={"visible": False},  # the page has one of its own
    )
    made = figure.to_dict()
    figure.to_dict = lambda: made  # Streamlit asks for it at every run of the page
    return figure


@st.cache_resource(max_entries=8, show_spinner=False)
def _as_json(key: str, panels: _Panels, _points: pd.DataFrame, theme: Theme, look: _Look) -> str:
    figure: str = _figure(key, panels, _points, theme, look).to_json()
    return figure


def _draw_passing(points: pd.DataFrame, now: Context, choices: MapChoices) -> None:
    """Say how many sentences the filters leave, and offer to pick them."""
    passing, shown = choices.passing, choices.look["shown"]
    if choices.found is not None:
        draw_near(choices.found[choices.found["row"].isin(passing or [])], "found-by-meaning")
    if passing is None:
        return
    if not shown.any():
        draw_note("No sentence passes the filters; remove one.")
    with st.container(horizontal=True, vertical_alignment="center", key="passing"):
        if choices.wanted:
            _ask_by_meaning()
        if 0 < shown.sum() < len(points):
            left = f"The filters leave {shown.sum():,} of {counted(len(points), 'sentence')}."
            st.caption(left, width="content")
        st.button(
            f"Pick all {len(passing):,}",
            icon=":material/select_all:",
            on_click=pick,
            args=(now.chosen.sha256, passing),
            help="Every sentence of the set that passes search and filters: accuracy, confusions and predictions of "
            "just these, and one step to relabel or drop them.",
        )


def _ask_by_meaning() -> None:
    """Ask whether words are searched by meaning; below the maps, which stay where they are."""
    about = (
        f"The {NEAREST} sentences of each language that the last encoder finds nearest to the words, "
        "whatever language these are in."
    )
    known = _BY_MEANING.get()
    if st.toggle("Search by meaning", key=_BY_MEANING.key, help=about, **ADDRESSED) != known:
        st.rerun()  # a new session knows the choice of its address from here on


def _first_look(places: Hashable, look: _Look) -> _Look:
    """Return how the maps of these places were first drawn: the chart's figure must stay the same."""
    first = _FIRST.get()
    if not _CHART.is_set or first is None or first[0] != places:
        _FIRST.set(first := (places, look))
    return first[1]


def _seen(points: pd.DataFrame, now: Context) -> pd.DataFrame:
    """Return the points, with a column `trained` if A or B was trained on some of them, but not on all."""
    seen = np.logical_or.reduce([rows for _, rows, _ in now.trained_rows])[points["row"].to_numpy()]
    return points.assign(trained=seen) if seen.any() and not seen.all() else points


def _when(now: Context) -> tuple[str, str]:
    """Return what the titles of the maps add to the names of A and B."""
    return (" before training", " after training") if now.is_before_and_after else ("", "")


def _same_intent(points: pd.DataFrame, row: int | None) -> list[int]:
    """Return the rows of the inspected sentence's intent, which stay coloured."""
    intents = points.loc[points["row"] == row, "intent"]
    same: list[int] = points.loc[points["intent"].isin(intents), "row"].tolist()
    return same


def _marks(space: Space, layouts: Mapping[str, maps.Layout], inspection: Inspection) -> list[maps.Mark]:
    """Return a mark of the inspected sentence on each map on which something is found for it."""
    found, asked = inspection.found, inspection.asked
    if asked is not None:
        is_typed = inspection.is_typed
        return [_asked_mark(space, name, asked, at.places, is_typed) for name, at in layouts.items()]
    return [_mark(space, name, found[name], at.places) for name, at in layouts.items() if name in found]


def _asked_mark(
    space: Space, name: str, asked: Asked, places: NDArray[np.float32], is_typed: bool
) -> maps.Mark:
    spoken = spoken_marks(asked, name, space.vectors[name], places)
    own = spoken[asked.number]
    return maps.Mark(own.x, own.y, is_typed, near=(), spoken=spoken)


def _mark(space: Space, name: str, found: Found, places: NDArray[np.float32]) -> maps.Mark:
    intents, is_typed = space.points["intent"].to_numpy(), found.point is None
    own = place_on_map(space.vectors[name], places, found.vector)[0] if is_typed else places[found.point]
    x, y = own.tolist()
    around = tuple((*places[row].tolist(), bool(intents[row] == found.intent)) for row in found.near)
    return maps.Mark(x, y, is_typed, near=around)


def _chosen(
    label: str, options: Sequence[str], now: Context, choose: Callable[..., list[str]] = choose_many
) -> list[str]:
    """Ask which of a set's languages, intents or splits are shown; none means all."""
    key = f"explore-{now.chosen.sha256[:12]}-{label.lower()}"
    return choose(label, options, key, placeholder="All", width=200, **ADDRESSED)


def _draw_shape_toggle(points: pd.DataFrame, colour_by: ColourBy) -> bool:
    """Ask whether shapes show the languages, where they can."""
    if len(points) > MOST_SHAPED:
        return False
    asked = st.toggle(
        "Shapes",
        key="explore-shapes",
        help="The shape of a point shows its language, while the colour shows the intent.",
        disabled=colour_by == "language",
        **ADDRESSED,
    )
    return asked and colour_by != "language"


def _take_from_chart(data_sha: str) -> None:
    """Pick what was selected on the map; an empty selection, such as that of a redrawn map, changes nothing."""
    points: Sequence[Mapping[str, Any]] = _CHART.get()["selection"]["points"]
    rows = [row for point in points if (row := _row(point.get("customdata"))) is not None]
    if rows:
        pick(data_sha, rows)


def _row(customdata: Any) -> int | None:
    value = customdata[0] if isinstance(customdata, list | tuple) and customdata else customdata
    return value if isinstance(value, int) and not isinstance(value, bool) else None
