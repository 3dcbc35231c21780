"""The maps of the workbench, one for each encoder with a point for each sentence, and what is picked on them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypedDict, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from emu_app.data.library import add_version
from emu_app.panels import maps
from emu_app.panels.context import Context, stay
from emu_app.panels.undo import draw_undo
from emu_app.shell.address import PICKED, choices_of_session, write
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import (
    ADDRESSED,
    MAX_TABLE_ROWS,
    choose,
    choose_languages,
    choose_many,
    choose_one,
    draw_csv_button,
    draw_note,
    errors_shown,
    say_cut,
)
from emu_app.work.tasks import Answer
from emu_app.work.vectors import weights_of
from emu_app.workbench.languages import Asked, groups_of, repeats_of, spoken_marks
from emu_app.workbench.morphing import draw_morph, draw_toggle
from emu_app.workbench.picked_figures import PREDICTIONS, draw_figures, found_for, with_predictions
from emu_app.workbench.subject import Space, Subject, computed_once
from emu_core import charts
from emu_core.charts.marks import MOST_SHAPED, ColourBy
from emu_core.data.cleaning import cleaned
from emu_core.data.intent_names import spelt_as
from emu_core.data.repeats import sentence_groups
from emu_core.data.wording import counted
from emu_core.evaluation.projection import Projection, place_on_map
from emu_core.evaluation.retrieval import nearest

MOUSE: dict[str, maps.Drag] = {"Click": "pan", "Lasso": "lasso", "Box": "select"}
CHART, TRIED = "explore-map", "try-sentence"
ANSWERS = "try-answers"  # of the session: each encoder's answer to the typed sentence, while there are any
ASKED = (
    "asked-in-languages"  # likewise: the sentence in all of its languages, or None if it isn't asked in them
)
WITHOUT_TRANSLATIONS = "explore-no-translations"
PICKED_NEIGHBOURS, TYPED_NEIGHBOURS = 10, 5
_PICKED, _INSPECTED, _FIRST = "explore-picked", "explore-inspected", "explore-first"
_ADDRESS = "explore-picked-address"  # of the session: what the address says of the picked rows
MOST_ADDRESSED = 30  # picked rows in the address
_Panels = Mapping[str, NDArray[np.float32]]
HEIGHT_PX = 640
_COLUMNS = {"text": "Sentence", "intent": "Intent", "language": "Language", "split": "Split", "id": "Id"}


class _Look(TypedDict):
    """How maps are drawn: arguments of `charts.sentence_maps`."""

    colour_by: ColourBy
    shown: NDArray[np.bool_]
    focus: tuple[str, ...]
    shape_languages: bool
    density: bool


def draw_space(space: Space, now: Context, settings: Any, middle: Any) -> None:
    """Draw the settings in one place and the maps in another; the session remembers what is picked."""
    points, sha = space.points, now.chosen.sha256
    with settings:
        method, colour_by, drag = _draw_controls()
        kept, wanted = _draw_filters(now, points)
        shape_languages = _draw_shape_toggle(points, colour_by)
        about = "Contour lines where most sentences are."
        density = st.toggle("Density", key="explore-density", help=about, **ADDRESSED)
    rows = picked(sha)
    with middle:  # in places that stay the same whatever is said above: a chart that moves is made anew
        said, drawn = st.container(key="said-of-maps"), st.container(key="drawn-maps")
        below = st.container(key="below-maps", horizontal=True, vertical_alignment="center")
    keys = {
        name: f"map:{method}:{sha}:{len(points)}:{weights_of(spec)}"  # a sample has a map of its own
        for name, spec in space.specs.items()
    }
    layouts = maps.laid_out(space.vectors, keys, method)
    with said:
        maps.say_how_many(len(now.chosen.labelled), len(points), int(kept.sum()))
        if not kept.any():
            draw_note("No sentence passes the filters; remove one.")
            return
        maps.draw_progress(layouts)
    panels = {
        f"{space.titles[name]}{when}, {maps.PROJECTION_NAMES[method]}": layout.places
        for (name, layout), when in zip(layouts.items(), _when(now), strict=False)
    }
    with below:
        morphs = draw_toggle(space)
    seen = _seen(points, now)
    places = (f"{sha}:{'trained' in seen}", panels, seen, maps.ink())
    look: _Look = {
        "colour_by": colour_by,
        "shown": kept,
        "focus": wanted[colour_by],
        "shape_languages": shape_languages,
        "density": density,
    }
    progress = tuple((layout.key, layout.progress) for layout in layouts.values())
    if morphs:
        with drawn:
            draw_morph(space, seen, panels, kept, sha, below)
            maps.say_trust(layouts)
        return
    with drawn:
        first = _figure(*places, _first_look((places[0], *panels, maps.ink(), progress), look))
        st.plotly_chart(
            first,
            key=CHART,
            on_select=lambda: _take_from_chart(sha),
            selection_mode=("points", "box", "lasso"),
            config={"scrollZoom": True, "displaylogo": False},
            alt=f"{' and '.join(panels)} of {counted(len(points), 'sentence')}.",
        )
        instead = "" if _figure(*places, look) is first else _as_json(*places, look)
        maps.draw_emphasis(
            CHART,
            rows,
            drag,
            lambda row: pick(sha, [row]),
            instead,
            _marks(space, layouts, sha),
            _same_intent(points, inspected(sha)),
        )
        maps.say_trust(layouts)
    with below, st.popover("Download the maps", icon=":material/download:"):
        maps.draw_downloads(
            panels,
            points,
            colour_by,
            frozenset(rows),
            f"emu-{method}",
            shown=kept,
            focus=look["focus"],
            shape_languages=shape_languages,
        )


@st.cache_resource(max_entries=8, show_spinner=False)
def _figure(key: str, panels: _Panels, _points: pd.DataFrame, ink: str, look: _Look) -> go.Figure:
    """Return the figure of the maps, drawn once for all sessions; the key identifies the points."""
    figure = charts.sentence_maps(panels, _points, ink=ink, **look).update_layout(
        # Names on the clusters and the filter stand for the legend of intents.
        height=HEIGHT_PX,
        legend={"visible": look["colour_by"] != "intent"},
    )
    made = figure.to_dict()
    figure.to_dict = lambda: made  # Streamlit asks for it at every run of the page
    return figure


@st.cache_resource(max_entries=8, show_spinner=False)
def _as_json(key: str, panels: _Panels, _points: pd.DataFrame, ink: str, look: _Look) -> str:
    figure: str = _figure(key, panels, _points, ink, look).to_json()
    return figure


def _first_look(places: Hashable, look: _Look) -> _Look:
    """Return how the maps of these places were first drawn: the chart's figure must stay the same."""
    if CHART not in st.session_state or st.session_state.get(_FIRST, (None,))[0] != places:
        st.session_state[_FIRST] = (places, look)
    first: _Look = st.session_state[_FIRST][1]
    return first


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


