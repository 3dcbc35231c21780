"""Columns that stay wide enough to be read, and a button that gives a table as a CSV file."""

from collections.abc import Hashable
from typing import Any, Literal

import pandas as pd
import streamlit as st

from emu_core.data.export_csv import safe_csv

MOST_AT_ONCE = 30_000  # rows; the file of a longer table takes seconds, and is made when it is asked for


def roomy_columns(count: int, least_px: int, key: str, **options: Any) -> list[Any]:
    """Return columns of which, on a narrow page, some come to stand under the others.

    Args:
        count: how many.
        least_px: none becomes narrower than so many pixels.
        key: names them on their page; letters and hyphens.
        options: as `st.columns` takes them.
    """
    place = st.container(key=key)
    place.html(f"<style>.st-key-{key} [data-testid='stColumn'] {{min-width: {least_px}px}}</style>")
    return list(place.columns(count, **options))


def draw_csv_button(
    table: pd.DataFrame,
    which: Hashable,
    file_name: str,
    *,
    key: str | None = None,
    width: Literal["content", "stretch"] = "content",
) -> None:
    """Draw the button.

    Args:
        table: what goes out, all of it.
        which: tells this table from every other, in all sessions.
        file_name: of the download.
        key: of the button.
        width: of the button.
    """
    st.download_button(
        "Download as CSV",
        # Not on demand where that can be: a file that was promised by a run of the page that is over never comes.
        _file(which, table) if len(table) <= MOST_AT_ONCE else lambda: safe_csv(table),
        file_name=file_name,
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key=key,
        width=width,
    )


@st.cache_data(max_entries=64, show_spinner=False)
def _file(which: Hashable, _table: pd.DataFrame) -> bytes:
    """Made once for a table."""
    return safe_csv(_table)
