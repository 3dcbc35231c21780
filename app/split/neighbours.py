"""An utterance's nearest neighbours by each embedding, side by side."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from app.panels.widgets import draw_csv_button, roomy_columns
from app.split.parts import MEANINGS, NAMES
from app.wording import literal
from emu_core.api.split import Pool, neighbours
from emu_core.data.languages import language_name, ordered
from emu_core.data.slots.utterances import Utterance
from emu_core.encoders.base import FloatArray
from emu_core.models.parts import Part


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
            for row in table[table["embedding"] == part].to_dict("records"):
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
        table.assign(embedding=table["embedding"].map(NAMES)),
        (key, pool.key, one.text, one.language, tuple(languages)),
        "emu-split-neighbours.csv",
        key="near-csv",
    )
