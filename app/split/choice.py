"""The run, the sentences and the utterance that are looked at."""

from contextlib import suppress

import streamlit as st

from app.state import ChosenData, finished_runs
from app.wording import literal, sentence
from emu_core.api.compare import ALL, usual_split
from emu_core.api.split import Pool, read_pool
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name, ordered
from emu_core.data.slots.utterances import Utterance, parse_annotated
from emu_core.data.wording import counted
from emu_core.encoders.disentangled import DisentangledEncoder
from emu_core.encoders.saved import read_config
from emu_core.errors import DataError, EncoderError
from emu_core.runs.run import Run

FROM_DATA, TYPED = "From the data", "Typed"
EXAMPLE = "wake me up at [time : five am]"


def choose_run() -> Run | None:
    """Draw a choice among the finished runs that split sentences; None, and where to train one, without any."""
    runs = {name: run for name, run in finished_runs().items() if splits(run)}
    if not runs:
        st.info(
            "No finished run splits sentences yet. Train one by the method FMDA, or by its baseline: with the demo set "
            "it takes a minute or two."
        )
        st.page_link("views/train.py", label="Train one", icon=":material/model_training:")
        return None
    name = st.selectbox("Run", list(runs), key="split-run", bind="query-params")
    return runs[name]


def choose_pool(chosen: ChosenData) -> Pool:
    """Ask for the rows that are used."""
    options = [*chosen.labelled.splits, ALL]
    split = st.selectbox(
        "Sentences of the loaded data",
        options,
        index=options.index(usual_split(chosen.labelled)),
        format_func=lambda name: "all rows" if name == ALL else f"split {name}",
        key=f"split-rows-{chosen.sha256[:12]}",
        persist_state="session",
        help="Neighbours are looked for among these sentences, and the maps show them. Sentences that the run was not "
        "trained on tell more.",
    )
    pool = _pool(chosen.sha256, chosen.labelled, split)
    if len(pool.frame) < pool.total:
        st.info(
            f"{len(pool.frame):,} of {counted(pool.total, 'sentence')} are used, translations together.",
            icon=":material/filter_list:",
        )
    if pool.unread:
        st.warning(
            f"{counted(pool.unread, 'annotation')} can't be read, or is not its sentence's; such a sentence is taken "
            "to have no slots.",
            icon=":material/data_object:",
        )
    return pool


@st.cache_resource(max_entries=8, show_spinner="Reading the slots ...")
def _pool(sha256: str, _labelled: LabelledSet, split: str) -> Pool:
    """Read the slots; a resource and not data, since it is large and nobody changes it."""
    part = _labelled if split == ALL else _labelled.select(splits=[split])
    return read_pool(f"{sha256}:{split}", part.frame)


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


def splits(run: Run) -> bool:
    """Whether a finished run's encoder gives several embeddings of a sentence."""
    with suppress(EncoderError):
        return read_config(run.encoder_folder)["encoder"] == DisentangledEncoder.spec
    return False
