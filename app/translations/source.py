"""Which parallel text the page looks at, and of it which languages and how many pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from app.forms.model_name import RUN
from app.panels.pretrained import mean_p_at_1
from app.state import ChosenData, chosen_data, is_from_scratch
from app.uploads.boxes import draw_box, draw_notes, texts_of
from app.uploads.texts import Kind, Read
from app.wording import literal
from emu_core.data.languages import language_name
from emu_core.data.parallel.held_out import hold_out, joined_by_pivot, usual_count
from emu_core.data.parallel.labelled import labelled_pairs
from emu_core.data.parallel.text import ParallelText
from emu_core.data.wording import counted
from emu_core.errors import DataError, RunError
from emu_core.runs.run import Run
from emu_core.runs.stored_data import texts_digest

PLACE, PRETRAIN = "translations", "pretrain"
MOST = 5_000  # pairs; each sentence is compared with every other language's


@dataclass(frozen=True, eq=False)
class Source:
    """Texts to choose a pair of languages from.

    Attributes:
        key: tells them from every other's.
        read: the texts as read.
        texts: these, and those that two of them give through a third language.
    """

    key: str
    read: tuple[ParallelText, ...]
    texts: tuple[ParallelText, ...]


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of two languages.

    Attributes:
        key: stands for them, in all sessions.
        text: the pairs, the first language asking.
    """

    key: str
    text: ParallelText

    @property
    def sentences(self) -> list[str]:
        """The 2N sentences, those of the first language first."""
        return [*self.text.first, *self.text.second]


def choose_source() -> Source | None:
    """Ask for parallel text; None, and what to do, while there is none."""
    own, pretrained = texts_of(PLACE, Kind.PARALLEL), texts_of(PRETRAIN, Kind.PARALLEL)
    data = chosen_data()
    offered: dict[str, Read | ChosenData] = {}
    if own is not None:
        offered[f"Uploaded here: {own.title}"] = own
    if pretrained is not None:
        offered[f"On the Pretrain page: {pretrained.title}"] = pretrained
    if _of_data(data.sha256, data).texts:
        offered[f"Loaded data: {data.title}"] = data
    with st.expander("Upload parallel text", expanded=not offered, icon=":material/upload_file:"):
        draw_box(PLACE, Kind.PARALLEL)
        if own is not None:
            draw_notes(own)
    if not offered:
        st.info(
            "Upload some parallel text, or load data whose translations share an id.",
            icon=":material/link_off:",
        )
        return None
    chosen = st.selectbox(
        "Parallel text", list(offered), key=f"translations-text-{'|'.join(offered)}", persist_state="session"
    )
    found = offered[chosen]
    return _of_read(found.key, found) if isinstance(found, Read) else _of_data(found.sha256, found)


def choose_pairs(source: Source, languages: Sequence[str]) -> Pairs:
    """Ask for two languages, and which of them asks.

    Args:
        source: the texts.
        languages: that the encoder was trained on, where it is known; a pair of these stands first.
    """
    texts = source.texts
    fitting = next((at for at, text in enumerate(texts) if set(text.languages) <= set(languages)), 0)
    which, whose = st.columns([3, 2])
    at = which.selectbox(
        "Languages",
        range(len(texts)),
        index=fitting,
        format_func=lambda at: (
            f"{' and '.join(map(language_name, texts[at].languages))}: {counted(len(texts[at]), 'pair')}"
        ),
        key=f"translations-pair-{source.key}-{'-'.join(languages)}",
        persist_state="session",
    )
    text = texts[at]
    asking = whose.segmented_control(
        "Sentences are looked up in",
        text.languages,
        default=text.source,
        required=True,
        format_func=language_name,
        key=f"translations-asking-{source.key}-{at}",
        persist_state="session",
        help="And found in the other language.",
    )
    key = f"{source.key}:{at}"
    sampled = _sampled(key, text)
    if len(sampled) < len(text):
        st.info(
            f"{MOST:,} of {counted(len(text), 'pair')} are used, drawn at random.",
            icon=":material/filter_list:",
        )
    return Pairs(f"{key}:{asking}", sampled if asking == text.source else sampled.turned())


def say_trained_on(run: Run | None, source: Source) -> None:
    """Say that a run was trained on these very texts."""
    if run is None or not is_from_scratch(run):
        return
    try:
        facts, reached, seed = run.data(), mean_p_at_1(run.metrics()), run.config().seed
    except RunError:
        return
    if facts.get("sha256") == _trained_digest(source.key, seed, source):
        held_out = (
            "" if reached is None else f" On the pairs it held out, P@1 was {reached:.1f} % on average."
        )
        st.info(
            "The run was trained on this text, all but the pairs that it held out, so translations are found better "
            f"here than in new text.{held_out}",
            icon=":material/school:",
        )


def warn_of_strangers(languages: Sequence[str], text: ParallelText) -> None:
    """Say which languages the encoder has not seen, where it is known which it has."""
    strangers = [code for code in text.languages if code not in languages]
    if languages and strangers:
        st.warning(
            f"The encoder was not trained on {literal(' and '.join(map(language_name, strangers)))}; it can't find "
            "much there.",
            icon=":material/translate:",
        )


def run_of(spec: str, runs: Sequence[Run]) -> Run | None:
    """Return the run whose encoder a spec names."""
    return next((run for run in runs if spec == f"{RUN}{run.folder}"), None)


@st.cache_resource(max_entries=8, show_spinner=False)
def _of_read(key: str, _read: Read) -> Source:
    return _source(key, _read.parallel)


@st.cache_resource(max_entries=8, show_spinner="Looking for translations ...")
def _of_data(sha256: str, _chosen: ChosenData) -> Source:
    return _source(sha256[:16], tuple(labelled_pairs(_chosen.labelled)))


def _source(key: str, texts: tuple[ParallelText, ...]) -> Source:
    return Source(key, texts, (*texts, *joined_by_pivot(texts)))


@st.cache_data(max_entries=16, show_spinner=False)
def _trained_digest(key: str, seed: int, _source: Source) -> str:
    """Return the checksum of what a run with this seed is trained on; "" where nothing can be held out."""
    try:
        return texts_digest(hold_out(_source.read, usual_count(_source.read), seed)[0])
    except DataError:
        return ""


@st.cache_resource(max_entries=16, show_spinner=False)
def _sampled(key: str, _text: ParallelText) -> ParallelText:
    if len(_text) <= MOST:
        return _text
    return _text.take(np.sort(np.random.default_rng(0).permutation(len(_text))[:MOST]))