def _marks(space: Space, layouts: Mapping[str, maps.Layout], data_sha: str) -> list[maps.Mark]:
    """Return, for each map, the typed sentence or the picked one with its neighbours; none if there is neither."""
    intents, is_typed = space.points["intent"].to_numpy(), bool(cleaned(str(st.session_state.get(TRIED, ""))))
    asked: Asked | None = st.session_state.get(ASKED)
    if asked is not None:
        return [
            _asked_mark(asked, spoken_marks(asked, name, space.vectors[name], layout.places), is_typed)
            for name, layout in layouts.items()
        ]
    if is_typed:
        answers: dict[str, Answer] = st.session_state.get(ANSWERS, {})
        return [
            _typed_mark(space, name, answers[name], layout.places)
            for name, layout in layouts.items()
            if name in answers
        ]
    rows = np.flatnonzero(space.points["row"].to_numpy() == inspected(data_sha))
    if not len(rows):
        return []
    row = int(rows[0])
    return [
        _mark(layouts[name].places, row, near.tolist(), intents == intents[row])
        for name, (near, _) in neighbours_of(space, row).items()
        if name in layouts
    ]


def _mark(
    places: NDArray[np.float32], row: int, near: Sequence[int], is_right: NDArray[np.bool_]
) -> maps.Mark:
    around = tuple((float(places[of, 0]), float(places[of, 1]), bool(is_right[of])) for of in near)
    return maps.Mark(float(places[row, 0]), float(places[row, 1]), typed=False, near=around)


def _asked_mark(asked: Asked, spoken: tuple[maps.Spoken, ...], is_typed: bool) -> maps.Mark:
    own = spoken[asked.number]
    return maps.Mark(own.x, own.y, is_typed, near=(), spoken=spoken)


def _typed_mark(space: Space, name: str, answer: Answer, places: NDArray[np.float32]) -> maps.Mark:
    """Return the mark of a typed sentence; right are the neighbours of the predicted intent, or of the nearest one."""
    vectors, intents = space.vectors[name], space.points["intent"].to_numpy()
    predicted, typed = answer.table["intent"].iloc[0], answer.vectors

    def find() -> list[int]:
        # Never the sentence itself, as `tasks.without_repeats` has it.
        repeats = np.where(repeats_of(space, answer.table["text"].iloc[0]), "typed", "").tolist()
        everyone = np.concatenate([vectors, typed])
        found = nearest(everyone, [len(vectors)], TYPED_NEIGHBOURS, [*repeats, "typed"]).rows[0]
        near: list[int] = found[found >= 0].tolist()
        return near

    near = computed_once(f"typed-{name}", (space, answer), find)
    expected = predicted if predicted in intents else intents[near[0]]
    (x, y), *_ = place_on_map(vectors, places, typed).tolist()
    around = tuple(
        (float(places[row, 0]), float(places[row, 1]), bool(intents[row] == expected)) for row in near
    )
    return maps.Mark(x, y, typed=True, near=around)


