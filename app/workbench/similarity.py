"""A heat map of the cosines of some sentences, for each encoder."""

import pandas as pd
import streamlit as st

from app.panels.widgets import draw_chart
from app.workbench.subject import Subject
from emu_core import charts
from emu_core.charts.style import short
from emu_core.evaluation.projection import stratified_sample
from emu_core.evaluation.similarity import cosine_matrix, heat_map_order

MOST_CHOSEN = 30  # sentences chosen
MOST_OFFERED = 3_000


def draw_similarity(subject: Subject) -> None:
    """Let a person choose or type sentences and draw a heat map of their cosines for both encoders."""
    offered, first = _offered(subject)
    chosen = st.multiselect(
        "Sentences: choose from the data, or type one and press Enter",
        list(offered),
        default=first,
        max_selections=MOST_CHOSEN,
        accept_new_options=True,
        key=f"similar-{subject.key}",
        persist_state="session",
    )
    if len(chosen) < 2:
        st.info("Choose two sentences or more.", icon=":material/edit:")
        return
    columns = ["text", "intent", "language"]
    frame = subject.comparison.sentences
    known = frame.loc[[offered[option] for option in chosen if option in offered], columns]
    typed = pd.DataFrame([(option, "", "") for option in chosen if option not in offered], columns=columns)
    sentences = pd.concat([known, typed])
    order = heat_map_order(sentences["intent"].tolist(), sentences["language"].tolist())
    sentences = sentences.iloc[order]
    texts = sentences["text"].tolist()
    vectors = subject.of_texts(texts)
    if vectors is None:
        return
    cosines = {name: cosine_matrix(part) for name, part in vectors.items()}
    lowest = min(float(values.min()) for values in cosines.values())
    for place, (name, matrix) in zip(st.columns(2), cosines.items(), strict=True):
        draw_chart(
            charts.similarity_matrix(matrix, texts, name, (lowest, 1.0)),
            f"similarity-{name}",
            f"Heat map of the cosines of {len(texts)} sentences by the encoder {name}.",
            place=place,
        )
    st.dataframe(sentences.set_axis(range(1, len(sentences) + 1)).rename(columns=str.capitalize))


def _offered(subject: Subject) -> tuple[dict[str, int], list[str]]:
    """Return the rows of the sentences offered, by what the list shows, and which are chosen at first."""
    frame = subject.comparison.sentences
    rows = stratified_sample(frame["language"].tolist(), frame["intent"].tolist(), MOST_OFFERED)
    first = (subject.comparison.example_rows() if subject.is_measured else []) or rows[:6].tolist()
    label = {
        row: f"{short(text, 90)} ({intent}, {language})"
        for row, text, intent, language in frame.loc[
            sorted({*rows.tolist(), *first}), ["text", "intent", "language"]
        ].itertuples()
    }
    return {name: row for row, name in label.items()}, list(dict.fromkeys(label[row] for row in first))[
        :MOST_CHOSEN
    ]
