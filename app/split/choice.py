"""The run and the utterance that are looked at."""

import streamlit as st

from app.split.pool import Pool
from app.state import finished_runs, method_of
from app.wording import literal, sentence
from emu_core.data.languages import language_name, ordered
from emu_core.data.slots import parse_annotated
from emu_core.data.slots.utterances import Utterance
from emu_core.errors import DataError
from emu_core.methods.method import Needs
from emu_core.methods.registry import methods_that_need
from emu_core.runs.run import Run

FROM_DATA, TYPED = "From the data", "Typed"
EXAMPLE = "wake me up at [time : five am]"


def choose_run() -> Run | None:
    """Draw a choice among the finished runs that split sentences; None, and where to train one, without any."""
    runs = {
        name: run for name, run in finished_runs().items() if method_of(run) in methods_that_need(Needs.SLOTS)
    }
    if not runs:
        st.info(
            "No finished run splits sentences yet. Train one by the method FMDA, or by its baseline: with the demo set "
            "it takes a minute or two."
        )
        st.page_link("pages/train.py", label="Train one", icon=":material/model_training:")
        return None
    name = st.selectbox("Run", list(runs), key="split-run", bind="query-params")
    return runs[name]


def is_typed() -> bool:
    """Ask whether a sentence is typed, or one of the data's."""
    source = st.segmented_control(
        "The utterance",
        [FROM_DATA, TYPED],
        default=FROM_DATA,
        required=True,
        key="split-source",
        persist_state="session",
    )
    return bool(source == TYPED)


def choose_utterance(pool: Pool, first_language: str, *, typed: bool) -> Utterance | None:
    """Ask for an utterance.

    Args:
        pool: the sentences to choose from.
        first_language: of the sentences that are offered at first.
        typed: whether one is typed instead, which has no language, intent and id.
    """
    found = _typed() if typed else _of_data(pool, first_language)
    if found is not None:
        st.caption(_facts(found))
    return found


def _of_data(pool: Pool, first_language: str) -> Utterance:
    languages = ordered(pool.frame["language"])
    where, which = st.columns([1, 4])
    language = where.selectbox(
        "Language",
        languages,
        index=languages.index(first_language) if first_language in languages else 0,
        format_func=language_name,
        key=f"split-language-{pool.key}",
        persist_state="session",
    )
    row = which.selectbox(
        "Sentence",
        pool.rows(language),
        format_func=lambda row: pool.utterances[row].text,
        key=f"split-sentence-{pool.key}-{language}",
        persist_state="session",
    )
    return pool.utterances[row]


def _typed() -> Utterance | None:
    typed = st.text_input(
        "Sentence",
        placeholder=EXAMPLE,
        max_chars=500,
        key="split-typed",
        persist_state="session",
        help=f"Slots may stand in brackets, as in {literal(EXAMPLE)}.",
    )
    try:
        text, slots = parse_annotated(typed.strip())
    except DataError as error:
        st.error(sentence(error), icon=":material/error:")
        return None
    return Utterance(text, slots, "", "", "") if text.strip() else None


def _facts(one: Utterance) -> str:
    """Language, intent and template, as markdown."""
    known = [language_name(one.language), one.intent and f"intent {one.intent}"] if one.language else []
    slots = f"template: {one.template}" if one.slots else "no slots are marked"
    return literal("; ".join([*filter(None, known), slots]), 600)
