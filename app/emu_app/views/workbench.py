"""The workbench: two encoders on the same sentences, as maps and in figures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.panels.context import Context, context
from emu_app.panels.maps import FIRST_POINTS, MAX_DRAWN_POINTS, sample
from emu_app.shell.address import choices_of_session, page_file, parameters
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import ADDRESSED, draw_note
from emu_app.shell.wording import literal, sentence
from emu_app.work import cache, tasks
from emu_app.work.background import Done
from emu_app.work.cache import Encoded, encoded_so_far, outcome_of, stored_vectors, wait_anew
from emu_app.work.vectors import weights_of
from emu_app.workbench.drawer import draw_drawer, languages_measured
from emu_app.workbench.first_screen import draw_alone, draw_first_screen, draw_trained
from emu_app.workbench.inspector import ask_sentence, draw_inspector
from emu_app.workbench.maps import HEIGHT_PX, draw_choices, draw_space
from emu_app.workbench.subject import Space, Subject
from emu_core.api.compare import (
    choose_rows,
    held_out_intents,
    splits_of,
    training_notes,
)
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.errors import DataError, EncoderError
from emu_core.evaluation.comparison import Comparison
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.intents import has_intents

# The tabs that were here once, and where they are on the page Try.
_MOVED = {
    "Predict": "Name intents",
    "Sentence triples": "Compare sentences",
    "Similarity": "Compare sentences",
}
# The space that was drawn last, and what tells its data and encoders from others.
_LAST = Remembered[tuple[tuple[str, ...], Space] | None]("last-space", None)


@dataclass(frozen=True)
class Choices:
    """The choices of the page: those of the bar, and its own."""

    now: Context
    languages: tuple[str, ...]  # that are measured; none for all
    most: int  # sentences to draw

    @cached_property
    def points(self) -> pd.DataFrame:
        """The sentences to draw; of a large set a sample, unless all are asked for."""
        return sample(self.now.chosen.labelled, self.most)

    @cached_property
    def is_measured(self) -> NDArray[np.bool_]:
        """Which rows of the data are measured, (N,). Raises DataError if there are none of a language."""
        labelled = self.now.chosen.labelled
        return labelled.selected(languages=self.languages or None, splits=splits_of(labelled, self.now.on))


def page() -> None:
    """Draw the headline with the languages, the maps with their inspector, and the drawer, each once it is known."""
    if (asked := choices_of_session()).get("tab") in _MOVED:
        moved = {"try": _MOVED[asked.pop("tab")]}
        st.switch_page(page_file("try"), query_params=parameters(**moved))
    # The maps stand alone in theirs: a fragment's own container has no key, and must not move when progress ends.
    places = ("verdict", "above-the-maps", "maps", "below-the-maps")
    first, above, maps, drawer = (st.container(key=place) for place in places)
    with above:
        choices = _choices()
    now = choices.now
    part, subject, errors = None, None, dict[str, EncoderError]()
    with first:
        if len(now.specs) == 1:
            draw_alone(choices.points, now)
        elif (part := _part(choices)) is not None:
            subject, errors = _draw_verdict(part, choices)
    is_awaited = part is not None and subject is None and not errors
    specs = {name: spec for name, spec in now.specs.items() if name not in errors}
    with above:
        space = _space(specs, choices, is_verdict_awaited=is_awaited)
    with maps:
        if space is not None:
            st.fragment(_draw_maps)(space, subject, now)
        elif specs:
            st.container(border=True, height=HEIGHT_PX, key="maps-to-come").caption("The maps appear here.")
    with drawer:
        if subject is not None or len(now.specs) == 1:
            draw_drawer(space, subject, now)


def _draw_maps(space: Space, subject: Subject | None, now: Context) -> None:
    wait_anew()
    with st.container(key="space"):
        settings = st.container(key="map-settings", horizontal=True, vertical_alignment="bottom", gap="small")
        places, below = st.container(key="maps-of-space"), st.container(key="inspector")
    with settings:
        choices = draw_choices(space, now)
        typed = ask_sentence()
    with below:
        inspection = draw_inspector(typed, space, subject, now)
    with places:
        draw_space(space, subject, now, choices, inspection)


def _choices() -> Choices:
    """Return what is chosen, and ask whether all sentences of a large set are drawn."""
    now = context()
    total, most = min(len(now.chosen.labelled), MAX_DRAWN_POINTS), FIRST_POINTS
    if total > FIRST_POINTS and st.toggle(
        f"Draw {total:,} sentences, which takes longer", key="explore-all", **ADDRESSED
    ):
        most = MAX_DRAWN_POINTS
    return Choices(now, tuple(languages_measured(now).get()), most)


def _space(specs: Mapping[str, str], choices: Choices, *, is_verdict_awaited: bool) -> Space | None:
    """Return the sentences to draw with the vectors that are there; None, with progress drawn, if there are none.

    While more sentences of the same data are encoded, it is the space that was drawn last. Nothing is encoded for the
    maps before the verdict is there.
    """
    now, points = choices.now, choices.points
    sha, texts = now.chosen.sha256, points["text"].tolist()
    if is_verdict_awaited:
        encoded = Encoded(stored_vectors(specs, sha, texts), {})
    else:
        encoded = encoded_so_far(specs, sha, texts)
        encoded.draw()
    identity = (sha, *specs, *map(weights_of, specs.values()))
    last = _LAST.get()
    if last is not None and last[0] == identity and len(encoded.vectors) < len(last[1].vectors):
        return last[1]
    if not encoded.vectors:
        return None
    titles = dict(zip(now.specs, now.titles, strict=True))
    drawn = {name: spec for name, spec in specs.items() if name in encoded.vectors}
    space = Space(drawn, {name: titles[name] for name in drawn}, points, encoded.vectors)
    _LAST.set((identity, space))
    return space


def _part(choices: Choices) -> LabelledSet | None:
    """Return the rows that the bar names, with notes on them drawn; None, with the reason drawn, if there are none."""
    now = choices.now
    try:
        part, notes = choose_rows(now.chosen.labelled, now.on, choices.languages)
    except DataError as error:
        st.warning(sentence(error), icon=":material/filter_alt_off:")
        return None
    for spec, rows, unknown in now.trained_rows:
        notes += training_notes(spec, rows[choices.is_measured], unknown)
    for note in dict.fromkeys([*notes, *now.reading_notes]):
        draw_note(literal(note))
    return part


def _draw_verdict(part: LabelledSet, choices: Choices) -> tuple[Subject | None, dict[str, EncoderError]]:
    """Draw the first screen; return A and B on the measured rows once they are compared, and errors of encoders.

    Until then it shows what is known before anything is encoded.
    """
    now, points = choices.now, choices.points
    screen = st.container()  # above the progress
    encoded = _encoded(part, points, now)
    encoded.draw()
    is_whole = len(encoded.vectors) == len(now.specs)
    subject = _compared(part, encoded.vectors, choices) if is_whole else None
    with screen:
        if subject is None or not subject.is_measured:
            draw_trained(part, now, is_awaited=subject is None and not encoded.errors)
        else:
            draw_first_screen(points, subject, now)
    return subject, encoded.errors


def _encoded(part: LabelledSet, points: pd.DataFrame, now: Context) -> Encoded:
    """Return the vectors of the measured sentences, taken from those of the maps if all of them are drawn."""
    texts, drawn = part.frame["text"].tolist(), points["text"].tolist()
    row_of_text = {text: row for row, text in enumerate(drawn)}
    known = {}
    if all(text in row_of_text for text in texts):
        rows = np.array([row_of_text[text] for text in texts])
        stored = stored_vectors(now.specs, now.chosen.sha256, drawn)
        known = {name: vectors[rows] for name, vectors in stored.items()}
    others = {name: spec for name, spec in now.specs.items() if name not in known}
    encoded = encoded_so_far(others, now.chosen.sha256, texts)
    known |= encoded.vectors
    return replace(encoded, vectors={name: known[name] for name in now.specs if name in known})


def _compared(part: LabelledSet, vectors: Mapping[str, FloatArray], choices: Choices) -> Subject | None:
    """Return A and B on the measured rows; None, with progress drawn, until they are compared."""
    now = choices.now
    (base, other), (first, second) = vectors.values(), now.titles
    key = f"{now.chosen.sha256}:{now.on}:{','.join(choices.languages)}"
    weights = ":".join(map(weights_of, now.specs.values()))
    run = now.run if now.is_before_and_after else None
    intents = None if run is None else held_out_intents(run, now.chosen.labelled, now.on, part.languages)
    if intents is None and any(map(has_intents, now.runs)):
        label = f"Naming the intents of {counted(len(part), 'sentence')}"
        asked = outcome_of(f"intents:{key}:{weights}", label, tasks.right_intents, now.specs, part, vectors)
        if asked is None:
            return None
        intents = asked.value if isinstance(asked, Done) else None
    comparison = Comparison(
        part.frame,
        base,
        other,
        (first, second),
        None if run is None else read_forgetting(run),
        intents=intents,
        trained=None if run is None else run.metrics().trained,
    )
    label = f"Finding the nearest neighbours of {counted(len(part), 'sentence')}"
    outcome = outcome_of(
        f"compare:{key}:{weights}",
        label,
        Comparison.computed,
        comparison,
        worker=cache.mapper(),  # which needs no torch
        after_drawing=True,
    )
    if outcome is None:
        return None
    if isinstance(outcome, Done):
        comparison.with_computed(outcome.value)
    seen = any(bool(rows[choices.is_measured].any()) for _, rows, _ in now.trained_rows)
    return Subject(now.specs, key, comparison, isinstance(outcome, Done), seen)


page()
