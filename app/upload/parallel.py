"""Parallel text: uploaded and shown before training, and the choice of pairs on the Translations page."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.library import ChosenData, chosen_data
from app.panels.run_table import mean_p_at_1
from app.panels.widgets import choose, choose_one, draw_note
from app.state import is_from_scratch
from app.upload.text_files import Kind, Read
from app.upload.texts import draw_box, draw_notes, keep_texts, texts_of
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
SMALL = 5_000  # pairs; fewer make an encoder for similar sentences only
PLACE, PRETRAIN = "translations", "pretrain"
MOST = 5_000  # pairs; each sentence is compared with all sentences of the other language


def draw_texts() -> Read | None:
    """Ask for parallel text or the example and draw it; the session keeps it on every page."""
    st.subheader("Parallel text")
    draw_box(PRETRAIN, Kind.PARALLEL)
    parallel = texts_of(PRETRAIN, Kind.PARALLEL)
    if parallel is None or parallel.key != "example":
        st.caption(
            "No files at hand? The demo set has 504 sentences in each of six languages: small, but fast."
        )
        if st.button("Take the example", icon=":material/hotel:"):
            keep_texts(PRETRAIN, Kind.PARALLEL, _example())
            st.rerun()
    if parallel is not None:
        _draw_parallel(parallel)
    return parallel


def draw_other_texts() -> dict[Kind, Read]:
    """Ask for the other kinds of text that a dual encoder can learn from."""
    with st.expander("More to train on (optional)", icon=":material/library_add:"):
        for kind in OTHERS:
            draw_box(PRETRAIN, kind)
        found = {kind: read for kind in OTHERS if (read := texts_of(PRETRAIN, kind)) is not None}
        for read in found.values():
            for text in read.texts:
                if not isinstance(text, ParallelText):
                    st.markdown(f"{_line(text)}: {literal(text.name, 80)}")
            draw_notes(read)
        if found and st.button("Leave these out", icon=":material/close:"):
            for kind in OTHERS:
                keep_texts(PRETRAIN, kind, None)
            st.rerun()
    return found


@st.cache_resource(show_spinner="Reading the demo set ...")
def _example() -> Read:
    return Read("example", "Example: the demo set's translations", tuple(labelled_pairs(load_demo())))


def _draw_parallel(read: Read) -> None:
    """Draw the number of pairs of each two languages, and the first rows."""
    st.markdown(f"**{literal(read.title, 100)}**")
    rows = [
        (" and ".join(map(language_name, text.languages)), len(text), len(text.documents) or None, text.name)
        for text in read.parallel
    ]
    table = pd.DataFrame(rows, columns=["Languages", "Pairs", "Documents", "File"])
    pairs = {"Pairs": st.column_config.NumberColumn(format="localized")}
    table = table.dropna(axis="columns", how="all")
    st.dataframe(table, hide_index=True, column_config=pairs, key="pretrain-pairs")
    draw_notes(read)
    if (smallest := min(map(len, read.parallel))) < SMALL:
        draw_note(
            f"Only {counted(smallest, 'pair')}: the encoder will only work for very similar sentences. A useful one "
            "takes tens of thousands."
        )
    with st.expander("The first rows", icon=":material/table_rows:"):
        for text in read.parallel:
            names = [language_name(code) for code in text.languages]
            first = list(zip(text.first, text.second, strict=True))[:EXAMPLES]
            st.dataframe(pd.DataFrame(first, columns=names), hide_index=True)


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
    """Texts to choose two languages from."""

    key: str  # identifies them
    read: tuple[ParallelText, ...]  # the texts as read

    @property
    def texts(self) -> tuple[ParallelText, ...]:
        """The texts, and those that two of them make through a third language."""
        return _with_joined(self.key, self.read)


@st.cache_resource(max_entries=16, show_spinner=False)
def _with_joined(key: str, _read: tuple[ParallelText, ...]) -> tuple[ParallelText, ...]:
    return (*_read, *joined_by_pivot(_read))


@dataclass(frozen=True, eq=False)
class Pairs:
    """N pairs of two languages."""

    key: str  # identifies them in all sessions
    text: ParallelText  # the pairs; the first language has the queries

    @property
    def sentences(self) -> list[str]:
        """The 2N sentences, those of the first language first."""
        return [*self.text.first, *self.text.second]


def choose_source() -> Source | None:
    """Ask for parallel text; None, with what to do, while there is none."""
    own, pretrained = texts_of(PLACE, Kind.PARALLEL), texts_of(PRETRAIN, Kind.PARALLEL)
    data = chosen_data()
    offered: dict[str, Source] = {}
    if own is not None:
        offered[f"Uploaded here: {own.title}"] = Source(own.key, own.parallel)
    if pretrained is not None:
        offered[f"On the Pretrain page: {pretrained.title}"] = Source(pretrained.key, pretrained.parallel)
    if of_data := _of_data(data.sha256, data):
        offered[f"Loaded data: {data.title}"] = Source(data.sha256[:16], of_data)
    with st.expander("Upload parallel text", expanded=not offered, icon=":material/upload_file:"):
        draw_box(PLACE, Kind.PARALLEL)
        if own is not None:
            draw_notes(own)
    if not offered:
        draw_note("Upload parallel text, or choose data whose translations share an id.")
        return None
    return offered[choose("Parallel text", list(offered), f"translations-text-{'|'.join(offered)}")]


def choose_pairs(source: Source, languages: Sequence[str]) -> Pairs:
    """Ask for two languages and the direction; a pair of `languages`, if these are known, comes first."""
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
        "Queries in",
        text.languages,
        f"translations-asking-{source.key}-{at}",
        place=whose,
        format_func=language_name,
        help="Their translations are looked for in the other language.",
    )
    key = f"{source.key}:{at}"
    sampled = _sampled_pairs(key, text)
    if len(sampled) < len(text):
        draw_note(f"{MOST:,} of {counted(len(text), 'pair')} are used, drawn at random.")
    return Pairs(f"{key}:{asking}", sampled if asking == text.source else sampled.turned())


def say_trained_on(run: Run | None, source: Source) -> None:
    """Say so if a run was trained on these very texts."""
    if run is None or not is_from_scratch(run):
        return
    try:
        facts, reached, seed = run.data(), mean_p_at_1(run.metrics()), run.config().seed
    except RunError:
        return
    if facts.get("sha256") == _trained_digest(source.key, seed, source):
        on_them = "" if reached is None else f", on which its mean P@1 was {reached:.1f} %"
        draw_note(
            "The run was trained on this text, except for the pairs that it held out"
            f"{on_them}. Translations are found more easily here than in new text."
        )


@st.cache_resource(max_entries=8, show_spinner="Looking for translations ...")
def _of_data(sha256: str, _chosen: ChosenData) -> tuple[ParallelText, ...]:
    return tuple(labelled_pairs(_chosen.labelled))


@st.cache_data(max_entries=16, show_spinner=False)
def _trained_digest(key: str, seed: int, _source: Source) -> str:
    """Return the checksum of what a run with this seed is trained on; "" if nothing can be held out."""
    try:
        return texts_digest(hold_out(_source.read, usual_count(_source.read), seed)[0])
    except DataError:
        return ""


@st.cache_resource(max_entries=16, show_spinner=False)
def _sampled_pairs(key: str, _text: ParallelText) -> ParallelText:
    if len(_text) <= MOST:
        return _text
    return _text.take(np.sort(np.random.default_rng(0).permutation(len(_text))[:MOST]))
