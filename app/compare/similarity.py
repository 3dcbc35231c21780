"""Cosines between sentences that a person chose."""

import numpy as np
import pandas as pd
import streamlit as st

from app.compare.subject import Subject
from app.encoders import BASE, NEW
from emu_core import charts
from emu_core.charts.style import short
from emu_core.evaluation.projection import stratified_sample
from emu_core.evaluation.similarity import cosine_matrix, heat_map_order

MOST = 30  # sentences chosen
MOST_OFFERED = 3_000
FIRST_LANGUAGES = 3  # whose translations of a triple are there at first


def draw_similarity(subject: Subject, key: str) -> None:
    """Let a person choose or type sentences and draw a heat map of their cosines for both encoders.

    Args:
        subject: what is compared.
        key: of the data and rows, so that other data begin with their own sentences.
    """
    offered, first = _offered(subject)
    chosen = st.multiselect(
        "Sentences: choose from the data, or type one and press Enter",
        list(offered),
        default=first,
        max_selections=MOST,
        accept_new_options=True,
        key=f"similar-{key}",
        persist_state="session",
    )
    if len(chosen) < 2:
        st.info("Choose two sentences or more.", icon=":material/edit:")
        return
    rows = [offered.get(option) for option in chosen]
    frame = subject.part.frame
    known = frame.loc[[row for row in rows if row is not None], ["text", "intent", "language"]].to_dict(
        "records"
    )
    typed = [option for option, row in zip(chosen, rows, strict=True) if row is None]
    sentences = pd.DataFrame(known + [{"text": text, "intent": "", "language": ""} for text in typed])
    order = heat_map_order(sentences["intent"].tolist(), sentences["language"].tolist())
    sentences = sentences.iloc[order].reset_index(drop=True)
    vectors = subject.of_texts(sentences["text"].tolist())
    if vectors is not None:
        _draw(sentences, {name: cosine_matrix(part) for name, part in vectors.items()})


def _offered(subject: Subject) -> tuple[dict[str, int], list[str]]:
    """The sentences offered, their rows by what the list shows, and which are chosen at first."""
    frame = subject.part.frame
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_OFFERED)
    first = _first(subject) or rows[:6].tolist()
    label = {
        row: f"{short(text, 90)} ({intent}, {language})"
        for row, text, intent, language in frame.loc[
            sorted({*rows.tolist(), *first}), ["text", "intent", "language"]
        ].itertuples()
    }
    return {name: row for row, name in label.items()}, list(dict.fromkeys(label[row] for row in first))[:MOST]


def _first(subject: Subject) -> list[int]:
    """Rows of a triple that the base encoder gets wrong, with its translations."""
    if subject.comparison is None or not len(subject.comparison.triples):
        return []
    frame = subject.part.frame
    rows = subject.comparison.triples[0].tolist()
    ids = set(frame["id"].iloc[rows]) - {""}
    own = frame["language"].iloc[rows[0]]
    languages = [own, *(code for code in subject.part.languages if code != own)][:FIRST_LANGUAGES]
    translations = frame.index[frame["id"].isin(ids) & frame["language"].isin(languages)]
    return list(dict.fromkeys([*rows, *translations.tolist()]))


def _draw(sentences: pd.DataFrame, cosines: dict[str, np.ndarray]) -> None:
    lowest = min(float(values.min()) for values in cosines.values())
    texts = sentences["text"].tolist()
    for place, name in zip(st.columns(2), (BASE, NEW), strict=True):
        place.plotly_chart(
            charts.similarity_matrix(cosines[name], texts, name, (lowest, 1.0)),
            key=f"similarity-{name}",
            config={"displayModeBar": False},
            alt=f"Heat map of the cosines of {len(texts)} sentences by the encoder {name}.",
        )
    st.dataframe(sentences.set_axis(range(1, len(sentences) + 1)).rename(columns=str.capitalize))
