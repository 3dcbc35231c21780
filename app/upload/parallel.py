"""Parallel text: taken and shown before anything is trained on it, and chosen from to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.forms.model_name import RUN
from app.library import ChosenData, chosen_data
from app.panels.pretrained import mean_p_at_1
from app.panels.widgets import choose, choose_one, draw_note
from app.state import is_from_scratch
from app.upload.texts import Kind, Read, draw_box, draw_notes, keep_texts, texts_of
from app.wording import literal
from emu_core.data.demo import load_demo
from emu_core.data.languages import language_name
from emu_core.data.parallel.held_out import hold_out, joined_by_pivot, usual_count
from emu_core.data.parallel.labelled import labelled_pairs
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import LABELS, Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.data.wording import counted
from emu_core.errors import DataError, RunError
from emu_core.runs.run import Run
from emu_core.runs.stored_data import texts_digest

OTHERS = (Kind.RUNNING, Kind.DIALOGUES, Kind.NLI)
EXAMPLES = 5
SMALL = 5_000  # pairs; with fewer an encoder finds translations of sentences like these at best
PLACE, PRETRAIN = "translations", "pretrain"
MOST = 5_000  # pairs; each sentence is compared with every other language's


def draw_texts() -> Read | None:
    """Take parallel text, or the example, and draw what was read; the session has it on every page."""
    st.subheader("Parallel text")
    draw_box(PRETRAIN, Kind.PARALLEL)
    parallel = texts_of(PRETRAIN, Kind.PARALLEL)
    if parallel is None or parallel.key != "example":
        st.caption(
            "No files at hand? The demo set has 504 sentences in each of six languages: small, but quick."
        )
        if st.button("Take the example", icon=":material/hotel:"):
            keep_texts(PRETRAIN, Kind.PARALLEL, _example())
            st.rerun()
    if parallel is not None:
        _draw_parallel(parallel)
    return parallel


def draw_other_texts() -> dict[Kind, Read]:
    """Take what else a dual encoder learns from."""
    with st.expander("More to train on (optional)", icon=":material/library_add:"):
        for kind in OTHERS:
            draw_box(PRETRAIN, kind)
        found = {kind: read for kind in OTHERS if (read := texts_of(PRETRAIN, kind)) is not None}
        _draw_others(found)
        if found and st.button("Leave these out", icon=":material/close:"):
            for kind in OTHERS:
                keep_texts(PRETRAIN, kind, None)
            st.rerun()
    return found


@st.cache_resource(show_spinner="Reading the demo set ...")
def _example() -> Read:
    """Return the demo set as parallel text."""
    return Read("example", "Example: the demo set's translations", tuple(labelled_pairs(load_demo())))


def _draw_parallel(read: Read) -> None:
    """Draw how many pairs of which languages there are, and the first of each."""
    st.markdown(f"**{literal(read.title, 100)}**")
    table = pd.DataFrame(
        [
            {
                "Languages": " and ".join(map(language_name, text.languages)),
                "Pairs": len(text),
                "Documents": len(text.documents) or None,
                "File": text.name,
            }
            for text in read.parallel
        ]
    ).dropna(axis="columns", how="all")
    st.dataframe(
        table,
        hide_index=True,
        column_config={"Pairs": st.column_config.NumberColumn(format="localized")},
        key="pretrain-pairs",
    )
    draw_notes(read)
    if (smallest := min(map(len, read.parallel))) < SMALL:
        draw_note(
            f"{counted(smallest, 'pair')} is little: what is learnt will hold for sentences much like these. "
            "Tens of thousands make an encoder of use."
        )
    with st.expander("The first rows", icon=":material/table_rows:"):
        for text in read.parallel:
            names = [language_name(code) for code in text.languages]
            rows = list(zip(text.first, text.second, strict=True))[:EXAMPLES]
            st.dataframe(pd.DataFrame(rows, columns=names), hide_index=True)


def _draw_others(reads: dict[Kind, Read]) -> None:
    """Draw a line for each other text."""
    for read in reads.values():
        for text in read.texts:
            if not isinstance(text, ParallelText):
                st.markdown(f"{_line(text)}: {literal(text.name, 80)}")
        draw_notes(read)


def _line(text: Dialogues | RunningText | Nli) -> str:
    language = literal(language_name(text.language))
    match text:
        case Dialogues():
            return f"{counted(len(text), 'comment')} with responses in {language}"
        case RunningText():
            return f"{counted(len(text.documents), 'document')} of running text in {language}"
        case Nli():
            return f"{counted(len(text), 'inference pair')} ({', '.join(LABELS)}) in {language}"


@dataclass(frozen=True, eq=False)
class Source:
    """Texts to choose a pair of languages from."""

    key: str  # tells them from every other's
    read: tuple[ParallelText, ...]  # the texts as read
    texts: tuple[ParallelText, ...]  # these, and those that two of them give through a third language


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of two languages."""

    key: str  # stands for them, in all sessions
    text: ParallelText  # the pairs, the first language asking

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
    chosen = choose("Parallel text", list(offered), f"translations-text-{'|'.join(offered)}")
    found = offered[chosen]
    return _of_read(found.key, found) if isinstance(found, Read) else _of_data(found.sha256, found)


def choose_pairs(source: Source, languages: Sequence[str]) -> Pairs:
    """Ask for two languages, and which of them asks; a pair of `languages`, if these are known, comes first."""
    texts = source.texts
    fitting = next((at for at, text in enumerate(texts) if set(text.languages) <= set(languages)), 0)
    which, whose = st.columns([3, 2])
    at = choose(
        "Languages",
        range(len(texts)),
        f"translations-pair-{source.key}-{'-'.join(languages)}",
        place=which,
        index=fitting,
        format_func=lambda at: (
            f"{' and '.join(map(language_name, texts[at].languages))}: {counted(len(texts[at]), 'pair')}"
        ),
    )
    text = texts[at]
    asking = choose_one(
        "Sentences are looked up in",
        text.languages,
        f"translations-asking-{source.key}-{at}",
        place=whose,
        format_func=language_name,
        help="And found in the other language.",
    )
    key = f"{source.key}:{at}"
    sampled = _sampled_pairs(key, text)
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
def _sampled_pairs(key: str, _text: ParallelText) -> ParallelText:
    if len(_text) <= MOST:
        return _text
    return _text.take(np.sort(np.random.default_rng(0).permutation(len(_text))[:MOST]))
