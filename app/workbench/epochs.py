"""A run epoch by epoch: how its space folds."""

import streamlit as st

from app import tasks
from app.cache import computed
from app.panels.widgets import choose_one, draw_note
from emu_core import charts
from emu_core.runs.run import Run


def draw_epochs(run: Run) -> None:
    """Play a run's snapshots, or say how to have some."""
    if not run.snapshots_folder.is_dir():
        draw_note(
            "This run kept no vectors. Switch *Keep each epoch's vectors* on before training to see it here."
        )
        return
    colour_by = choose_one("Colour by", ["intent", "language"], "epochs-colour")
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
