"""The inspector: a typed or picked sentence with its predictions and neighbours by each encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from emu_app.panels.context import Context
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import ADDRESSED, KEPT, draw_note, roomy_columns
from emu_app.shell.wording import literal
from emu_app.work.tasks import Answer
from emu_app.workbench.languages import (
    Asked,
    ask,
    groups_of,
    nearest_translated,
    repeats_of,
    row_of,
    translated,
)
from emu_app.workbench.morphing import plays_in
from emu_app.workbench.picked import draw_picked, inspected, pick, picked
from emu_app.workbench.predict import answers, draw_answer, draw_neighbours, titled
from emu_app.workbench.subject import Space, Subject, computed_once
from emu_core.charts.style import short
from emu_core.data.cleaning import cleaned
from emu_core.data.languages import language_name
from emu_core.data.repeats import sentence_groups
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.retrieval import nearest
from emu_core.reports.asked import asked_sentence, asked_table

PICKED_NEIGHBOURS, TYPED_NEIGHBOURS = 10, 5
# The widgets that a button sets, too; their keys are the parameters of the address.
_TRIED, _ASKS = Remembered("try-sentence", ""), Remembered("ask-languages", False)
_ABOUT_LANGUAGES = (
    "Asks the set's own translations of this sentence, the rows with its id; nothing is translated by machine. Each "
    "finds the sentence on the maps that is nearest to it, and never one of its translations. It is right if that has "
    "the same intent."
)


@dataclass(frozen=True, eq=False)
class Found:
    """The K sentences on the maps that are nearest to a sentence by one encoder."""

    point: int | None  # the number of that sentence on the maps; None of a typed one
    vector: FloatArray  # its own, (1, dim)
    near: NDArray[np.int64]  # their numbers on the maps, (K,)
    cosines: NDArray[np.float32]  # (K,)
    intent: str  # of the right ones


@dataclass(frozen=True, eq=False)
class Inspection:
    """The picked rows, and the sentence that the inspector shows with its neighbours and predictions."""

    picked: tuple[int, ...]  # rows of the set
    row: int | None  # the one of them that is selected, or the only one
    is_typed: bool
    found: Mapping[
        str, Found
    ]  # by the encoder's name; none while no sentence is shown, or it is not answered yet
    asked: Asked | None  # the sentence in all of its languages; None if it isn't asked in them


def show_sentence(text: str, data_sha: str, rows: Sequence[int]) -> None:
    """Type a sentence into the inspector, "" for none, and pick these rows of a set: in a callback."""
    _TRIED.set(text)
    pick(data_sha, rows)


def ask_sentence() -> str:
    """Ask for a sentence to try; return it, or "" while there is none."""
    label, example, key = "Try a sentence", "In any language", _TRIED.key
    return cleaned(st.text_input(label, placeholder=example, max_chars=1_000, key=key, **ADDRESSED))


def draw_inspector(typed: str, space: Space, subject: Subject | None, now: Context) -> Inspection:
    """Draw a typed sentence, or the one picked on the maps: what A says of it on the left, as on the maps, and B."""
    rows = picked(now.chosen.sha256)
    row = inspected(now.chosen.sha256, rows)
    if typed:
        return Inspection(rows, row, True, *_draw_typed(typed, space, now))
    draw_picked(rows, subject, now)
    if len(places := np.flatnonzero(space.points["row"].to_numpy() == row)):
        return Inspection(rows, row, False, *_draw_point(int(places[0]), space, now))
    if rows:
        st.caption("Select a row for its nearest neighbours.")
    elif not plays_in(space):  # no point of a map that turns can be picked
        st.caption("Click a point for its neighbours.")
    return Inspection(rows, row, False, {}, None)


def _draw_typed(typed: str, space: Space, now: Context) -> tuple[dict[str, Found], Asked | None]:
    """Draw what each encoder predicts for a typed sentence; return what is near it on the maps."""
    languages = st.container(key="in-other-languages")
    by_encoder = answers(now, [typed], space.specs, with_vectors=True) or {}
    with languages:
        asked = _draw_languages(row_of(space, now.chosen, typed), space, now, by_encoder)
    if by_encoder:
        of_encoders = titled(space.titles, by_encoder)
        for column, (title, name, answer) in zip(_sides(len(of_encoders)), of_encoders, strict=True):
            with column:
                draw_answer(title, answer, f"nearest-{name}")
    if asked is not None:
        return {}, asked
    return {name: _near_typed(space, name, answer) for name, answer in by_encoder.items()}, None


def _draw_point(point: int, space: Space, now: Context) -> tuple[dict[str, Found], Asked | None]:
    """Draw a sentence on the maps with its nearest neighbours there, and return these."""
    sentence = space.points.iloc[point]
    st.markdown(f"**{literal(sentence['text'], 300)}**")
    st.caption(f"{literal(sentence['intent'], 60)}, {literal(language_name(sentence['language']))}")
    asked = _draw_languages(int(sentence["row"]), space, now, {})
    without = st.toggle(
        "Leave out its translations",
        value=True,
        key="explore-no-translations",
        help=help_on(Word.NEIGHBOUR),
        **KEPT,
    )
    by_encoder = _near_point(space, point, without_translations=without)
    for column, (name, found) in zip(_sides(len(by_encoder)), by_encoder.items(), strict=True):
        near = space.points.iloc[found.near]
        same = int((near["intent"] == found.intent).sum())
        table = near[["text", "intent", "language"]].assign(cosine=found.cosines)
        with column:
            st.markdown(f"{literal(space.titles[name])}: {same} of {len(near)} have the same intent")
            draw_neighbours(table, found.intent, f"neighbours-{name}")
    return by_encoder, asked


def _sides(count: int) -> list[Any]:
    """Return a column for each of the encoders, below its map."""
    return roomy_columns(count, 320, f"sides-{count}")


def _near_typed(space: Space, name: str, answer: Answer) -> Found:
    """Return what is near a typed sentence: right are those of the predicted intent or, without one, the nearest's."""

    def find() -> Found:
        # Never the sentence itself, as `tasks.without_repeats` has it.
        repeats = np.where(repeats_of(space, answer.table["text"].iloc[0]), "typed", "").tolist()
        everyone = np.concatenate([space.vectors[name], answer.vectors])
        near, cosines = _nearest(everyone, len(space.points), TYPED_NEIGHBOURS, [*repeats, "typed"])
        predicted, intents = answer.table["intent"].iloc[0], space.points["intent"].to_numpy()
        intent = predicted if predicted in intents else intents[near[0]]
        return Found(None, answer.vectors, near, cosines, intent)

    return computed_once(f"typed-{name}", (space, answer), find)


