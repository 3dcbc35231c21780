"""Which sentences changed their nearest neighbour, and to what."""

from typing import Any

import streamlit as st

from app.compare.changes import MEANING, Change, changes
from app.compare.subject import Subject
from app.csv_button import draw_csv_button
from app.encoders import BASE, NEW
from app.vectors import weights_of
from emu_core.data.languages import language_name
from emu_core.data.wording import counted

MOST_ROWS = 1_000  # shown; the download has them all
_SENTENCES = {
    "sentence": "Sentence",
    "base neighbour": "Base: nearest",
    "specialised neighbour": "Specialised: nearest",
}
_INTENTS = {
    "intent": "Intent",
    "base intent": "Base: its intent",
    "specialised intent": "Specialised: its intent",
}
_LANGUAGES = {
    "language": "Language",
    "base language": "Base: language",
    "specialised language": "Specialised: language",
}
_COSINES = {"base cosine": "Base: cosine", "specialised cosine": "Specialised: cosine"}
_ORDER = [
    "change", "sentence", "intent", "base neighbour", "base intent", "specialised neighbour", "specialised intent",
    "language", "base language", "specialised language", *_COSINES,
]  # fmt: skip
ANYWHERE = "any language"


def draw_neighbours(subject: Subject, key: str) -> None:
    """Draw the table, its filters and its download.

    Args:
        subject: what is compared; it was measured.
        key: of the data and rows, so that other data begin with their own filters.
    """
    if subject.comparison is None:
        return
    languages = subject.comparison.base.languages
    where, whose = st.columns(2)
    pool = where.selectbox(
        "Nearest neighbour in",
        [ANYWHERE, *languages],
        format_func=lambda code: code if code == ANYWHERE else language_name(code),
        key=f"changed-pool-{key}",
        persist_state="session",
    )
    queries = whose.multiselect(
        "Of the sentences in",
        languages,
        format_func=language_name,
        placeholder="All languages",
        key=f"changed-queries-{key}",
        persist_state="session",
    )
    table = changes(
        subject.comparison,
        subject.part,
        subject.vectors[BASE],
        subject.vectors[NEW],
        None if pool == ANYWHERE else pool,
    )
    if queries:
        table = table[table["language"].isin(queries)]
    counts = table["change"].value_counts()
    kinds = st.pills(
        "What became of it",
        list(Change),
        selection_mode="multi",
        default=[Change.MENDED, Change.BROKEN],
        format_func=lambda kind: f"{kind} ({counts.get(kind, 0):,})",
        key="changed-kinds",
        persist_state="session",
        help="; ".join(f"{kind}: {meaning}" for kind, meaning in MEANING.items()),
    )
    table = table[table["change"].isin(list(kinds))]
    if table.empty:
        st.info("No sentence is left; choose more above.", icon=":material/filter_alt_off:")
        return
    st.dataframe(
        table.head(MOST_ROWS),
        hide_index=True,
        column_order=_ORDER,
        column_config=_columns(),
        key="changed-table",
    )
    shown = f"the first {MOST_ROWS:,} of " if len(table) > MOST_ROWS else ""
    st.caption(
        f"{shown}{counted(len(table), 'sentence')}; a sentence never meets its own translations.".capitalize()
    )
    weights = tuple(weights_of(spec) for spec in subject.specs.values())
    draw_csv_button(table, (key, weights, pool, tuple(queries), tuple(kinds)), "emu-neighbours.csv")


def _columns() -> dict[str, Any]:
    """Headings, and widths that have both neighbours in view."""
    column = st.column_config
    return {
        "change": column.TextColumn("Change", width=70),
        **{name: column.TextColumn(title, width=215) for name, title in _SENTENCES.items()},
        **{name: column.TextColumn(title, width=155) for name, title in _INTENTS.items()},
        **{name: column.TextColumn(title, width=90) for name, title in _LANGUAGES.items()},
        **{name: column.NumberColumn(title, width=90, format="%.2f") for name, title in _COSINES.items()},
    }
