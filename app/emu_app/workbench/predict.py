"""Prediction: the intents of new sentences by each encoder, from their nearest labelled sentences."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from emu_app.data.boxes import ask_sentences, read_box
from emu_app.data.tables import read_texts
from emu_app.panels.context import A, Context
from emu_app.panels.labelling import LABELLING
from emu_app.shell.address import draw_link
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import choose, draw_note, draw_table, roomy_columns
from emu_app.shell.wording import literal
from emu_app.work import tasks
from emu_app.work.cache import computed, encoded, vectors_file
from emu_app.work.tasks import NEIGHBOURS, Answer
from emu_app.work.vectors import digest, weights_of
from emu_core.api.compare import ALL, choose_rows
from emu_core.charts.style import short
from emu_core.data.languages import language_name
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted
from emu_core.evaluation.vector_classifier import NO_INTENT, PredictionFacts
from emu_core.reports.prediction_notes import prediction_notes
from emu_core.runs.trained_on import trained_rows

MOST_TYPED, MOST_OF_A_FILE = 200, 5_000


def answers(now: Context, texts: list[str], specs: Mapping[str, str]) -> dict[str, Answer] | None:
    """Return the answers to N texts by each of some encoders; None, with progress drawn, until they are there.

    The labelled sentences that vote are those of the data, or a sample of them.
    """
    chosen = now.chosen
    weights = {name: weights_of(spec) for name, spec in now.specs.items()}
    pool, all_texts, asked = _pool(
        chosen.sha256, tuple(weights.values()), tuple(now.specs.values()), chosen.labelled
    )
    if len(pool) < len(chosen.labelled):
        draw_note(
            f"The labelled sentences are a sample of {len(pool):,} of {len(chosen.labelled):,}, with every intent."
        )
    if encoded(specs, chosen.sha256, all_texts) is None:
        return None
    encoders = {
        name: (spec, weights[name], vectors_file(spec, chosen.sha256, all_texts))
        for name, spec in specs.items()
    }
    key = f"answers:{chosen.sha256}:{':'.join(weights.values())}:{'+'.join(specs)}:{digest(texts)}"
    label = f"Searching {counted(len(pool), 'labelled sentence')}"
    by_encoder: dict[str, Answer] | None = computed(key, label, tasks.answers, encoders, pool, asked, texts)
    return by_encoder


@st.cache_resource(max_entries=4, show_spinner=False)
def _pool(
    sha256: str, weights: tuple[str, ...], specs: tuple[str, ...], _labelled: LabelledSet
) -> tuple[LabelledSet, list[str], NDArray[np.intp]]:
    """Return the labelled sentences that vote, the texts of all their rows, and the rows that may be held out."""
    pool, _ = choose_rows(_labelled, ALL, [])
    seen = np.logical_or.reduce([trained_rows(spec, pool)[0] for spec in specs])
    return pool, pool.all_rows()["text"].tolist(), np.flatnonzero(~seen)


def draw_predictions(now: Context) -> None:
    """Ask for sentences and draw both encoders' predictions, and the labelled sentences behind one of them."""
    st.caption(
        "Predicts the intents of sentences in any language, and shows their nearest labelled sentences.",
        help=help_on(Word.POOL, Word.NEIGHBOUR, Word.NONE_OF_THESE),
    )
    draw_link("data", "Label sentences, the most useful first", ":material/new_label:", part=LABELLING)
    texts = _ask()
    by_encoder = answers(now, texts, now.specs) if texts else None
    if by_encoder is None:
        return
    _draw_table({name: answer.table for name, answer in by_encoder.items()})
    for title, answer in zip(now.titles, by_encoder.values(), strict=True):
        if notes := [*_caught(answer.facts), *prediction_notes(answer.facts)]:
            st.caption(f"{literal(title)}: {' '.join(map(literal, notes))}", help=_about_notes())
    row = 0
    if len(texts) > 1:
        rows, named = range(len(texts)), [short(text, 100) for text in texts]
        row = choose(
            "The nearest labelled sentences of",
            rows,
            f"predict-row-{hash(tuple(texts))}",
            format_func=named.__getitem__,
        )
    columns = roomy_columns(len(by_encoder), 340, "predicted")
    for column, title, (name, answer) in zip(columns, now.titles, by_encoder.items(), strict=True):
        with column:
            draw_answer(title, answer.table.iloc[row], answer.facts, f"predicted-{name}", with_notes=False)