def _near_point(space: Space, point: int, *, without_translations: bool) -> dict[str, Found]:
    """Return what is near a sentence on the maps by each encoder, never a repeat of it."""

    def find() -> dict[str, Found]:
        points, intent = space.points, space.points["intent"].iloc[point]
        groups = groups_of(space) if without_translations else sentence_groups(points.assign(id=""))
        return {
            name: Found(point, vectors[[point]], *_nearest(vectors, point, PICKED_NEIGHBOURS, groups), intent)
            for name, vectors in space.vectors.items()
        }

    return computed_once("neighbours", (space, point, without_translations), find)


def _nearest(
    vectors: FloatArray, row: int, count: int, groups: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the numbers (K,) and cosines (K,) of at most `count` neighbours of a row of vectors (N, dim)."""
    neighbours = nearest(vectors, [row], count, groups)
    is_neighbour = neighbours.rows[0] >= 0
    return neighbours.rows[0][is_neighbour], neighbours.cosines[0][is_neighbour]


def _draw_languages(
    row: int | None, space: Space, now: Context, answers_by_encoder: Mapping[str, Answer]
) -> Asked | None:
    """Offer to ask a sentence in the other languages of the set, where it is known in them, and draw what is found."""
    has_translations = translated(now.chosen)
    if not has_translations.any():
        return None
    label, instead = "Ask it in the other languages", ""
    if row is None or not has_translations[row]:
        st.caption(
            "The set has no translations of this sentence, and Emu translates nothing itself."
            if row is None
            else "The set has this sentence in one language only."
        )
        row = nearest_translated(space, now.chosen, answers_by_encoder) if answers_by_encoder else None
        if row is None:
            return None
        instead = literal(short(now.chosen.labelled.frame["text"].iloc[row], 100))
        label = "Ask the nearest sentence that has translations"
    if not st.toggle(label, key=_ASKS.key, help=_ABOUT_LANGUAGES, **ADDRESSED):
        return None
    if instead:
        st.caption(f"Asked instead, as it is the nearest by the last encoder: **{instead}**")
    if (asked := ask(space, now.chosen, row)) is None:
        return None
    names = list(space.specs)
    if any(rows[list(asked.rows)].any() for _, rows, _ in now.trained_rows):
        draw_note(
            "An encoder was trained on this sentence or a translation of it; what is right here does not count."
        )
    else:
        st.markdown(f"**{literal(asked_sentence(asked.table, names))}**")
    st.html(asked_table(asked.table, names))
    st.caption(
        "On the maps, each is a diamond if it is right and a cross if not, with a line to what it finds."
    )
    return asked
