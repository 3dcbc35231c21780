"""The texts that an encoder is trained on from scratch: taken, and shown before anything is trained."""

import pandas as pd
import streamlit as st

from app.uploads.boxes import draw_box, draw_notes, keep_texts, texts_of
from app.uploads.texts import Kind, Read
from app.wording import literal
from emu_core.data.languages import language_name
from emu_core.data.parallel.labelled import demo_pairs
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import LABELS, Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.data.wording import counted

PLACE = "pretrain"
OTHERS = (Kind.RUNNING, Kind.DIALOGUES, Kind.NLI)
EXAMPLES = 5
SMALL = 5_000  # pairs; with fewer an encoder finds translations of sentences like these at best


def draw_texts() -> Read | None:
    """Take parallel text, or the example, and draw what was read; the session has it on every page."""
    st.subheader("Parallel text")
    draw_box(PLACE, Kind.PARALLEL)
    parallel = texts_of(PLACE, Kind.PARALLEL)
    if parallel is None or parallel.key != "example":
        st.caption(
            "No files at hand? The demo set has 504 sentences in each of six languages: small, but quick."
        )
        if st.button("Take the example", icon=":material/hotel:"):
            keep_texts(PLACE, Kind.PARALLEL, _example())
            st.rerun()
    if parallel is not None:
        _draw_parallel(parallel)
    return parallel


def draw_other_texts() -> dict[Kind, Read]:
    """Take what else a dual encoder learns from."""
    with st.expander("More to train on (optional)", icon=":material/library_add:"):
        for kind in OTHERS:
            draw_box(PLACE, kind)
        found = {kind: read for kind in OTHERS if (read := texts_of(PLACE, kind)) is not None}
        _draw_others(found)
        if found and st.button("Leave these out", icon=":material/close:"):
            for kind in OTHERS:
                keep_texts(PLACE, kind, None)
            st.rerun()
    return found


@st.cache_resource(show_spinner="Reading the demo set ...")
def _example() -> Read:
    """Return the demo set as parallel text."""
    return Read("example", "Example: the demo set's translations", tuple(demo_pairs()))


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
        st.info(
            f"{counted(smallest, 'pair')} is little: what is learnt will hold for sentences much like these. "
            "Tens of thousands make an encoder of use.",
            icon=":material/info:",
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
