"""BiCVM's words across languages: a map of some, and the nearest words of one."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.background import Done
from app.encoders import computed
from app.explore.layouts import NAMES
from app.panels.widgets import draw_csv_button
from app.tasks import word_spaces
from app.vectors import weights_of
from app.wording import literal
from emu_core import charts
from emu_core.data.calendar_words import MONTHS, WEEKDAYS
from emu_core.data.languages import language_name
from emu_core.data.wording import counted, listed
from emu_core.encoders.registry import encoder_kind
from emu_core.evaluation.projection import FEWEST, Projection, project
from emu_core.evaluation.word_neighbours import (
    Words,
    frequent_words,
    nearest_words_table,
    word_neighbours,
)

CALENDAR, FREQUENT, TYPED = "Weekdays and months", "Most frequent", "Typed"
Spaces = Mapping[str, Words]


def draw_words(spec: str) -> None:
    """Draw a map of words and the nearest words of one; say so where an encoder has no words."""
    if encoder_kind(spec) != "bicvm":
        st.info(
            "Only BiCVM keeps a vector for each word; choose a run of that method above.",
            icon=":material/info:",
        )
        st.page_link("views/pretrain.py", label="Train one", icon=":material/foundation:")
        return
    weights = weights_of(spec)
    outcome = computed(f"words:{weights}", "Reading the words", word_spaces, spec, weights)
    if not isinstance(outcome, Done):
        return
    spaces: Spaces = outcome.value
    st.caption(
        "; ".join(
            f"{language_name(code)}: {counted(len(words), 'word')}" for code, (words, _) in spaces.items()
        )
        + ". Words are in lower case, as the encoder knows them."
    )
    words, method = _choose(spaces, weights)
    if len(words) < FEWEST:
        if len(words):
            st.info(
                f"A map needs {FEWEST} words or more; choose the most frequent ones.", icon=":material/info:"
            )
        return
    vectors = np.stack([_vector(spaces, *entry) for entry in words.itertuples(index=False)])
    digest = hashlib.sha256(json.dumps(words.to_numpy().tolist()).encode()).hexdigest()
    outcome = computed(
        f"word-map:{weights}:{method}:{digest}",
        f"{NAMES[method]} of {counted(len(words), 'word')} (some seconds)",
        project, vectors, method,
    )  # fmt: skip
    if isinstance(outcome, Done):
        st.plotly_chart(
            charts.word_map(outcome.value, words),
            key="word-map",
            config={"scrollZoom": True, "displaylogo": False},
            alt=f"{NAMES[method]} of {len(words)} words, coloured by language.",
        )
        table = words.assign(x=outcome.value[:, 0], y=outcome.value[:, 1])
        draw_csv_button(table, (weights, method, digest), "emu-words.csv", key="word-map-csv")
    _draw_nearest(spaces, words, weights)


def _choose(spaces: Spaces, weights: str) -> tuple[pd.DataFrame, Projection]:
    """Ask which words are drawn, and how; columns `word` and `language`."""
    what, how = st.columns([3, 2])
    which = what.segmented_control(
        "Words", [CALENDAR, FREQUENT, TYPED], default=FREQUENT, required=True, key="words-which",
        persist_state="session",
    )  # fmt: skip
    method = how.segmented_control(
        "Map",
        list(NAMES),
        default=Projection.TSNE,
        required=True,
        format_func=NAMES.__getitem__,
        key="words-method",
        persist_state="session",
    )
    languages = st.multiselect(
        "Languages",
        list(spaces),
        default=list(spaces),
        format_func=language_name,
        key=f"words-languages-{weights[:12]}",
        persist_state="session",
    )
    chosen = {code: spaces[code] for code in languages}
    if which == FREQUENT:
        most = st.slider("Words of each language", 10, 300, 40, 10, key="words-most", persist_state="session")
        return _frame(frequent_words(chosen, most)), Projection(method)
    if which == CALENDAR:
        return _calendar(chosen), Projection(method)
    return _typed(chosen), Projection(method)


def _calendar(spaces: Spaces) -> pd.DataFrame:
    known: list[tuple[str, str]] = []
    unknown: list[tuple[str, str]] = []
    for code, (words, _) in spaces.items():
        there = set(words)
        for word in (*WEEKDAYS.get(code, ()), *MONTHS.get(code, ())):
            (known if word in there else unknown).append((word, code))
    if without := [code for code in spaces if code not in WEEKDAYS]:
        st.info(
            f"No weekdays are known here in {listed(map(language_name, without))}.", icon=":material/info:"
        )
    if unknown:
        st.info(
            f"{counted(len(unknown), 'weekday or month', 'weekdays and months')} did not stand in the training text: "
            f"{literal(listed((word for word, _ in unknown), 8))}.",
            icon=":material/info:",
        )
    return _frame(known)


def _typed(spaces: Spaces) -> pd.DataFrame:
    typed = st.text_input(
        "Words, with commas between them",
        placeholder="dog, man, hund, rot",
        max_chars=1_000,
        key="words-typed",
        persist_state="session",
    )
    wanted = list(dict.fromkeys(word.strip().casefold() for word in typed.split(",") if word.strip()))
    with_nearest = st.checkbox(
        "With the nearest word in each other language",
        value=True,
        key="words-with-nearest",
        persist_state="session",
    )
    known = [(word, code) for word in wanted for code, (words, _) in spaces.items() if word in set(words)]
    found = {word for word, _ in known}
    if unknown := [word for word in wanted if word not in found]:
        st.info(f"Not in the training text: {literal(listed(unknown, 8))}.", icon=":material/info:")
    if with_nearest:
        for word, code in list(known):
            near = word_neighbours(word, code, spaces, 1)
            known += [(names[0][0], other) for other, names in near.items() if other != code and names]
    return _frame(list(dict.fromkeys(known)))


def _frame(rows: Sequence[tuple[str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["word", "language"])


def _vector(spaces: Spaces, word: str, language: str) -> np.ndarray:
    words, vectors = spaces[language]
    vector: np.ndarray = vectors[list(words).index(word)]
    return vector


def _draw_nearest(spaces: Spaces, words: pd.DataFrame, weights: str) -> None:
    st.subheader("Nearest words")
    options = list(words.itertuples(index=False, name=None))
    word, language = st.selectbox(
        "Of the word",
        options,
        format_func=lambda entry: f"{entry[0]} ({language_name(entry[1])})",
        key=f"words-one-{weights[:12]}",
        persist_state="session",
    )
    table = nearest_words_table(word, language, spaces)
    cosines = {
        name: st.column_config.NumberColumn(format="%.3f") for name in table if name.startswith("Cosine")
    }
    st.dataframe(table, hide_index=True, column_config=cosines, key="words-nearest")
    draw_csv_button(table, (weights, word, language), "emu-nearest-words.csv", key="nearest-csv")
