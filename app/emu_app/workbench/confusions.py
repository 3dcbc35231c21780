"""The confused intents: the pairs with the most errors first, and their sentences."""

import pandas as pd
import streamlit as st

from emu_app.shell.widgets import choose, draw_note, draw_table
from emu_app.workbench.subject import Subject

_PAIRS = {
    "intent": "Intent",
    "neighbour": "Taken for",
    "base": "By A",
    "other": "By B",
    "difference": "Change from A to B",
}
# Headings and widths in pixels, at which what both find is in view.
_SENTENCES = {
    "sentence": ("Sentence", 280),
    "language": ("Language", 80),
    "base_neighbour": ("A: nearest", 280),
    "base_intent": ("A: its intent", 140),
    "other_neighbour": ("B: nearest", 280),
    "other_intent": ("B: its intent", 140),
}


def draw_confused_pairs(subject: Subject) -> None:
    """Draw the pairs of intents that are confused, and the sentences of the chosen pair."""
    counts = subject.comparison.confusion()
    pairs = counts[counts["intent"] != counts["neighbour"]]
    pairs = pairs.sort_values(["other", "base"], ascending=False, kind="stable")
    if pairs.empty:
        draw_note("No sentence has a neighbour of another intent.")
        return
    draw_table(
        pairs,
        "confused-pairs",
        "emu-confusion.csv",
        {name: st.column_config.Column(title) for name, title in _PAIRS.items()},
        download=counts,
        height="auto" if len(pairs) <= 6 else 240,
    )
    _draw_sentences(subject, pairs)


def _draw_sentences(subject: Subject, pairs: pd.DataFrame) -> None:
    """Ask for a pair of intents, at first the one with the most errors, and draw its sentences."""
    numbers = {(row.intent, row.neighbour): (row.base, row.other) for row in pairs.itertuples()}
    intent, neighbour = choose(
        "Sentences of the intent, and of what they are taken for",
        list(numbers),
        f"confused-pair-{subject.key}",
        format_func=lambda pair: "{} as {} (A: {}, B: {})".format(*pair, *numbers[pair]),
    )
    changes = subject.comparison.changes()
    taken = (changes["base_intent"] == neighbour) | (changes["other_intent"] == neighbour)
    column = st.column_config
    draw_table(
        changes[(changes["intent"] == intent) & taken],
        "confused-sentences",
        "emu-confused-sentences.csv",
        {name: column.TextColumn(title, width=width) for name, (title, width) in _SENTENCES.items()},
        column_order=list(_SENTENCES),
    )
