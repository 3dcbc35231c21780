"""The inspector: a typed or picked sentence with its predictions and neighbours by each encoder."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from emu_app.panels.context import Context
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import ADDRESSED, KEPT
from emu_app.shell.wording import literal
from emu_app.work.tasks import Answer
from emu_app.workbench.languages import ask, nearest_translated, row_of, translated
from emu_app.workbench.maps import (
    ANSWERS,
    ASKED,
    TRIED,
    WITHOUT_TRANSLATIONS,
    draw_picked,
    inspected,
    neighbours_of,
    pick,
    picked,
)
from emu_app.workbench.predict import answers, draw_answer, draw_neighbours
from emu_app.workbench.subject import Space, Subject
from emu_core.charts.style import short
from emu_core.data.cleaning import cleaned
from emu_core.data.languages import language_name
from emu_core.reports.asked import asked_sentence, asked_table

ASKS = "ask-languages"  # the key of the toggle, and its parameter of the address
_ABOUT_LANGUAGES = (
    "Asks the set's own translations of this sentence, the rows with its id; nothing is translated by machine. Each "
    "finds the sentence on the maps that is nearest to it, and never one of its translations. It is right if that has "
    "the same intent."
)


def draw_inspector(space: Space, subject: Subject | None, now: Context) -> None:
    """Ask for a sentence and draw it, or the one picked on the maps."""
    label, example = "Try a sentence", "In any language"
    if typed := cleaned(st.text_input(label, placeholder=example, max_chars=1_000, key=TRIED, **ADDRESSED)):
        languages = st.container(key="in-other-languages")
        answers_by_encoder = answers(now, [typed], space.specs) or {}
        st.session_state[ANSWERS] = answers_by_encoder
        with languages:
            _draw_languages(row_of(space, now.chosen, typed), space, now, answers_by_encoder)
        for name, answer in answers_by_encoder.items():
            draw_answer(space.titles[name], answer.table.iloc[0], answer.facts, f"nearest-{name}")
        return
    st.session_state[ASKED] = None
    draw_picked(subject, now)
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
    _draw_languages(int(sentence["row"]), space, now, {})
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


def _draw_languages(
    row: int | None, space: Space, now: Context, answers_by_encoder: Mapping[str, Answer]
) -> None:
    """Offer to ask a sentence in the other languages of the set, where it is known in them, and draw what is found."""
    st.session_state[ASKED] = None
    has_translations = translated(now.chosen)
    if not has_translations.any():
        return
    if row is None or not has_translations[row]:
        known = nearest_translated(space, now.chosen, answers_by_encoder) if answers_by_encoder else None
        if row is None:
            st.caption("The set has no translations of this sentence, and Emu translates nothing itself.")
        else:
            st.caption("The set has this sentence in one language only.")
        if known is not None:
            st.button(
                f"Ask in the other languages: {literal(short(now.chosen.labelled.frame['text'].iloc[known], 60))}",
                icon=":material/translate:",
                help="The nearest sentence, by the last encoder, of which the set has translations.",
                on_click=_ask_known,
                args=(now.chosen.sha256, known),
                width="stretch",
            )
        return
    if not st.toggle("Ask it in the other languages", key=ASKS, help=_ABOUT_LANGUAGES, **ADDRESSED):
        return
    st.session_state[ASKED] = asked = ask(space, now.chosen, row)
    if asked is None:
        return
    names = list(space.specs)
    st.markdown(f"**{literal(asked_sentence(asked.table, names))}**")
    st.html(asked_table(asked.table, names))
    st.caption(
        "On the maps, each is a diamond if it is right and a cross if not, with a line to what it finds."
    )


def _ask_known(data_sha: str, row: int) -> None:
    st.session_state[TRIED], st.session_state[ASKS] = "", True
    pick(data_sha, [row])
