"""The inspector: a typed or picked sentence with its predictions and neighbours by each encoder."""

import numpy as np
import streamlit as st

from emu_app.panels.context import Context
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import ADDRESSED, KEPT
from emu_app.shell.wording import literal
from emu_app.workbench.maps import (
    ANSWERS,
    TRIED,
    WITHOUT_TRANSLATIONS,
    draw_picked,
    inspected,
    neighbours_of,
    picked,
)
from emu_app.workbench.predict import answers, draw_answer, draw_neighbours
from emu_app.workbench.subject import Space
from emu_core.data.cleaning import cleaned
from emu_core.data.languages import language_name


def draw_inspector(space: Space, now: Context) -> None:
    """Ask for a sentence and draw it, or the one picked on the maps."""
    label, example = "Try a sentence", "In any language"
    if typed := cleaned(st.text_input(label, placeholder=example, max_chars=1_000, key=TRIED, **ADDRESSED)):
        answers_by_encoder = answers(now, [typed], space.specs) or {}
        st.session_state[ANSWERS] = answers_by_encoder
        for name, answer in answers_by_encoder.items():
            draw_answer(space.titles[name], answer.table.iloc[0], answer.facts, f"nearest-{name}")
        return
    draw_picked(now)
    places = np.flatnonzero(space.points["row"].to_numpy() == inspected(now.chosen.sha256))
    if len(places):
        _draw_picked(int(places[0]), space, now)
        return
    if picked(now.chosen.sha256):
        st.caption("Select a row for its nearest neighbours.")
        return
    st.caption("Or click a point on a map, or draw around several with *Lasso*: they appear here.")


def _draw_picked(row: int, space: Space, now: Context) -> None:
    """Draw a picked sentence's nearest neighbours among the N points, by each encoder's vectors (N, dim)."""
    sentence = space.points.iloc[row]
    st.markdown(f"**{literal(sentence['text'], 300)}**")
    st.caption(f"{literal(sentence['intent'], 60)}, {literal(language_name(sentence['language']))}")
    st.toggle(
        "Leave out its translations",
        value=True,
        key=WITHOUT_TRANSLATIONS,
        help=help_on(Word.NEIGHBOUR),
        **KEPT,
    )
    for name, (rows, cosines) in neighbours_of(space, row).items():
        near = space.points.iloc[rows]
        same = int((near["intent"] == sentence["intent"]).sum())
        st.markdown(f"{literal(space.titles[name])}: {same} of {len(near)} have the same intent")
        table = near[["text", "intent", "language"]].assign(cosine=cosines)
        draw_neighbours(table, sentence["intent"], f"neighbours-{name}")
