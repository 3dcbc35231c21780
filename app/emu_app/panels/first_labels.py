"""The way in for sentences without labels: label the first few of an upload, and go on with suggestions."""

import numpy as np
import streamlit as st

from emu_app.data import library, tables
from emu_app.data.library import ChosenData
from emu_app.data.tables import Upload
from emu_app.panels.labelling import LABELLING
from emu_app.shell.address import keep
from emu_app.shell.widgets import errors_shown
from emu_core.data.cleaning import stripped
from emu_core.data.intent_names import rarer_spellings
from emu_core.data.reading import ColumnMapping
from emu_core.data.repeats import repeat_keys
from emu_core.data.wording import counted

SHOWN = 15  # sentences to choose from


def draw_first_labels(upload: Upload, mapping: ColumnMapping, language: str | None) -> bool:
    """Ask for the intents of some sentences of an upload that has no column of intents.

    Args:
        upload: the upload.
        mapping: its columns; the one of sentences is known.
        language: that of sentences for which no column and no name states one.

    Returns:
        Whether a set was made of them; the tab that suggests what to label next is then the one to open.
    """
    st.header("No labels? Label these")
    st.markdown(
        "Write the intent beside a few sentences, of two intents or more. Emu then suggests which to label next, and "
        "guesses their intents."
    )
    with errors_shown():
        rows = tables.rows_from_upload(upload, mapping, language, ("text", "language"))[0]
        sentences = rows[(stripped(rows["text"]) != "") & ~repeat_keys(rows).duplicated()]
        chosen = sentences.iloc[np.unique(np.linspace(0, len(sentences) - 1, SHOWN).round().astype(int))]
        table = chosen[["intent", "text", "language"]].assign(intent="")
        edited = st.data_editor(
            table,
            hide_index=True,
            disabled=["text", "language"],
            key=f"first-labels-{upload.key}",
            column_config={
                "intent": st.column_config.TextColumn("Intent", max_chars=200),
                "text": st.column_config.TextColumn("Sentence", width="large"),
                "language": st.column_config.TextColumn("Language", width="small"),
            },
        )
        given = stripped(edited["intent"].astype("str").fillna(""))
        given = given[given != ""].replace(rarer_spellings(given))
        pressed = st.button(
            f"Start with {counted(len(given), 'label')}",
            type="primary",
            icon=":material/new_label:",
            disabled=given.nunique() < 2,
            help="The other sentences wait for a label.",
        )
        if not pressed:
            return False
        rows.loc[given.index, "intent"] = given
        labelled, audit = tables.audited(rows, upload.title, 0, 0, upload.notes)
        library.add(ChosenData(labelled, audit, ""), rows)
        keep("part", LABELLING)
        return True
    return False
