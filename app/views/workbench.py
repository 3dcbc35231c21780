"""The workbench: two encoders on the same sentences, as maps and in figures."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from emu_app.panels.context import Context, context
from emu_app.panels.maps import FIRST_POINTS, MAX_DRAWN_POINTS, sample
from emu_app.shell.address import draw_link
from emu_app.shell.widgets import ADDRESSED, draw_note
from emu_app.shell.wording import literal, sentence
from emu_app.work.background import Done
from emu_app.work.cache import encoded, outcome_of, wait_anew
from emu_app.work.vectors import weights_of
from emu_app.workbench.drawer import draw_drawer, languages_key
from emu_app.workbench.first_screen import draw_first_screen
from emu_app.workbench.inspector import draw_inspector
from emu_app.workbench.maps import draw_space
from emu_app.workbench.subject import Space, Subject
from emu_core.api.compare import choose_rows, splits_of, training_notes
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.errors import DataError
from emu_core.evaluation.comparison import Comparison


def page() -> None:
    """Draw the headline with the languages, the maps with their inspector, and the drawer."""
    now = context()
    space = _space(now)
    if space is None:
        return
    subject = None
    with st.container(key="verdict"):
        if len(space.specs) == 2:
            subject = _measure(space, now)
        else:
            alone = "There is no encoder B to compare with"
            missing = "A and B are the same encoder" if now.a == now.b else alone
            draw_note(f"{missing}: train a run on these data, or choose one above.")
            draw_link("views/train.py", "Train a run", ":material/model_training:")
        if subject is not None and subject.is_measured:
            draw_first_screen(space.points, subject, now)
    st.fragment(_draw_maps)(space, now)
    if subject is not None or len(space.specs) == 1:
        draw_drawer(space, subject, now)


def _draw_maps(space: Space, now: Context) -> None:
    wait_anew()
    with st.container(key="space"):
        settings = st.container(key="map-settings", horizontal=True, vertical_alignment="bottom", gap="small")
        middle, right = st.columns([2, 1], gap="small")
    with right:  # first, since the maps show what it predicts
        draw_inspector(space, now)
    draw_space(space, now, settings, middle)


def _space(now: Context) -> Space | None:
    """Return the sentences to draw with their vectors; None, with progress drawn, until they are there."""
    total, most = min(len(now.chosen.labelled), MAX_DRAWN_POINTS), FIRST_POINTS
    if total > FIRST_POINTS and st.toggle(
        f"Draw {total:,} sentences, which takes longer", key="explore-all", **ADDRESSED
    ):
        most = MAX_DRAWN_POINTS
    points = sample(now.chosen.labelled, most)
    vectors = encoded(now.specs, now.chosen.sha256, points["text"].tolist())
    return None if vectors is None else Space(now.specs, points, vectors)


def _measure(space: Space, now: Context) -> Subject | None:
    """Return A and B on the rows that the bar names; None, with the reason drawn, while they can't be measured."""
    languages = list(st.session_state.get(languages_key(now), []))
    try:
        part, notes = choose_rows(now.chosen.labelled, now.on, languages)
    except DataError as error:
        st.warning(sentence(error), icon=":material/filter_alt_off:")
        return None
    labelled = now.chosen.labelled
    measured = labelled.selected(languages=languages or None, splits=splits_of(labelled, now.on))
    seen = False
    for spec, rows, unknown in now.trained_rows:
        notes += training_notes(spec, rows[measured], unknown)
        seen = seen or bool(rows[measured].any())
    for note in dict.fromkeys([*notes, *now.reading_notes]):
        draw_note(literal(note))
    key = f"{now.chosen.sha256}:{now.on}:{','.join(languages)}"
    vectors = _vectors(space, key, part.frame["text"].tolist())
    if vectors is None:
        return None
    (base, other), (first, second) = vectors.values(), now.titles
    comparison = Comparison(part.frame, base, other, (first, second))
    weights = ":".join(map(weights_of, space.specs.values()))
    label = f"Finding the nearest neighbours of {counted(len(part), 'sentence')}"
    outcome = outcome_of(f"compare:{key}:{weights}", label, Comparison.computed, comparison)
    if outcome is None:
        return None
    if isinstance(outcome, Done):
        comparison.with_computed(outcome.value)
    return Subject(space.specs, key, comparison, isinstance(outcome, Done), seen)


def _vectors(space: Space, key: str, texts: list[str]) -> Mapping[str, FloatArray] | None:
    """Return the vectors of texts, taken from those of the maps if all texts are drawn."""
    row_of_text = {text: row for row, text in enumerate(space.points["text"])}
    if not all(text in row_of_text for text in texts):
        return encoded(space.specs, key, texts)
    rows = np.array([row_of_text[text] for text in texts])
    return {name: vectors[rows] for name, vectors in space.vectors.items()}


page()
