"""Translation retrieval as ranked lists: one sentence's, and the worst misses."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app.background import Done
from app.encoders import computed, encoded
from app.panels.widgets import draw_csv_button, roomy_columns
from app.translations.source import Pairs
from app.vectors import weights_of
from app.wording import literal
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.translation_ranking import (
    NS,
    FoundTranslations,
    find_translations,
    nearest_translations,
)

FROM_TEXT, TYPED = "From the text", "Typed"
TRUE = "✓ translation"
MOST_MISSES = 200


@dataclass(frozen=True, eq=False)
class _Query:
    text: str
    vector: FloatArray
    row: int | None  # None where it was typed


def draw_ranked(name: str, spec: str, pairs: Pairs, vectors: FloatArray) -> None:
    """Draw how often translations are found, one sentence's ranked list, and the worst misses.

    Args:
        name: the encoder's, for the page.
        spec: what `load_encoder` takes.
        pairs: N pairs.
        vectors: (2N, dim), those of the asking language first.
    """
    queries, targets = vectors[: len(pairs.text)], vectors[len(pairs.text) :]
    outcome = computed(
        f"translations:{pairs.key}:{weights_of(spec)}",
        f"Ranking {counted(len(pairs.text), 'translation')}",
        find_translations, queries, targets, pairs.text.second,
    )  # fmt: skip
    if not isinstance(outcome, Done):
        return
    found: FoundTranslations = outcome.value
    _draw_precision(found, pairs)
    query = _choose_query(name, spec, pairs, queries)
    if query is not None:
        _draw_list(query, pairs, targets, found)
    _draw_misses(spec, pairs, found)


def _draw_precision(found: FoundTranslations, pairs: Pairs) -> None:
    cells = roomy_columns(len(NS), 200, "precision", border=True)
    for cell, n in zip(cells, NS, strict=True):
        interval = found.ranking.interval(n)
        cell.metric(
            f"P@{n}, {language_name(pairs.text.source)} → {language_name(pairs.text.target)}",
            f"{found.ranking.precision(n):.1f} %",
            f"95 %: {interval.low:.1f} to {interval.high:.1f}",
            delta_color="off",
            delta_arrow="off",
            help=f"How often the translation is among the {n} nearest of {found.ranking.candidates:,} sentences."
            if n > 1
            else f"How often the nearest of {found.ranking.candidates:,} sentences is the translation.",
        )


def _choose_query(name: str, spec: str, pairs: Pairs, queries: FloatArray) -> _Query | None:
    st.subheader("One sentence")
    how, which = st.columns([1, 3], vertical_alignment="bottom")
    source = how.segmented_control(
        "The sentence is", [FROM_TEXT, TYPED], default=FROM_TEXT, required=True, key="translations-how",
        persist_state="session",
    )  # fmt: skip
    if source == FROM_TEXT:
        row = which.selectbox(
            "Sentence",
            range(len(pairs.text)),
            format_func=lambda row: pairs.text.first[row],
            key=f"translations-sentence-{pairs.key}",
            persist_state="session",
        )
        return _Query(pairs.text.first[row], queries[row], row)
    typed = which.text_input(
        "Sentence",
        placeholder=pairs.text.first[0][:80],
        max_chars=500,
        key="translations-typed",
        persist_state="session",
        help="In any language that the encoder knows.",
    ).strip()
    if not typed:
        return None
    fresh = encoded({name: spec}, "", [typed])
    return None if fresh is None else _Query(typed, fresh[name][0], None)


def _draw_list(query: _Query, pairs: Pairs, targets: FloatArray, found: FoundTranslations) -> None:
    k = st.slider("How many are shown", 5, 50, 10, 5, key="translations-k", persist_state="session")
    rank = None if query.row is None else int(found.ranking.ranks[query.row])
    texts = pairs.text.second
    table = nearest_translations(query.vector, targets, texts, k, row=query.row, rank=rank)
    table["is_translation"] = table["is_translation"].map({True: TRUE, False: ""})
    table.columns = pd.Index(["Place", "Cosine", language_name(pairs.text.target), ""])
    if rank is not None and query.row is not None:
        what = "first" if rank == 1 else f"at place {rank:,} of {found.ranking.candidates:,}"
        st.markdown(f"Its translation **{literal(pairs.text.second[query.row], 300)}** stands **{what}**.")
    _draw_table(table, "translations-list")


def _draw_misses(spec: str, pairs: Pairs, found: FoundTranslations) -> None:
    table = found.misses(pairs.text.first, pairs.text.second)
    table.columns = pd.Index(
        ["Place", "Sentence", "Its translation", "Cosine", "Found instead", "Its cosine"]
    )
    st.subheader("The worst misses")
    if table.empty:
        st.success("Every translation stands first.", icon=":material/check_circle:")
        return
    st.caption(
        f"{counted(len(table), 'sentence')} of {len(pairs.text):,} whose nearest sentence is not the translation, "
        "those whose translation stands farthest down first."
    )
    _draw_table(table.head(MOST_MISSES), "translations-misses")
    if len(table) > MOST_MISSES:
        st.caption(f"The first {MOST_MISSES} are shown, the download has all.")
    draw_csv_button(table, (pairs.key, weights_of(spec)), "emu-misses.csv", key="misses-csv")


def _draw_table(table: pd.DataFrame, key: str) -> None:
    cosine = st.column_config.NumberColumn(format="%.3f", width="small")
    sentences = [name for name in table if table[name].dtype.kind not in "if" and name]
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "Place": st.column_config.NumberColumn(format="localized", width="small"),
            "Cosine": cosine,
            "Its cosine": cosine,
            "": st.column_config.TextColumn(width="small"),
            **{
                name: st.column_config.TextColumn(width="large" if len(sentences) == 1 else "medium")
                for name in sentences
            },
        },
        key=key,
    )
