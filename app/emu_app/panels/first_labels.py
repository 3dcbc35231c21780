"""The way in for sentences without labels: intents by their names, the first labels, and on to suggestions."""

from hashlib import sha256

import numpy as np
import pandas as pd
import streamlit as st

from emu_app.data import library, tables
from emu_app.data.library import ChosenData
from emu_app.data.tables import Upload
from emu_app.panels.labelling import LABELLING
from emu_app.panels.maps import draw_progress, laid_out, theme
from emu_app.shell.address import keep
from emu_app.shell.widgets import KEPT, draw_chart, draw_csv_button, draw_note, errors_shown
from emu_app.work.cache import computed
from emu_app.work.tasks import started
from emu_core.api.start import Started
from emu_core.charts.scatter import sentence_maps
from emu_core.data.cleaning import stripped
from emu_core.data.intent_names import rarer_spellings
from emu_core.data.languages import UNDETERMINED
from emu_core.data.reading import ColumnMapping
from emu_core.data.repeats import repeat_keys
from emu_core.data.wording import counted
from emu_core.evaluation.projection import Projection
from emu_core.formats.descriptions import intents_of_lines
from emu_core.formats.lines import lines_of

SHOWN = 15  # sentences to choose from
MOST_STARTED = 2_000  # sentences whose intents are named by these: so many take half a minute
MOST_TYPED = 100_000  # characters


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
    with errors_shown():
        rows = tables.rows_from_upload(upload, mapping, language, ("text", "language"))[0]
        sentences = rows[(stripped(rows["text"]) != "") & ~repeat_keys(rows).duplicated()]
        named = _draw_names(upload, sentences)
        if named is None:
            st.markdown(
                "Write the intent beside a few sentences, of two intents or more. Emu then suggests which to label "
                "next, and guesses their intents."
            )
            chosen = _spaced(sentences, SHOWN)
            table = chosen[["intent", "text", "language"]].assign(intent="")
        else:
            st.markdown(
                "Emu is least sure of these. Correct the intents beside them, and empty those that you don't know."
            )
            table = named.next[["intent", "text", "language"]]
        edited = st.data_editor(
            table,
            hide_index=True,
            disabled=["text", "language"],
            key=f"first-labels-{upload.key}-{sha256(table.to_csv().encode()).hexdigest()[:12]}",
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
        if named is not None:
            _draw_started(upload.key, named)
        if not pressed:
            return False
        rows.loc[given.index, "intent"] = given
        labelled, audit = tables.audited(rows, upload.title, 0, 0, upload.notes)
        library.add(ChosenData(labelled, audit, ""), rows)
        keep("part", LABELLING)
        return True
    return False


def _spaced(sentences: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return so many of the rows, evenly spaced, or all."""
    rows: pd.DataFrame = sentences.iloc[
        np.unique(np.linspace(0, len(sentences) - 1, count).round().astype(int))
    ]
    return rows


def _draw_names(upload: Upload, sentences: pd.DataFrame) -> Started | None:
    """Ask for the names of intents; return what they say of the sentences, with the index of these, or None so far.

    Raises:
        DataError: the names can't be read.
    """
    typed = st.text_area(
        "Names of the intents (optional)",
        key=f"names-{upload.key}",
        placeholder="swimming_pool\ntaxi: order a taxi",
        max_chars=MOST_TYPED,
        help="One a line, with a description if a name says little. Emu then names the intents of the sentences by "
        "these, and finds the ones to label first.",
        **KEPT,
    )
    intents = intents_of_lines(lines_of(typed), fewest=0)
    if len(intents) < 2:
        return None
    asked = _spaced(sentences, MOST_STARTED)
    if len(asked) < len(sentences):
        draw_note(
            f"Of {len(sentences):,} sentences, {len(asked):,} are named here; `emu start` names them all."
        )
    key = sha256(repr((upload.key, list(asked.index), intents)).encode()).hexdigest()
    of_text = asked[["text", "language"]].reset_index(drop=True)
    named: Started | None = computed(f"start:{key}", "Naming intents ...", started, intents, of_text)
    return None if named is None else named.at(asked.index)


def _draw_started(key: str, named: Started) -> None:
    """Draw the map of the sentences, a PCA at once and t-SNE after, and offer their intents."""
    points = named.predictions.assign(row=np.arange(len(named.predictions)))
    points["language"] = points["language"].replace("", UNDETERMINED)
    points = points.iloc[named.drawn].reset_index(drop=True)
    drawn = sha256(named.drawn.tobytes()).hexdigest()
    maps = laid_out(
        {named.encoder: named.vectors[named.drawn]},
        {named.encoder: f"start-map:{key}:{drawn}"},
        Projection.TSNE,
    )
    draw_progress(maps, "start-map")
    panels = {name: layout.places for name, layout in maps.items()}
    alt = f"Map of {counted(len(points), 'sentence')}, coloured by the intents that their names suggest."
    draw_chart(sentence_maps(panels, points, "intent", theme=theme()), "start-map", alt, zooms=True)
    draw_csv_button(named.predictions, "emu-start.csv")
