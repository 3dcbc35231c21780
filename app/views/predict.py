"""Predict: the intents of new sentences by a base and a specialised encoder, and the labelled sentences behind them."""

import hashlib
import json
from typing import Any

import pandas as pd
import streamlit as st

from app.cache import computed, encoded, read_in_limits
from app.forms.encoder import BASE, NEW, encoder_specs
from app.panels.run_table import run_facts
from app.panels.widgets import choose, choose_one, draw_csv_button, draw_note, errors_shown
from app.state import chosen_data, run_picker
from app.tasks import predictions
from app.upload.tables import read_texts
from app.users import check_upload
from app.vectors import weights_of
from app.wording import literal, sentence
from emu_core.api.compare import ALL, choose_rows
from emu_core.api.inputs import ENDINGS
from emu_core.api.predict import NO_INTENT, unseen_rows
from emu_core.charts.style import short
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.errors import DataError
from emu_core.runs.run import Run

MOST_TYPED = 200
MOST_OF_A_FILE = 5_000
FILE_MB = 20
TYPED, FILE = "Type sentences", "From a file"
NEIGHBOURS = 5


def page() -> None:
    """Draw the page."""
    st.title("Predict")
    st.caption("The intent of any sentence, in any language: its nearest labelled sentences vote.")
    run = run_picker()
    if run is None:
        return
    with errors_shown():  # of a damaged run folder
        draw_predictions(run)


def draw_predictions(run: Run) -> None:
    """Ask for sentences and draw both encoders' answers."""
    st.caption(run_facts(run))
    specs = encoder_specs(run)
    chosen = chosen_data()
    st.markdown(chosen.line)
    texts = _ask()
    if not texts or specs is None:
        return
    pool, sampled = choose_rows(chosen.labelled, ALL, [])
    if sampled:
        draw_note(f"The labelled sentences are {len(pool):,} of {len(chosen.labelled):,}, of every intent.")
    pooled = encoded(specs, chosen.sha256, pool.frame["text"].tolist())
    vectors = None if pooled is None else encoded(specs, "", texts)
    if pooled is None or vectors is None:
        return
    asked = unseen_rows(specs[NEW], pool, chosen.sha256)
    digest = hashlib.sha256(json.dumps(texts).encode("utf-8", "replace")).hexdigest()
    weights = {name: weights_of(spec) for name, spec in specs.items()}
    found: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {}
    for name in specs:
        answers = computed(
            f"predict:{chosen.sha256}:{weights[NEW]}:{weights[name]}:{digest}",
            f"{name} encoder: asking {counted(len(pool), 'labelled sentence')}",
            predictions, pool, pooled[name], asked, texts, vectors[name],
        )  # fmt: skip
        if answers is None:
            return
        found[name] = answers
    _draw_table(
        {name: table for name, (table, _) in found.items()}, (chosen.sha256, *weights.values(), digest)
    )
    row = 0
    if len(texts) > 1:
        row = choose(
            "The nearest labelled sentences of",
            range(len(texts)),
            f"predict-row-{digest[:12]}",
            format_func=lambda row: short(texts[row], 100),
        )
    for place, (name, (table, facts)) in zip(st.columns(len(found)), found.items(), strict=True):
        with place:
            _draw_answer(name, table.iloc[row], facts)


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


def _draw_table(found: dict[str, pd.DataFrame], which: tuple[str, ...]) -> None:
    """Draw both encoders' answers side by side, and offer all of them as a file."""
    table = pd.DataFrame({"Sentence": found[BASE]["text"]})
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
    whole = pd.concat(
        [found[BASE][["text"]]]
        + [answers.drop(columns="text").add_prefix(f"{name.lower()}_") for name, answers in found.items()],
        axis=1,
    )
    draw_csv_button(whole, ("predictions", *which), "emu-predictions.csv", key="predictions-csv")


def _draw_answer(name: str, answer: pd.Series, facts: dict[str, Any]) -> None:
    """Draw one encoder's answer to a sentence, its nearest labelled sentences, and what they are worth."""
    st.subheader(name)
    confidence = "" if pd.isna(answer["confidence"]) else f", confidence {100 * answer['confidence']:.0f} %"
    st.markdown(f"**{literal(answer['intent'], 80)}**{confidence}")
    places = [place for place in range(1, NEIGHBOURS + 1) if f"nearest_{place}" in answer]
    intents = [answer[f"nearest_{place}_intent"] for place in places]
    st.dataframe(
        pd.DataFrame(
            {
                "": ["✓" if intent == answer["intent"] else "" for intent in intents],
                "Labelled sentence": [answer[f"nearest_{place}"] for place in places],
                "Intent": intents,
                "Language": [language_name(answer[f"nearest_{place}_language"]) for place in places],
                "Cosine": [answer[f"nearest_{place}_cosine"] for place in places],
            }
        ),
        hide_index=True,
        column_config={
            "": st.column_config.TextColumn(width=30, help="has the predicted intent"),
            "Labelled sentence": st.column_config.TextColumn(width="medium"),
            "Cosine": st.column_config.NumberColumn(format="%.3f", width="small"),
        },
        key=f"nearest-{name}",
    )
    told = []
    if facts["accuracy"] is not None:
        voters = "the nearest decides" if facts["votes"] == 1 else f"the {facts['votes']} nearest vote"
        told.append(f"Leave-one-out on the labelled sentences: {facts['accuracy']:.1f} % right; {voters}.")
    if facts["threshold"] is not None:
        new = "" if facts["new_found"] is None else f" ({facts['new_found']:.0f} % of new intents are)"
        told.append(
            f"*{NO_INTENT.capitalize()}* where the nearest has a cosine below {facts['threshold']:.3f}{new}."
        )
    st.caption(" ".join([*told, *map(literal, facts["notes"])]))


page()
