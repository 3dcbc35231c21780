"""The sentences whose nearest neighbour is another by the second encoder."""

import streamlit as st

from app.panels.widgets import choose, choose_languages, draw_csv_button
from app.workbench.subject import Subject
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.evaluation.comparison import Change

MOST_CHANGES = 1_000  # shown; the download has them all
# Headings and widths in pixels, which have both neighbours in view.
_TEXTS = {
    "change": ("Change", 70),
    "sentence": ("Sentence", 215),
    "intent": ("Intent", 155),
    "base_neighbour": ("A: nearest", 215),
    "base_intent": ("A: its intent", 155),
    "other_neighbour": ("B: nearest", 215),
    "other_intent": ("B: its intent", 155),
    "language": ("Language", 90),
    "base_language": ("A: language", 90),
    "other_language": ("B: language", 90),
}
_COSINES = {"base_cosine": "A: cosine", "other_cosine": "B: cosine"}
ANYWHERE = "any language"


def draw_neighbours(subject: Subject) -> None:
    """Draw the table, its filters and its download."""
    languages = subject.comparison.languages
    where, whose = st.columns(2)
    pool = choose(
        "Nearest neighbour in",
        [ANYWHERE, *languages],
        f"changed-pool-{subject.key}",
        place=where,
        format_func=lambda code: code if code == ANYWHERE else language_name(code),
    )
    queries = choose_languages(
        "Of the sentences in",
        languages,
        f"changed-queries-{subject.key}",
        place=whose,
        placeholder="All languages",
    )
    table = subject.comparison.changes(None if pool == ANYWHERE else pool)
    table = table.drop(columns=["base_row", "other_row"])
    if queries:
        table = table[table["language"].isin(queries)]
    counts = table["change"].value_counts()
    kinds = st.pills(
        "Kind of change",
        list(Change),
        selection_mode="multi",
        default=[Change.FIXED, Change.BROKEN],
        format_func=lambda kind: f"{kind} ({counts.get(kind, 0):,})",
        key="changed-kinds",
        persist_state="session",
        help="; ".join(f"{kind}: {kind.meaning}" for kind in Change),
    )
    table = table[table["change"].isin(list(kinds))]
    if table.empty:
        st.info("No sentence is left; choose more above.", icon=":material/filter_alt_off:")
        return
    column = st.column_config
    st.dataframe(
        table.head(MOST_CHANGES),
        hide_index=True,
        column_order=[*_TEXTS, *_COSINES],
        column_config={
            **{name: column.TextColumn(title, width=width) for name, (title, width) in _TEXTS.items()},
            **{name: column.NumberColumn(title, width=90, format="%.2f") for name, title in _COSINES.items()},
        },
        key="changed-table",
    )
    shown = f"the first {MOST_CHANGES:,} of " if len(table) > MOST_CHANGES else ""
    st.caption(
        f"{shown}{counted(len(table), 'sentence')}; a sentence never meets its own translations.".capitalize()
    )
    draw_csv_button(
        table, (subject.key, subject.weights, pool, tuple(queries), tuple(kinds)), "emu-neighbours.csv"
    )
