"""Translations: what an encoder finds in another language, how alike its languages lie, and its words."""

import streamlit as st

from app.cache import start_helpers
from app.encoders import encoded
from app.forms.encoder import Choice, draw_encoder
from app.forms.model_name import RUN, short_name
from app.state import finished_runs, is_from_scratch
from app.translations.eigen import draw_eigen
from app.translations.ranked import draw_ranked
from app.translations.source import (
    Pairs,
    choose_pairs,
    choose_source,
    run_of,
    say_trained_on,
    warn_of_strangers,
)
from app.translations.words import draw_words
from app.wording import sentence
from emu_core.errors import EmuError
from emu_core.runs.run import Run

LISTS, EIGEN, WORDS = "Ranked lists", "Eigen-similarity", "Words"


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Translations")
    st.caption("Which sentence of another language lies nearest, and is it the translation?")
    try:
        draw_encoder_and_tabs()
    except EmuError as error:  # a damaged run folder
        st.error(sentence(error), icon=":material/error:")


def draw_encoder_and_tabs() -> None:
    """Ask for an encoder, and draw what it finds."""
    runs = list(finished_runs().values())
    pretrained = [run for run in runs if is_from_scratch(run)]
    first = f"{RUN}{pretrained[0].folder}" if pretrained else None
    choice = draw_encoder("translations-encoder", first, runs)
    if choice.problem:
        st.info(sentence(choice.problem), icon=":material/edit:")
        return
    lists, eigen, words = st.tabs([LISTS, EIGEN, WORDS], key="translations-tab", on_change="rerun")
    with lists:
        if lists.open and (pairs := draw_source(choice, runs)) is not None:
            name = short_name(choice.spec)
            vectors = encoded({name: choice.spec}, pairs.key, pairs.sentences)
            if vectors is not None:
                draw_ranked(name, choice.spec, pairs, vectors[name])
    with eigen:
        if eigen.open and (pairs := draw_source(choice, runs)) is not None:
            specs = draw_beside(choice, runs)
            vectors = encoded(specs, pairs.key, pairs.sentences)
            if vectors is not None:
                draw_eigen(specs, pairs, vectors)
    with words:
        if words.open:
            draw_words(choice.spec)


def draw_source(choice: Choice, runs: list[Run]) -> Pairs | None:
    """Ask for parallel text and two of its languages."""
    source = choose_source()
    if source is None:
        return None
    languages = choice.info.languages
    pairs = choose_pairs(source, languages)
    say_trained_on(run_of(choice.spec, runs), source)
    warn_of_strangers(languages, pairs.text)
    return pairs


def draw_beside(choice: Choice, runs: list[Run]) -> dict[str, str]:
    """Ask for another encoder to set beside; what `load_encoder` takes, by the encoder's name."""
    specs = {short_name(choice.spec): choice.spec}
    if st.toggle("Beside another encoder", key="translations-beside-on", persist_state="session"):
        other = draw_encoder("translations-beside", None, runs, label="Other encoder")
        if other.problem:
            st.info(sentence(other.problem), icon=":material/edit:")
        else:
            specs.setdefault(short_name(other.spec), other.spec)
    return specs


page()
