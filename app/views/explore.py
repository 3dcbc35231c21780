"""Explore: the sentences as points on a map, by the base and by the specialised encoder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from app import tasks
from app.cache import computed, encoded
from app.forms.encoder import BASE, NEW, draw_encoder, encoder_specs
from app.forms.model_name import RUN
from app.maps import (
    FIRST_POINTS,
    MOST_POINTS,
    NAMES,
    Drag,
    draw_downloads,
    draw_emphasis,
    draw_filters,
    draw_progress,
    ink,
    is_shown,
    layouts,
    sample,
    say_how_many,
    say_trust,
)
from app.panels.widgets import choose_one, draw_csv_button, draw_notebook_button, errors_shown, roomy_columns
from app.state import chosen_data, finished_runs, run_picker
from app.wording import literal, sentence
from emu_core import charts
from emu_core.api.compare import ALL
from emu_core.charts.marks import ColourBy
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.projection import Projection
from emu_core.evaluation.retrieval import nearest
from emu_core.runs.run import Run

MOUSE: dict[str, Drag] = {"Click": "pan", "Lasso": "lasso", "Box": "select"}
WITH_BASE, EPOCHS, ALONE = "A run and its base encoder", "A run, epoch by epoch", "An encoder as it is"
CHART = "explore-map"
_PICKED = "explore-picked"
MOST_ROWS = 1_000  # shown; the download has them all
NEIGHBOURS = 10
_COLUMNS = {"text": "Sentence", "intent": "Intent", "language": "Language", "split": "Split", "id": "Id"}


def page() -> None:
    """Draw the page."""
    st.title("Explore")
    st.caption("Every point a sentence: who is near whom, by the base and by the specialised encoder.")
    runs = finished_runs()
    filmed = {name: run for name, run in runs.items() if run.snapshots_folder.is_dir()}
    options = [WITH_BASE, EPOCHS, ALONE] if filmed else [WITH_BASE, ALONE]
    shown = choose_one("Show", options, "explore-show") if runs else WITH_BASE
    with errors_shown():  # of a damaged run folder, vectors that are not numbers
        if shown == EPOCHS:
            draw_film(filmed)
        elif (specs := draw_encoders(shown == ALONE)) is not None:
            draw_maps(specs)


def draw_film(runs: Mapping[str, Run]) -> None:
    """Ask for a run with snapshots, and play them."""
    run = run_picker("filmed-run", runs)
    colour_by = cast(ColourBy, choose_one("Colour by", ["intent", "language"], "explore-colour"))
    if run is None:
        return
    stamp = run.snapshots_folder.stat().st_mtime_ns
    label = f"{run.name}: laying out and measuring the sentences at each epoch"
    film = computed(f"film:{run.folder}:{stamp}", label, tasks.film_of, run.folder)
    if film is None:
        return
    st.plotly_chart(charts.animation(film, colour_by), key="explore-film", config={"displaylogo": False})
    st.caption(
        "One map for all epochs: each is turned onto the next, so what moves are the sentences to each other. "
        f"{film.measure} by language is measured on these {len(film.sentences):,} sentences, averaged over the "
        "languages of the pool; the line marks what it was before training."
    )
    st.download_button(
        "HTML",
        lambda: charts.animation_page(film, colour_by, f"{run.name}: the space at each epoch"),
        file_name=f"{run.name}-epochs.html",
        mime="text/html",
        icon=":material/download:",
        on_click="ignore",
        help="A page of its own that plays the map, without a network.",
    )


def draw_encoders(alone: bool) -> dict[str, str] | None:
    """Ask for a run, or for an encoder as it is; what `load_encoder` takes, by the encoder's name, once it is known."""
    run = None if alone else run_picker()
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
    most = FIRST_POINTS
    if (total := min(len(chosen.labelled), MOST_POINTS)) > FIRST_POINTS and st.toggle(
        f"Draw {total:,} sentences, which takes longer", key="explore-all", persist_state="session"
    ):
        most = MOST_POINTS
    points = sample(chosen.labelled, most)
    vectors = encoded(specs, chosen.sha256, points["text"].tolist())
    if vectors is None:
        return
    maps = layouts(vectors, specs, chosen.sha256, method)
    kept = is_shown(points, filters)
    say_how_many(len(chosen.labelled), len(points), int(kept.sum()))
    if not kept.any():
        st.info("The filters leave no sentence; take one away.", icon=":material/filter_alt_off:")
        return
    draw_progress(maps)
    panels = {f"{name}: {NAMES[method]}": one.places for name, one in maps.items()}
    rows = picked(chosen.sha256)
    st.plotly_chart(
        charts.sentence_maps(panels, points, colour_by, shown=kept, ink=ink()),
        key=CHART,
        on_select=lambda: take_from_chart(chosen.sha256),
        selection_mode=("points", "box", "lasso"),
        config={"scrollZoom": True, "displaylogo": False},
        alt=f"{' and '.join(panels)} of {kept.sum()} sentences, coloured by {colour_by}.",
    )
    draw_emphasis(CHART, rows, drag, lambda row: pick(chosen.sha256, [row]))
    say_trust(maps)
    draw_downloads(panels, points, colour_by, frozenset(rows), f"emu-{method}", kept)
    run = Run(Path(specs.get(NEW, "").removeprefix(RUN)))
    if NEW in specs and run.config().encoder:
        about = {"is_demo": chosen.is_demo, "split": ALL, "layout": method.value, "colour_by": colour_by}
        draw_notebook_button(run.name, run.config(), run.folder, **about)
    place = draw_picked(points, rows, chosen.sha256)
    if place is not None:
        draw_neighbours(points, place, vectors)


