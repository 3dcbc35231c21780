"""Compare: what a specialised encoder does better than its base, and where it does worse."""

import streamlit as st

from app.background import Done
from app.compare.accuracy import draw_accuracy
from app.compare.choice import choose_part
from app.compare.forgetting import draw_forgetting
from app.compare.measure import compare_encoders
from app.compare.neighbours import draw_neighbours
from app.compare.similarity import draw_similarity
from app.compare.subject import Subject
from app.compare.triples import draw_triples
from app.encoders import BASE, NEW, computed, encoded, encoder_specs, run_facts
from app.pretrain_request import is_pretrained
from app.state import run_picker
from app.vectors import weights_of
from app.wording import sentence
from emu_core.data.wording import counted
from emu_core.errors import EmuError
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
    outcome = computed(
        f"compare:{key}:{':'.join(map(weights_of, specs.values()))}",
        f"Finding the nearest neighbours of {counted(len(part), 'sentence')}",
        compare_encoders,
        vectors[BASE],
        vectors[NEW],
        part,
    )
    if outcome is None:
        return
    comparison = outcome.value if isinstance(outcome, Done) else None
    subject = Subject(specs, part, vectors, comparison)
    accuracy, triples, similarity, neighbours, forgetting = st.tabs(
        ["Accuracy", "Sentence triples", "Similarity", "Changed neighbours", "Forgetting"],
        key="compare-tab",
        on_change="rerun",
    )
    with accuracy:
        if accuracy.open and comparison is not None:
            draw_accuracy(comparison)
    with triples:
        if triples.open:
            draw_triples(subject)
    with similarity:
        if similarity.open:
            draw_similarity(subject, key)
    with neighbours:
        if neighbours.open:
            draw_neighbours(subject, key)
    with forgetting:
        if forgetting.open and is_pretrained(run):
            st.info(
                "An encoder that was trained from nothing has no base to have forgotten anything of; specialise it, "
                "and look at that run.",
                icon=":material/info:",
            )
        elif forgetting.open:
            draw_forgetting(run)


page()
