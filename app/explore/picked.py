"""The sentences a person picked on a map, as a table, and the nearest neighbours of one of them.

They are stored by their row in the data, so that they outlive a redrawn map.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.panels.widgets import draw_csv_button, roomy_columns
from app.wording import literal
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.encoders.base import FloatArray
from emu_core.evaluation.retrieval import nearest

CHART = "explore-map"
_PICKED = "explore-picked"
MOST_ROWS = 1_000  # shown; the download has them all
NEIGHBOURS = 10
_COLUMNS = {"text": "Sentence", "intent": "Intent", "language": "Language", "split": "Split", "id": "Id"}


def picked(data_sha: str) -> tuple[int, ...]:
    """Return the picked rows of a set, as many as were picked in it."""
    of_data, rows = st.session_state.get(_PICKED, ("", ()))
    return rows if of_data == data_sha else ()


def pick(data_sha: str, rows: Sequence[int]) -> None:
    """Have just these rows of a set picked."""
    st.session_state[_PICKED] = (data_sha, tuple(dict.fromkeys(rows)))


def take_from_chart(data_sha: str) -> None:
    """Pick what was just selected on the map; an empty selection changes nothing.

    The map is redrawn with the picked points standing out, and a redrawn map has no selection of its own.
    """
    points: Sequence[Mapping[str, Any]] = st.session_state[CHART]["selection"]["points"]
    rows = [row for point in points if (row := _row(point.get("customdata"))) is not None]
    if rows:
        pick(data_sha, rows)


def draw_picked(points: pd.DataFrame, rows: Sequence[int], data_sha: str) -> int | None:
    """Draw the picked sentences.

    Args:
        points: the sentences drawn, with their column `row`.
        rows: the picked ones.
        data_sha: of the set they are of.

    Returns:
        The place in `points` of the sentence whose neighbours are wanted, if any.
    """
    title, clear = st.columns([5, 1], vertical_alignment="bottom")
    title.subheader(f"Picked: {counted(len(rows), 'sentence')}" if rows else "Picked sentences")
    if not rows:
        st.caption(
            "Click a point for its nearest neighbours. To fill a table, choose *Lasso* or *Box* above and draw "
            "around some points."
        )
        return None
    if clear.button("Clear", icon=":material/close:", width="stretch"):
        pick(data_sha, ())
        st.rerun()
    table = points[points["row"].isin(rows)]
    with_split = [
        column for column in _COLUMNS if column not in ("split", "id") or (table[column] != "").any()
    ]
    state = st.dataframe(
        table[with_split].rename(columns=_COLUMNS).head(MOST_ROWS),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=f"explore-table-{hash(tuple(rows))}",  # another table has no row selected yet
        height="auto" if len(table) <= 10 else 320,
    )
    left, right = st.columns([3, 1], vertical_alignment="center")
    if len(table) > MOST_ROWS:
        left.caption(f"The first {MOST_ROWS:,} are shown, the download has all {len(table):,}.")
    with right:
        picked = table.drop(columns="row")
        draw_csv_button(picked, (data_sha, tuple(rows)), "emu-selection.csv", width="stretch")
    if len(table) == 1:
        return int(table.index[0])
    if selected := state["selection"]["rows"]:
        return int(table.index[selected[0]])
    left.caption("Select a row for its nearest neighbours.")
    return None


def draw_neighbours(points: pd.DataFrame, place: int, vectors: Mapping[str, FloatArray]) -> None:
    """Draw a sentence's nearest neighbours by each encoder.

    Args:
        points: N sentences.
        place: whose neighbours, 0 to N - 1.
        vectors: (N, dim) by the encoder's name.
    """
    sentence = points.iloc[place]
    st.subheader("Nearest neighbours")
    st.markdown(
        f"of **{literal(sentence['text'], 300)}** ({literal(sentence['intent'], 60)}, "
        f"{literal(language_name(sentence['language']))}), by cosine"
    )
    without = st.toggle(
        "Leave out its translations", value=True, key="explore-no-translations", persist_state="session"
    )
    ids = points["id"].tolist() if without else None
    columns = roomy_columns(len(vectors), 440, "neighbours")
    for column, (name, of_encoder) in zip(columns, vectors.items(), strict=True):
        found = nearest(of_encoder, [place], NEIGHBOURS, ids)
        there = found.rows[0] >= 0
        rows = found.rows[0][there]
        near = points.iloc[rows]
        same = near["intent"].to_numpy() == sentence["intent"]
        column.markdown(f"**{name}**: {int(same.sum())} of {len(rows)} have its intent")
        table = pd.DataFrame(
            {
                "Cosine": found.cosines[0][there],
                "Same intent": np.where(same, "✓", ""),
                "Sentence": near["text"].to_numpy(),
                "Intent": near["intent"].to_numpy(),
                "Language": near["language"].to_numpy(),
            }
        )
        column.dataframe(
            table,
            hide_index=True,
            column_config={
                "Cosine": st.column_config.NumberColumn(format="%.3f", width=65),
                "Same intent": st.column_config.TextColumn(width=90),
                "Sentence": st.column_config.TextColumn(width=230),
                "Language": st.column_config.TextColumn(width=75),
            },
        )


def _row(customdata: Any) -> int | None:
    value = customdata[0] if isinstance(customdata, list | tuple) and customdata else customdata
    return value if isinstance(value, int) and not isinstance(value, bool) else None