def draw_controls() -> tuple[Projection, ColourBy, Drag]:
    """Draw what the maps are, what their colours say and what the mouse does."""
    how, what, mouse = st.columns(3)
    method = choose_one(
        "Map",
        list(NAMES),
        "explore-method",
        place=how,
        format_func=NAMES.__getitem__,
        help="t-SNE and UMAP keep neighbours together; PCA keeps the large distances, and is there at once.",
    )
    colour_by = choose_one(
        "Colour by",
        ["intent", "language"],
        "explore-colour",
        place=what,
        help="The shape says the other one.",
    )
    drag = choose_one(
        "Mouse",
        list(MOUSE),
        "explore-mouse",
        place=mouse,
        help="Click a point for its nearest neighbours, or draw around points to fill a table. Scroll to zoom. "
        "With the keyboard: arrows walk from point to point, Enter picks.",
    )
    return Projection(method), cast(ColourBy, colour_by), MOUSE[drag]


def picked(data_sha: str) -> tuple[int, ...]:
    """Return the picked rows of a set, as many as were picked in it."""
    of_data, rows = st.session_state.get(_PICKED, ("", ()))
    return rows if of_data == data_sha else ()


def pick(data_sha: str, rows: Sequence[int]) -> None:
    """Have just these rows of a set picked."""
    st.session_state[_PICKED] = (data_sha, tuple(dict.fromkeys(rows)))


def take_from_chart(data_sha: str) -> None:
    """Pick what was just selected on the map; an empty selection changes nothing.

    The map is redrawn with the picked points standing out, and a redrawn map has no selection of its own.
    """
    points: Sequence[Mapping[str, Any]] = st.session_state[CHART]["selection"]["points"]
    rows = [row for point in points if (row := _row(point.get("customdata"))) is not None]
    if rows:
        pick(data_sha, rows)


def draw_picked(points: pd.DataFrame, rows: Sequence[int], data_sha: str) -> int | None:
    """Draw the picked ones of the sentences drawn; return the place of the one whose neighbours are wanted, if any."""
    title, clear = st.columns([5, 1], vertical_alignment="bottom")
    title.subheader(f"Picked: {counted(len(rows), 'sentence')}" if rows else "Picked sentences")
    if not rows:
        st.caption(
            "Click a point for its nearest neighbours. To fill a table, choose *Lasso* or *Box* above and draw "
            "around some points."
        )
        return None
    if clear.button("Clear", icon=":material/close:", width="stretch"):
        pick(data_sha, ())
        st.rerun()
    table = points[points["row"].isin(rows)]
    with_split = [
        column for column in _COLUMNS if column not in ("split", "id") or (table[column] != "").any()
    ]
    state = st.dataframe(
        table[with_split].rename(columns=_COLUMNS).head(MOST_ROWS),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=f"explore-table-{hash(tuple(rows))}",  # another table has no row selected yet
        height="auto" if len(table) <= 10 else 320,
    )
    left, right = st.columns([3, 1], vertical_alignment="center")
    if len(table) > MOST_ROWS:
        left.caption(f"The first {MOST_ROWS:,} are shown, the download has all {len(table):,}.")
    with right:
        picked = table.drop(columns="row")
        draw_csv_button(picked, (data_sha, tuple(rows)), "emu-selection.csv", width="stretch")
    if len(table) == 1:
        return int(table.index[0])
    if selected := state["selection"]["rows"]:
        return int(table.index[selected[0]])
    left.caption("Select a row for its nearest neighbours.")
    return None


def draw_neighbours(points: pd.DataFrame, place: int, vectors: Mapping[str, FloatArray]) -> None:
    """Draw a sentence's nearest neighbours among N points, by each encoder's vectors (N, dim)."""
    sentence = points.iloc[place]
    st.subheader("Nearest neighbours")
    st.markdown(
        f"of **{literal(sentence['text'], 300)}** ({literal(sentence['intent'], 60)}, "
        f"{literal(language_name(sentence['language']))}), by cosine"
    )
    without = st.toggle(
        "Leave out its translations", value=True, key="explore-no-translations", persist_state="session"
    )
    ids = points["id"].tolist() if without else None
    columns = roomy_columns(len(vectors), 440, "neighbours")
    for column, (name, of_encoder) in zip(columns, vectors.items(), strict=True):
        found = nearest(of_encoder, [place], NEIGHBOURS, ids)
        there = found.rows[0] >= 0
        rows = found.rows[0][there]
        near = points.iloc[rows]
        same = near["intent"].to_numpy() == sentence["intent"]
        column.markdown(f"**{name}**: {int(same.sum())} of {len(rows)} have its intent")
        table = pd.DataFrame(
            {
                "Cosine": found.cosines[0][there],
                "Same intent": np.where(same, "✓", ""),
                "Sentence": near["text"].to_numpy(),
                "Intent": near["intent"].to_numpy(),
                "Language": near["language"].to_numpy(),
            }
        )
        column.dataframe(
            table,
            hide_index=True,
            column_config={
                "Cosine": st.column_config.NumberColumn(format="%.3f", width=65),
                "Same intent": st.column_config.TextColumn(width=90),
                "Sentence": st.column_config.TextColumn(width=230),
                "Language": st.column_config.TextColumn(width=75),
            },
        )


def _row(customdata: Any) -> int | None:
    value = customdata[0] if isinstance(customdata, list | tuple) and customdata else customdata
    return value if isinstance(value, int) and not isinstance(value, bool) else None


page()
