"""What was read, as a person wants to see it before training on it."""

import pandas as pd
import streamlit as st

from app.pretraining.texts import Kind, Read
from app.pretraining.upload import draw_notes
from app.wording import literal
from emu_core.data.languages import language_name
from emu_core.data.parallel.text import ParallelText
from emu_core.data.texts.dialogues import Dialogues
from emu_core.data.texts.nli import LABELS, Nli
from emu_core.data.texts.running_text import RunningText
from emu_core.data.wording import counted

EXAMPLES = 5
SMALL = 5_000  # pairs; with fewer an encoder finds translations of sentences like these at best


def draw_parallel(read: Read) -> None:
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


def draw_others(reads: dict[Kind, Read]) -> None:
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
