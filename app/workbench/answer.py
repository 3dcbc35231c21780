"""An encoder's neighbours of a sentence, and the intent that they give it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.wording import literal
from emu_core.api.predict import NO_INTENT
from emu_core.data.languages import language_name

NEIGHBOURS = 5  # labelled sentences behind a prediction


def draw_answer(title: str, answer: "pd.Series[Any]", facts: Mapping[str, Any], key: str) -> None:
    """Draw a predicted intent, a row of `Predictor.predict`, the labelled sentences behind it and what it is worth."""
    confidence = "" if pd.isna(answer["confidence"]) else f" ({100 * answer['confidence']:.0f} %)"
    st.markdown(f"{literal(title)}: **{literal(answer['intent'], 60)}**{confidence}")
    there = [place for place in range(1, NEIGHBOURS + 1) if f"nearest_{place}" in answer]
    table = pd.DataFrame(
        {
            "text": [answer[f"nearest_{place}"] for place in there],
            "intent": [answer[f"nearest_{place}_intent"] for place in there],
            "language": [answer[f"nearest_{place}_language"] for place in there],
            "cosine": [answer[f"nearest_{place}_cosine"] for place in there],
        }
    )
    draw_neighbours(table, answer["intent"], key)
    st.caption(" ".join(worth(facts)))


def draw_neighbours(table: pd.DataFrame, intent: str, key: str) -> None:
    """Draw neighbours, columns text, intent, language and cosine, and whether each has the intent."""
    right = np.where(table["intent"] == intent, "✓", "" if intent == NO_INTENT else "✗")
    column = st.column_config
    st.dataframe(
        table.assign(right=right, language=table["language"].map(language_name)),
        hide_index=True,
        column_order=["right", "text", "cosine", "intent", "language"],
        column_config={
            "right": column.TextColumn("", width=25, help="✓ where it has the intent."),
            "text": column.TextColumn("Sentence", width=175),
            "cosine": column.NumberColumn("Cosine", format="%.2f", width=60),
            "intent": column.TextColumn("Intent", width=110),
            "language": column.TextColumn("Language", width=80),
        },
        key=key,
        row_height=28,
    )


def worth(facts: Mapping[str, Any]) -> list[str]:
    """Return in markdown what predictions are worth: their accuracy, and when no intent is known."""
    lines = []
    if facts["accuracy"] is not None:
        voters = "the nearest decides" if facts["votes"] == 1 else f"the {facts['votes']} nearest vote"
        lines.append(f"Leave-one-out on the labelled sentences: {facts['accuracy']:.1f} % right; {voters}.")
    if facts["threshold"] is not None:
        new = "" if facts["new_found"] is None else f" ({facts['new_found']:.0f} % of new intents are)"
        lines.append(
            f"*{NO_INTENT.capitalize()}* where the nearest has a cosine below {facts['threshold']:.3f}{new}."
        )
    return [*lines, *map(literal, facts["notes"])]
