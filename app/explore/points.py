"""Which sentences are drawn: a fair sample of a large set, and of it what the filters leave."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from app.state import ChosenData
from emu_core.data.labelled import LabelledSet
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.evaluation.projection import stratified_sample

MOST_POINTS = 30_000  # a browser draws and selects that many with ease


@dataclass(frozen=True)
class Filters:
    """The filters of the maps; an empty tuple shows all.

    Attributes:
        languages: codes.
        intents: names.
        splits: names.
    """

    languages: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()

    def shown(self, points: pd.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Return which rows of a frame are shown."""
        shown = np.ones(len(points), dtype=bool)
        for column, wanted in (
            ("language", self.languages),
            ("intent", self.intents),
            ("split", self.splits),
        ):
            if wanted:
                shown &= points[column].isin(wanted).to_numpy()
        return shown


def sample(labelled: LabelledSet) -> pd.DataFrame:
    """Return the set's frame with a column `row`, at most `MOST_POINTS` of its rows, with every intent and language."""
    frame = labelled.frame
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_POINTS)
    return frame.iloc[rows].assign(row=rows.astype(np.int32)).reset_index(drop=True)


def draw_filters(chosen: ChosenData) -> Filters:
    """Draw the filters of a set and return what a person chose."""
    labelled, prefix = chosen.labelled, f"explore-{chosen.sha256[:12]}"
    places = st.columns([3, 4, 2] if labelled.splits else [3, 4])
    languages = places[0].multiselect(
        "Languages",
        labelled.languages,
        format_func=language_name,
        placeholder="All",
        key=f"{prefix}-languages",
        persist_state="session",
    )
    intents = places[1].multiselect(
        "Intents",
        labelled.intents,
        placeholder="All",
        key=f"{prefix}-intents",
        persist_state="session",
        help="Up to eight at once have a colour of their own.",
    )
    splits = (
        places[2].multiselect(
            "Splits", labelled.splits, placeholder="All", key=f"{prefix}-splits", persist_state="session"
        )
        if labelled.splits
        else []
    )
    return Filters(tuple(languages), tuple(intents), tuple(splits))


def say_how_many(total: int, drawn: int, shown: int) -> None:
    """Say how many sentences the maps show, and that the rest is left out, where it is."""
    if drawn < total:
        st.info(
            f"The maps show {drawn:,} of {counted(total, 'sentence')}: a sample with its share of every "
            "intent in every language.",
            icon=":material/filter_list:",
        )
    if shown < drawn:
        st.caption(f"The filters leave {shown:,} of {counted(drawn, 'sentence')}.")