def _caught(facts: PredictionFacts) -> list[str]:
    """Return, in a sentence, how many sentences of intents without labels are recognised as such, if it is measured."""
    if facts["new_found"] is None:
        return []
    caught = f"{facts['new_found']:.0f} of 100 sentences of an intent without labels are caught"
    return [f"About {caught}; the others get a known intent, which is wrong."]


def _ask() -> list[str]:
    """Return the sentences to predict; none while there are none."""
    example = "Where is the pool?\nWo ist das Schwimmbad?"
    name, payload = ask_sentences("predict", placeholder=example, label_visibility="collapsed")
    texts = (read_box(read_texts, name, payload) or []) if name else read_texts("", payload)
    if not texts and not name:
        draw_note("Type or upload sentences, in any language that the encoder knows.")
    limit = MOST_OF_A_FILE if name else MOST_TYPED
    if len(texts) > limit:
        draw_note(
            f"Only the first {limit:,} of {len(texts):,} sentences are predicted here; `emu predict` takes any number."
        )
    return texts[:limit]


def _draw_table(tables: dict[str, pd.DataFrame]) -> None:
    """Draw the encoders' predictions side by side, with a download of all details."""
    texts = tables[A][["text"]]
    intents = {f"{name}: intent": answers["intent"] for name, answers in tables.items()}
    confidences = {f"{name}: confidence": 100 * answers["confidence"] for name, answers in tables.items()}
    percent = st.column_config.NumberColumn(format="%.0f %%", width="small")
    others = ["text", "repeats"]
    parts = [answers.drop(columns=others).add_prefix(f"{name.lower()}_") for name, answers in tables.items()]
    draw_table(
        pd.DataFrame({"Sentence": texts["text"], **intents, **confidences}),
        "predictions",
        "emu-predictions.csv",
        dict.fromkeys(confidences, percent),
        download=pd.concat([texts, *parts], axis=1),
        most=MOST_OF_A_FILE,
    )


def draw_answer(
    title: str, answer: "pd.Series[Any]", facts: PredictionFacts, key: str, *, with_notes: bool = True
) -> None:
    """Draw a row of `IntentClassifier.explain`: intent, labelled sentences behind it, and how reliable it is."""
    confidence = "" if pd.isna(answer["confidence"]) else f" ({100 * answer['confidence']:.0f} %)"
    st.markdown(f"{literal(title)}: **{literal(answer['intent'], 60)}**{confidence}")
    neighbours = [f"nearest_{rank}" for rank in range(1, NEIGHBOURS + 1) if f"nearest_{rank}" in answer]
    columns = {"text": "", "intent": "_intent", "language": "_language", "cosine": "_cosine"}
    table = pd.DataFrame(
        {name: [answer[f"{neighbour}{end}"] for neighbour in neighbours] for name, end in columns.items()}
    )
    draw_neighbours(table, answer["intent"], key)
    notes = prediction_notes(facts) if with_notes else []
    about = _about_notes() if notes else None
    if answer["repeats"]:
        notes = ["The set has this sentence itself, which is left out.", *notes]
    st.caption(" ".join(["✓ has the predicted intent.", *map(literal, notes)]), help=about)


def _about_notes() -> str:
    """Return a help on the terms of `prediction_notes`, which the command prints, too."""
    return help_on(Word.NONE_OF_THESE, Word.COSINE, Word.NEIGHBOUR)


def draw_neighbours(table: pd.DataFrame, intent: str, key: str) -> None:
    """Draw neighbours (text, intent, language, cosine) and mark those that have the intent."""
    right = np.where(table["intent"] == intent, "✓", "" if intent == NO_INTENT else "✗")
    column = st.column_config
    st.dataframe(
        table.assign(right=right, language=table["language"].map(language_name)),
        hide_index=True,
        column_order=["right", "text", "cosine", "intent", "language"],
        column_config={
            "right": column.TextColumn("✓", width=25, help="✓ if it has the intent."),
            "text": column.TextColumn("Sentence", width=175),
            "cosine": column.NumberColumn("Similarity", format="%.2f", width=75, help=help_on(Word.COSINE)),
            "intent": column.TextColumn("Intent", width=110),
            "language": column.TextColumn("Language", width=80),
        },
        key=key,
        row_height=28,
    )
