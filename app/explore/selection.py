"""The sentences a person picked on a map: kept by their row in the data, so that they outlive a redrawn map."""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

CHART = "explore-map"
_PICKED = "explore-picked"


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


def _row(customdata: Any) -> int | None:
    value = customdata[0] if isinstance(customdata, list | tuple) and customdata else customdata
    return value if isinstance(value, int) and not isinstance(value, bool) else None
