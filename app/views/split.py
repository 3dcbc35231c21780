"""Split: one utterance taken apart into language, template, residual and meaning, and what each part finds."""

import streamlit as st

from app.encoders import run_facts
from app.split.choice import choose_pool, choose_run, choose_utterance, is_typed
from app.split.maps import choose_kind, draw_maps
from app.split.neighbours import draw_neighbours
from app.split.numbers import draw_numbers
from app.split.parts import encoded_parts
from app.split.utterance import draw_attention, draw_parts, split_by
from app.state import chosen_data
from app.vectors import weights_of
from app.wording import literal, sentence
from emu_core.data.languages import language_name
from emu_core.data.wording import listed
from emu_core.errors import EmuError
from emu_core.runs.run import Run


def page() -> None:
    """Draw the page."""
    st.title("Split")
    st.caption("A sentence taken apart into its language, its template, the rest of it, and its meaning.")
    run = choose_run()
    if run is None:
        return
    try:
        draw_run(run)
    except EmuError as error:  # a damaged run folder
        st.error(sentence(error), icon=":material/error:")


def draw_run(run: Run) -> None:
    """Draw everything about one run."""
    st.caption(run_facts(run))
    utterance, numbers, maps = st.tabs(
        ["One utterance", "Evaluation of the parts", "Maps"], key="split-tab", on_change="rerun"
    )
    spec = f"run:{run.folder}"
    with utterance:
        if utterance.open:
            draw_utterance(run, spec)
    with numbers:
        if numbers.open:
            draw_numbers(run)
    with maps:
        if maps.open:
            left, right = st.columns(2, vertical_alignment="top")
            with left:
                pool = choose_pool(chosen_data())
            with right:
                kind = choose_kind()
            vectors = encoded_parts(spec, pool.key, pool.texts)
            if vectors is not None:
                draw_maps(spec, kind, pool, vectors)


def draw_utterance(run: Run, spec: str) -> None:
    """Draw the choice of an utterance, its parts and its neighbours."""
    left, right = st.columns(2, vertical_alignment="top")
    with left:
        pool = choose_pool(chosen_data())
    with right:
        typed = is_typed()
    trained_on = run.config().train_languages
    one = choose_utterance(pool, trained_on[0] if trained_on else "", typed=typed)
    if one is None:
        return
    if one.language and one.language not in trained_on:
        st.info(
            f"The run was not trained on {literal(language_name(one.language))}, only on "
            f"{literal(listed(map(language_name, trained_on)))}.",
            icon=":material/info:",
        )
    found = split_by(spec, one)
    if found is None:
        return
    draw_parts(one, found)
    draw_attention(one, found)
    vectors = encoded_parts(spec, pool.key, pool.texts)
    if vectors is not None:
        draw_neighbours(one, found.parts, pool, vectors, weights_of(spec))


page()
