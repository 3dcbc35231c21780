"""A sentence of the set asked in every language that the set has it in, by both encoders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.data.library import ChosenData
from emu_app.panels import maps
from emu_app.work.cache import encoded
from emu_app.work.tasks import Answer
from emu_app.workbench.subject import Space, computed_once
from emu_core.charts.marks import hover_texts
from emu_core.data.cleaning import normal_form, normalised
from emu_core.data.languages import language_name
from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.asked import has_translations, known_rows, nearest_by_language, translated_rows
from emu_core.evaluation.projection import place_on_map
from emu_core.evaluation.retrieval import nearest

_ONE_PLACE = 0.05  # marks nearer than this share of a map have one label
_MOST_WRITTEN = 6  # languages in a label


@dataclass(frozen=True, eq=False)
class Asked:
    """One sentence in L languages, and what each encoder finds for it among the sentences on the maps."""

    table: (
        pd.DataFrame
    )  # of `nearest_by_language` on the N sentences on the maps and then those that are not drawn
    rows: tuple[int, ...]  # of the set, (L,)
    number: int  # which of the L sentences was asked
    vectors: dict[str, FloatArray]  # (L, dim) by the encoder's name


def ask(space: Space, chosen: ChosenData, row: int) -> Asked | None:
    """Ask a row of the set in all its languages; None, with progress drawn, while one that is not drawn is encoded."""
    frame = chosen.labelled.frame
    rows = translated_rows(frame, row)
    drawn = set(space.points["row"].tolist())
    others = [number for number in rows if number not in drawn]
    fresh = encoded(space.specs, "", frame["text"].iloc[others].tolist()) if others else {}
    if fresh is None:
        return None
    return computed_once("asked", (space, row), lambda: _asked(space, frame, row, rows, others, fresh))


def _asked(
    space: Space,
    frame: pd.DataFrame,
    row: int,
    rows: list[int],
    others: list[int],
    fresh: Mapping[str, FloatArray],
) -> Asked:
    """Ask some rows of the set, of which the others are not drawn and have fresh vectors (others, dim)."""
    sentences, vectors, groups = space.points, dict(space.vectors), groups_of(space)
    if others:
        added = frame.iloc[others].assign(row=np.array(others, dtype=np.int32))
        sentences = pd.concat([sentences, added], ignore_index=True)
        vectors = {name: np.concatenate([known, fresh[name]]) for name, known in vectors.items()}
        groups = sentence_groups(sentences)
    place_of_row = {number: place for place, number in enumerate(sentences["row"].tolist())}
    places = [place_of_row[number] for number in rows]
    table = nearest_by_language(sentences, vectors, places, groups)
    of_languages = {name: of_encoder[places] for name, of_encoder in vectors.items()}
    return Asked(table, tuple(rows), rows.index(row), of_languages)


def groups_of(space: Space) -> list[str]:
    """Return the group of repeats and translations of each sentence on the maps."""
    return computed_once("groups", space, lambda: sentence_groups(space.points))


def repeats_of(space: Space, text: str) -> NDArray[np.bool_]:
    """Return which of the N sentences on the maps are this one, (N,)."""
    forms = computed_once("forms", space, lambda: np.array(normalised(space.points["text"]), dtype=object))
    return np.asarray(forms == normal_form(text), dtype=bool)


def row_of(space: Space, chosen: ChosenData, text: str) -> int | None:
    """Return the row of the set that a typed text repeats, one with translations if there is one."""
    place = _known(chosen.sha256, len(space.points), space.points).get(normal_form(text))
    if place is not None:
        return int(space.points["row"].iloc[place])
    if len(space.points) == len(chosen.labelled):
        return None
    # The forms of all sentences of a large set would take seconds.
    same = np.flatnonzero(chosen.labelled.frame["text"].str.casefold() == text.casefold())
    return int(max(same, key=translated(chosen).__getitem__)) if len(same) else None


def nearest_translated(space: Space, chosen: ChosenData, answers: Mapping[str, Answer]) -> int | None:
    """Return the row of the sentence nearest to the typed one, by the last encoder, of those with translations."""
    rows = space.points["row"].to_numpy()
    rows_with, name = np.flatnonzero(translated(chosen)[rows]), [*answers][-1]
    if not len(rows_with) or name not in space.vectors:
        return None

    def place() -> int:
        pool = space.vectors[name][rows_with]
        return int(nearest(np.concatenate([pool, answers[name].vectors]), [len(pool)], 1).rows[0, 0])

    return int(rows[rows_with[computed_once("nearest-translated", (space, answers[name]), place)]])


@st.cache_resource(max_entries=4, show_spinner=False)
def _known(sha256: str, count: int, _points: pd.DataFrame) -> dict[str, int]:
    return known_rows(_points)


def translated(chosen: ChosenData) -> NDArray[np.bool_]:
    """Return which rows of the set have translations in it, (N,)."""
    return _translated(chosen.sha256, chosen.labelled)


@st.cache_resource(max_entries=4, show_spinner=False)
def _translated(sha256: str, _labelled: LabelledSet) -> NDArray[np.bool_]:
    return has_translations(_labelled.frame)


def spoken_marks(
    asked: Asked, name: str, vectors: FloatArray, places: NDArray[np.float32]
) -> tuple[maps.Spoken, ...]:
    """Return the sentences in all languages as marks on an encoder's map, whose N points are at (N, 2)."""
    rows, found = asked.table["row"].to_numpy(), asked.table[f"{name}_row"].to_numpy()
    at = np.array(places)[np.minimum(rows, len(places) - 1)]
    is_new = rows >= len(places)
    if is_new.any():
        at[is_new] = place_on_map(vectors, places, asked.vectors[name][is_new])
    hovers = hover_texts(
        asked.table[["text"]].assign(
            language=asked.table["language"].map(language_name),
            intent=[f"{name} finds: {intent or 'nothing'}" for intent in asked.table[f"{name}_intent"]],
        )
    )
    low, span = places.min(axis=0), np.maximum(np.ptp(places, axis=0), 1e-9)
    shares = (at - low) / span
    labels = _labels(shares, asked.table["language"].tolist())
    spoken = []
    for number, (x, y) in enumerate(at.tolist()):
        near = places[found[number]].tolist() if found[number] >= 0 else None
        spoken.append(
            maps.Spoken(
                x,
                y,
                near=None if near is None else (near[0], near[1]),
                right=bool(asked.table[f"{name}_right"].iloc[number]),
                label=labels[number],
                is_left=bool(shares[number, 0] > 0.5),
                hover=hovers[number],
                row=asked.rows[number],
            )
        )
    return tuple(spoken)


def _labels(shares: NDArray[np.floating], codes: Sequence[str]) -> list[str]:
    """Return what is written beside each of L marks at (L, 2), from 0 to 1: those in one place have one label."""
    members: dict[int, list[str]] = {}
    for number, code in enumerate(codes):
        near = (first for first in members if np.abs(shares[first] - shares[number]).max() < _ONE_PLACE)
        members.setdefault(next(near, number), []).append(code)
    labels = [""] * len(codes)
    for first, those in members.items():
        more = len(those) - _MOST_WRITTEN
        labels[first] = " ".join(those[:_MOST_WRITTEN]) + (f" +{more}" if more > 0 else "")
    return labels
