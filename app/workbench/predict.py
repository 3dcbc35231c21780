"""Prediction: the intents of new sentences by each encoder, decided by their nearest labelled sentences."""

import hashlib
import json
from collections.abc import Hashable
from typing import Any

import pandas as pd
import streamlit as st

from app.address import draw_link
from app.cache import computed, encoded, read_in_limits
from app.context import A, B, Context
from app.panels.labelling import LABELLING
from app.panels.widgets import choose, choose_one, draw_csv_button, draw_note, roomy_columns
from app.tasks import predictions
from app.upload.tables import read_texts
from app.users import check_upload
from app.vectors import weights_of
from app.wording import sentence
from app.workbench.answer import draw_answer
from emu_core.api.compare import ALL, choose_rows
from emu_core.api.inputs import ENDINGS
from emu_core.api.predict import unseen_rows
from emu_core.charts.style import short
from emu_core.data.wording import counted
from emu_core.errors import DataError

MOST_TYPED = 200
MOST_OF_A_FILE = 5_000
FILE_MB = 20
TYPED, FILE = "Type sentences", "From a file"


def answers(now: Context, texts: list[str]) -> dict[str, tuple[pd.DataFrame, dict[str, Any]]] | None:
    """Return each encoder's predictions of N texts with the predictor's facts, or None, and draw why, until there.

    The labelled sentences that vote are those of the data, or a sample of them.
    """
    specs, chosen = now.specs, now.chosen
    pool, sampled = choose_rows(chosen.labelled, ALL, [])
    if sampled:
        draw_note(f"The labelled sentences are {len(pool):,} of {len(chosen.labelled):,}, of every intent.")
    pooled = encoded(specs, chosen.sha256, pool.frame["text"].tolist())
    vectors = None if pooled is None else encoded(specs, "", texts)
    if pooled is None or vectors is None:
        return None
    asked = unseen_rows(specs.get(B, specs[A]), pool, chosen.sha256)
    digest = hashlib.sha256(json.dumps(texts).encode("utf-8", "replace")).hexdigest()
    weights = {name: weights_of(spec) for name, spec in specs.items()}
    found: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {}
    for name in specs:
        answer = computed(
            f"predict:{chosen.sha256}:{':'.join(weights.values())}:{weights[name]}:{digest}",
            f"{name}: asking {counted(len(pool), 'labelled sentence')}",
            predictions, pool, pooled[name], asked, texts, vectors[name],
        )  # fmt: skip
        if answer is None:
            return None
        found[name] = answer
    return found


def draw_predictions(now: Context) -> None:
    """Ask for sentences and draw both encoders' answers, and the labelled sentences behind one of them."""
    st.caption("The intent of any sentences, in any language: their nearest labelled sentences vote.")
    draw_link(
        "views/data.py", "Label sentences, the most useful first", ":material/new_label:", part=LABELLING
    )
    texts = _ask()
    found = answers(now, texts) if texts else None
    if found is None:
        return
    tables = {name: table for name, (table, _) in found.items()}
    weights = tuple(map(weights_of, now.specs.values()))
    _draw_table(tables, (now.chosen.sha256, *weights, hash(tuple(texts))))
    row = 0
    if len(texts) > 1:
        row = choose(
            "The nearest labelled sentences of",
            range(len(texts)),
            f"predict-row-{hash(tuple(texts))}",
            format_func=lambda row: short(texts[row], 100),
        )
    columns = roomy_columns(len(found), 340, "predicted")
    for place, title, (name, (table, facts)) in zip(columns, now.titles, found.items(), strict=True):
        with place:
            draw_answer(title, table.iloc[row], facts, f"predicted-{name}")


def _ask() -> list[str]:
    """Return the sentences to predict; none while there are none to read."""
    if choose_one("Sentences", [TYPED, FILE], "predict-how", label_visibility="collapsed") == TYPED:
        typed = st.text_area(
            "One sentence a line",
            placeholder="Where is the pool?\nWo ist das Schwimmbad?",
            max_chars=100_000,
            key="predict-typed",
            persist_state="session",
        )
        texts = [line.strip() for line in typed.splitlines() if line.strip()]
        limit = MOST_TYPED
        if not texts:
            st.info("Type a sentence, in any language that the encoder knows.", icon=":material/edit:")
    else:
        file = st.file_uploader(
            "A table with a column of sentences: CSV, TSV, JSON Lines, Parquet or Excel (XLSX)",
            type=ENDINGS,
            max_upload_size=FILE_MB,
            key="predict-file",
        )
        if file is None:
            return []
        payload = file.getvalue()
        try:
            read = read_in_limits(
                f"texts:{file.file_id}", [(file.name, payload)], read_texts, file.name, payload
            )
            check_upload(len(read or ()))
        except DataError as error:
            st.error(sentence(error), icon=":material/error:")
            return []
        texts, limit = read or [], MOST_OF_A_FILE
    if len(texts) > limit:
        draw_note(
            f"The first {limit:,} of {len(texts):,} sentences are predicted here; `emu predict` takes any number."
        )
    return texts[:limit]


def _draw_table(found: dict[str, pd.DataFrame], which: tuple[Hashable, ...]) -> None:
    """Draw the encoders' answers side by side, and offer all of them as a file."""
    texts = found[A][["text"]]
    table = texts.rename(columns={"text": "Sentence"})
    for name, answers in found.items():
        table[f"{name}: intent"] = answers["intent"]
    for name, answers in found.items():
        table[f"{name}: confidence"] = 100 * answers["confidence"]
    percent = st.column_config.NumberColumn(format="%.0f %%", width="small")
    st.dataframe(
        table,
        hide_index=True,
        column_config={f"{name}: confidence": percent for name in found},
        key="predictions",
    )
    parts = [answers.drop(columns="text").add_prefix(f"{name.lower()}_") for name, answers in found.items()]
    draw_csv_button(
        pd.concat([texts, *parts], axis=1),
        ("predictions", *which),
        "emu-predictions.csv",
        key="predictions-csv",
    )
