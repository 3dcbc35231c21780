"""Compare: what a specialised encoder does better than its base, and where it does worse."""

import streamlit as st

from app.background import Done
from app.compare.accuracy import draw_accuracy
from app.compare.forgetting import draw_forgetting
from app.compare.neighbours import draw_neighbours
from app.compare.similarity import draw_similarity
from app.compare.subject import Subject, choose_part
from app.compare.triples import draw_triples
from app.encoders import BASE, NEW, computed, encoded, encoder_specs, run_facts
from app.state import run_picker
from app.vectors import weights_of
from app.wording import sentence
from emu_core.charts import comparison_page
from emu_core.data.wording import counted
from emu_core.errors import EmuError
from emu_core.evaluation.comparison import Comparison
from emu_core.runs.run import Run


def page() -> None:
    """Draw the page."""
    st.title("Compare")
    st.caption("A specialised encoder against the base it was trained from, on the same sentences.")
    run = run_picker("Run")
    if run is None:
        return
    try:
        draw_comparison(run)
    except EmuError as error:  # a damaged run folder
        st.error(sentence(error), icon=":material/error:")


def draw_comparison(run: Run) -> None:
    """Draw everything about one run."""
    st.caption(run_facts(run))
    specs = encoder_specs(run)
    chosen = choose_part(run)
    if chosen is None or specs is None:
        return
    part, key = chosen
    vectors = encoded(specs, key, part.frame["text"].tolist())
    if vectors is None:
        return
    comparison = Comparison(part.frame, vectors[BASE], vectors[NEW], (BASE, NEW))
    outcome = computed(
        f"compare:{key}:{':'.join(map(weights_of, specs.values()))}",
        f"Finding the nearest neighbours of {counted(len(part), 'sentence')}",
        Comparison.computed,
        comparison,
    )
    if outcome is None:
        return
    if isinstance(outcome, Done):
        comparison.with_computed(outcome.value)
    subject = Subject(specs, key, comparison, isinstance(outcome, Done))
    accuracy, triples, similarity, neighbours, forgetting = st.tabs(
        ["Accuracy", "Sentence triples", "Similarity", "Changed neighbours", "Forgetting"],
        key="compare-tab",
        on_change="rerun",
    )
    with accuracy:
        if accuracy.open and subject.is_measured:
            draw_accuracy(subject)
    with triples:
        if triples.open:
            draw_triples(subject)
    with similarity:
        if similarity.open:
            draw_similarity(subject)
    with neighbours:
        if neighbours.open and subject.is_measured:
            draw_neighbours(subject)
    with forgetting:
        if forgetting.open and not run.config().encoder:
            st.info(
                "An encoder that was trained from scratch has no base of which it could have forgotten anything; "
                "specialise it, and look at that run.",
                icon=":material/info:",
            )
        elif forgetting.open:
            draw_forgetting(run)
    if subject.is_measured:
        st.download_button(
            "Download everything as one page",
            lambda: comparison_page(comparison),
            file_name=f"emu-{run.name}.html",
            mime="text/html",
            icon=":material/download:",
            on_click="ignore",
            help="With interactive charts, for a browser without a network.",
        )


page()
