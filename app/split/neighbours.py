"""An utterance's nearest neighbours by each embedding, side by side."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from app.columns import roomy_columns
from app.csv_button import draw_csv_button
from app.split.pool import Pool
from app.split.words import MEANINGS, NAMES
from app.wording import literal
from emu_core.data.languages import language_name, ordered
from emu_core.data.slots.utterances import Utterance
from emu_core.encoders.base import FloatArray
from emu_core.models.parts import Part

SHOWN = 5
_COLUMNS = ["embedding", "rank", "cosine", "sentence", "language", "intent", "what it shares"]


def draw_neighbours(
    one: Utterance, parts: Mapping[Part, FloatArray], pool: Pool, vectors: FloatArray, key: str
) -> None:
    """Draw a column for each embedding.

    Args:
        one: the utterance.
        parts: its embeddings (dim,), in the order of `vectors`.
        pool: N sentences.
        vectors: (P, N, dim), their embeddings.
        key: of the run.
    """
    st.subheader("Nearest neighbours")
    languages = st.multiselect(
        "Neighbours in",
        ordered(pool.frame["language"]),
        format_func=language_name,
        placeholder="All languages",
        key=f"split-near-{pool.key}",
        persist_state="session",
    )
    # Of a typed one the language is unknown; it may be in the data.
    itself = [other.text == one.text and one.language in ("", other.language) for other in pool.utterances]
    allowed = ~np.array(itself)
    if languages:
        allowed &= pool.frame["language"].isin(languages).to_numpy()
    table = neighbours(one, parts, pool, vectors, allowed)
    if table.empty:
        st.info("No other sentence is left; choose more languages.", icon=":material/filter_alt_off:")
        return
    for place, part in zip(roomy_columns(len(parts), 190, "near"), parts, strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{literal(NAMES[part])}**", help=MEANINGS[part])
            for row in table[table["embedding"] == NAMES[part]].to_dict("records"):
                shares = f"  \n:blue[{literal(row['what it shares'], 120)}]" if row["what it shares"] else ""
                st.markdown(
                    f"{literal(row['sentence'], 160)}  \n:gray[{row['cosine']:.3f} · "
                    f"{literal(language_name(row['language']))}]{shares}"
                )
    st.caption(
        "By cosine, among the sentences chosen above. The cosines of two embeddings can't be compared: look at which "
        "sentences come first."
    )
    draw_csv_button(
        table,
        (key, pool.key, one.text, one.language, tuple(languages)),
        "emu-split-neighbours.csv",
        key="near-csv",
    )


def neighbours(
    one: Utterance,
    parts: Mapping[Part, FloatArray],
    pool: Pool,
    vectors: FloatArray,
    allowed: NDArray[np.bool_],
) -> pd.DataFrame:
    """Return the nearest sentences by each embedding, the nearest first.

    Args:
        one: the utterance.
        parts: its embeddings (dim,), in the order of `vectors`.
        pool: N sentences.
        vectors: (P, N, dim), their embeddings.
        allowed: (N,), which of them count.
    """
    rows: list[tuple[object, ...]] = []
    candidates = np.flatnonzero(allowed)
    for (part, own), of_pool in zip(parts.items(), vectors, strict=True):
        others = of_pool[candidates]
        lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(own)
        cosines = others @ own / np.maximum(lengths, np.finfo(np.float32).tiny)
        for rank, at in enumerate(np.argsort(-cosines, kind="stable")[:SHOWN], start=1):
            other = pool.utterances[candidates[at]]
            rows.append(
                (
                    NAMES[part],
                    rank,
                    float(cosines[at]),
                    other.text,
                    other.language,
                    other.intent,
                    shared(one, other),
                )
            )
    return pd.DataFrame(rows, columns=_COLUMNS)


def shared(one: Utterance, other: Utterance) -> str:
    """Return in words what two utterances have in common: the closest bond first, at most two."""
    if one.id and one.id == other.id and one.language != other.language:
        return "translation"
    found = []
    # Of a typed one the language is unknown, but a template in another language is not the same text anyway.
    if one.slots and other.slots and one.template.casefold() == other.template.casefold():
        found.append("same template")
    theirs = {(slot.name, slot.value.casefold()) for slot in other.slots}
    same = [slot for slot in one.slots if (slot.name, slot.value.casefold()) in theirs]
    found += [f"same {slot.name}: {slot.value}" for slot in same]
    if one.intent and one.intent == other.intent:
        found.append("same intent")
    return ", ".join(found[:2])