def neighbours_of(space: Space, row: int) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Return the rows of a point's nearest neighbours, and their cosines, by each encoder.

    Without its translations, unless the session asks for them.
    """
    without = bool(st.session_state.get(WITHOUT_TRANSLATIONS, True))

    def find() -> dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]:
        groups = (
            groups_of(space) if without else sentence_groups(space.points.assign(id=""))
        )  # never its repeats
        by_encoder = {}
        for name, vectors in space.vectors.items():
            neighbours = nearest(vectors, [row], PICKED_NEIGHBOURS, groups)
            is_neighbour = neighbours.rows[0] >= 0
            by_encoder[name] = neighbours.rows[0][is_neighbour], neighbours.cosines[0][is_neighbour]
        return by_encoder

    return computed_once("neighbours", (space, row, without), find)


def _draw_controls() -> tuple[Projection, ColourBy, maps.Drag]:
    method = choose_one(
        "Map",
        list(maps.PROJECTION_NAMES),
        "explore-method",
        format_func=maps.PROJECTION_NAMES.__getitem__,
        help=help_on(Word.MAP),
        **ADDRESSED,
    )
    about = "Eight intents at a time have colours that everybody can tell apart: choose them under Intents."
    colour_by = choose_one("Colour by", ["intent", "language"], "explore-colour", help=about, **ADDRESSED)
    drag = choose_one(
        "Mouse",
        list(MOUSE),
        "explore-mouse",
        help="Click a point for its nearest neighbours, or draw around points to list them. Scroll to zoom. "
        "On the keyboard, the arrows move from point to point and Enter picks one.",
    )
    return Projection(method), cast(ColourBy, colour_by), MOUSE[drag]


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


def _draw_filters(
    now: Context, points: pd.DataFrame
) -> tuple[NDArray[np.bool_], dict[ColourBy, tuple[str, ...]]]:
    """Draw the filters and the search; return which of N points pass, (N,), and the intents and languages chosen."""
    labelled, prefix = now.chosen.labelled, f"explore-{now.chosen.sha256[:12]}"

    def chosen(
        label: str, options: Sequence[str], choose: Callable[..., list[str]] = choose_many
    ) -> list[str]:
        key = f"{prefix}-{label.lower()}"
        width = 210 if st.session_state.get(key) else 118  # with room for what is chosen
        return choose(label, options, key, placeholder="All", width=width, **ADDRESSED)

    filters = {
        "language": chosen("Languages", labelled.languages, choose_languages),
        "intent": chosen("Intents", labelled.intents),
    }
    if labelled.splits:
        filters["split"] = chosen("Splits", labelled.splits)
    wanted = st.text_input(
        "Search", placeholder="Some words", key=f"{prefix}-search", width=118, **ADDRESSED
    ).strip()

    def passing(frame: pd.DataFrame) -> NDArray[np.bool_]:
        shown = maps.is_shown(frame, filters)
        if wanted:
            shown &= frame["text"].str.contains(wanted, case=False, regex=False).to_numpy()
        return shown

    if wanted or any(filters.values()):
        matching = np.flatnonzero(passing(labelled.frame)).tolist()
        st.button(
            f"Pick all {len(matching):,}",
            icon=":material/select_all:",
            on_click=pick,
            args=(now.chosen.sha256, matching),
            help="Every sentence of the set that passes search and filters: accuracy, confusions and predictions of "
            "just these, and one step to relabel or drop them.",
        )
    return passing(points), {"intent": tuple(filters["intent"]), "language": tuple(filters["language"])}


def picked(data_sha: str) -> tuple[int, ...]:
    """Return the picked rows of a set, as they were picked last or as a link names them."""
    address = choices_of_session().get(PICKED, "")
    if address != st.session_state.get(_ADDRESS, ""):  # by a link, or Back
        st.session_state[_ADDRESS] = address
        of, _, numbers = address.partition(".")
        named = [int(number) for number in numbers.split("-") if number.isdecimal()]
        st.session_state[_PICKED] = (data_sha, tuple(named)) if data_sha.startswith(of or "-") else ("", ())
    of_data, rows = st.session_state.get(_PICKED, ("", ()))
    return rows if of_data == data_sha else ()


def pick(data_sha: str, rows: Sequence[int]) -> None:
    """Pick these rows of a set and no others, and write them into the address unless they are many."""
    distinct = tuple(dict.fromkeys(rows))
    st.session_state[_PICKED] = (data_sha, distinct)
    few = 0 < len(distinct) <= MOST_ADDRESSED
    st.session_state[_ADDRESS] = f"{data_sha[:8]}.{'-'.join(map(str, distinct))}" if few else ""
    write(PICKED, st.session_state[_ADDRESS])


def _take_from_chart(data_sha: str) -> None:
    """Pick what was selected on the map; an empty selection, such as that of a redrawn map, changes nothing."""
    points: Sequence[Mapping[str, Any]] = st.session_state[CHART]["selection"]["points"]
    rows = [row for point in points if (row := _row(point.get("customdata"))) is not None]
    if rows:
        pick(data_sha, rows)


def draw_picked(subject: Subject | None, now: Context) -> None:
    """Draw the picked sentences with figures of just these; selecting a row in their table inspects it."""
    data_sha = now.chosen.sha256
    rows = picked(data_sha)
    if not rows:
        draw_undo(now.chosen, "undo-change")
        return
    title, clear = st.columns([3, 2], vertical_alignment="center")
    title.markdown(f"**Picked: {counted(len(rows), 'sentence')}**")
    if clear.button("Clear", icon=":material/close:", width="stretch"):
        pick(data_sha, ())
        st.rerun(scope="fragment")
    with st.popover("Relabel or drop", icon=":material/edit:", width="stretch"):
        _draw_changes(rows, now)
    if len(rows) == 1:
        return
    frame = now.chosen.labelled.frame  # a search picks sentences that are not drawn, too
    table = frame.loc[frame.index.isin(rows), list(_COLUMNS)].assign(row=lambda part: part.index)
    shown = [column for column in _COLUMNS if column not in ("split", "id") or (table[column] != "").any()]
    if subject is not None and subject.is_measured:
        found = found_for(table, subject)
        table = with_predictions(table, found)
        shown[2:2] = list(PREDICTIONS) if len(found) else []
        draw_figures(found, len(table), subject)

    def inspect() -> None:
        chosen = st.session_state[key]["selection"]["rows"]
        st.session_state[_INSPECTED] = (data_sha, int(table["row"].iloc[chosen[0]])) if chosen else ("", -1)

    key = f"explore-table-{hash(rows)}"  # a new table has no selected row
    st.dataframe(
        table[shown].rename(columns=_COLUMNS).head(MAX_TABLE_ROWS),
        hide_index=True,
        on_select=inspect,
        selection_mode="single-row",
        key=key,
        # So wide that sentence, intent and what both find are in view.
        column_config={"Sentence": st.column_config.TextColumn(width=150)}
        | {title: st.column_config.TextColumn(width=90) for title in ("Intent", *PREDICTIONS)},
        height="auto" if len(table) <= 6 else 240,
        row_height=28,
    )
    say_cut(table)
    draw_csv_button(table.drop(columns="row"), "emu-selection.csv", width="stretch")


def _draw_changes(rows: Sequence[int], now: Context) -> None:
    labelled, count = now.chosen.labelled, counted(len(rows), "sentence")
    intent = choose(
        f"Intent of the {count}",
        labelled.intents,
        f"explore-intent-{hash(rows)}",
        index=None,
        accept_new_options=True,
        placeholder="Choose one, or type another",
    )
    relabel, drop = st.columns(2)
    done = relabel.button("Relabel", icon=":material/label:", disabled=not intent, width="stretch")
    gone = drop.button("Drop", icon=":material/delete:", width="stretch")
    st.caption("Saved as a new version of the set; this version is kept.")
    if done or gone:
        with errors_shown():
            if done:  # a name that differs from a known one in case only is meant to be that
                intent = spelt_as(pd.Series([intent]), labelled.intents).iloc[0]
            changed = labelled.relabel(rows, intent) if done else labelled.drop(rows)
            add_version(
                now.chosen, changed, f"{count} relabelled as {intent}" if done else f"{count} dropped"
            )
            stay()
            st.rerun()


def inspected(data_sha: str) -> int | None:
    """Return the inspected row of a set: the one selected in the table, or the only one picked."""
    of_data, row = st.session_state.get(_INSPECTED, ("", -1))
    rows = picked(data_sha)
    if of_data == data_sha and row in rows:
        return int(row)
    return rows[0] if len(rows) == 1 else None


def _row(customdata: Any) -> int | None:
    value = customdata[0] if isinstance(customdata, list | tuple) and customdata else customdata
    return value if isinstance(value, int) and not isinstance(value, bool) else None
