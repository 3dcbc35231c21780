"""Widgets as the pages have them: charts, choices, roomy columns, tables as CSV files, and errors as sentences."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from app.wording import literal, sentence
from emu_core.data.export_csv import safe_csv
from emu_core.data.languages import language_name
from emu_core.data.wording import listed
from emu_core.encoders.registry import EncoderInfo
from emu_core.errors import EmuError
from emu_core.notebook.builder import make_notebook
from emu_core.runs.config import RunConfig

MOST_AT_ONCE = 30_000  # rows; the file of a longer table takes seconds, and is made when it is asked for


@contextmanager
def errors_shown() -> Iterator[None]:
    """Draw an error of ours, such as of a damaged run folder, instead of what comes after it."""
    try:
        yield
    except EmuError as error:
        st.error(sentence(error), icon=":material/error:")


def draw_note(text: str) -> None:
    """Draw what a person should know, as markdown."""
    st.info(text, icon=":material/info:")


def warn_of_strangers(encoder: EncoderInfo, languages: Sequence[str]) -> None:
    """Name the languages that an encoder was not trained on, where it is known on which it was."""
    strangers = [code for code in dict.fromkeys(languages) if code not in encoder.languages]
    if encoder.languages and strangers:
        draw_note(
            f"The encoder {literal(encoder.name)} was not trained on {literal(listed(map(language_name, strangers)))}: "
            "it may know little of it."
        )


def draw_chart(figure: go.Figure, key: str, alt: str, *, place: Any = st, zooms: bool = False) -> None:
    """Draw a figure, with what it shows in words; it has a tool bar only where one zooms in it."""
    bar = {"scrollZoom": True, "displaylogo": False} if zooms else {"displayModeBar": False}
    place.plotly_chart(figure, key=key, config=bar, alt=alt)


def choose(label: str, options: Iterable[Any], key: str, *, place: Any = st, **about: Any) -> Any:
    """Ask for one of many options, from a list that opens; the session keeps the choice."""
    return place.selectbox(label, options, key=key, persist_state="session", **about)


def choose_one(label: str, options: Sequence[Any], key: str, *, place: Any = st, **about: Any) -> Any:
    """Ask for one of a few options, all in view: the first, unless there is another `default`; the session keeps it."""
    return place.segmented_control(
        label, options, key=key, required=True, persist_state="session", **{"default": options[0]} | about
    )


def choose_languages(
    label: str, languages: Sequence[str], key: str, *, place: Any = st, **about: Any
) -> list[str]:
    """Ask for languages by their names, and return their codes; the session keeps the choice."""
    codes: list[str] = place.multiselect(
        label, languages, format_func=language_name, key=key, persist_state="session", **about
    )
    return codes


def choose_many(label: str, options: Sequence[str], key: str) -> list[str]:
    """Ask for some of many options, none standing for all; the session keeps the choice."""
    chosen: list[str] = st.multiselect(label, options, placeholder="All", key=key, persist_state="session")
    return chosen


def roomy_columns(count: int, least_px: int, key: str, **options: Any) -> list[Any]:
    """Return columns, none narrower than `least_px` pixels: on a narrow page some come to stand under the others.

    The key, of letters and hyphens, names them on their page; the options are those of `st.columns`.
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
    """Draw a button that gives all of a table as a file; `which` tells the table from every other, in all sessions."""
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


def draw_notebook_button(name: str, config: RunConfig, folder: Path, **about: Any) -> None:
    """Draw a button that gives what the page shows as a notebook; the arguments are those of `make_notebook`."""
    st.download_button(
        "Make a notebook of this",
        make_notebook(config, folder, **about),
        file_name=f"emu-{name}.ipynb",
        mime="application/x-ipynb+json",
        icon=":material/note_stack:",
        on_click="ignore",
        help="For Jupyter: it reads the same data, trains or opens the same run, and draws the same figures.",
    )


@st.cache_data(max_entries=64, show_spinner=False)
def _file(which: Hashable, _table: pd.DataFrame) -> bytes:
    """Made once for a table."""
    return safe_csv(_table)
