"""Widgets shared by the pages: messages, choices, charts, tables and downloads."""

import mimetypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from emu_app.shell.session import Remembered
from emu_app.shell.wording import sentence
from emu_core.data.export_csv import safe_csv
from emu_core.data.languages import language_name
from emu_core.errors import EmuError
from emu_core.notebook.builder import make_notebook
from emu_core.runs.config import Plan

KEPT: dict[str, Any] = {"persist_state": "session"}  # the session remembers the widget's value on other pages
ADDRESSED: dict[str, Any] = {**KEPT, "bind": "query-params"}  # and so does the page's address
# The tool bar of maps: only what has no other place; *More* has the lasso, the box and the pictures.
PLAIN_BAR: dict[str, Any] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["toImage", "zoom2d", "pan2d", "select2d", "lasso2d", "autoScale2d"],
}
MAX_TABLE_ROWS = 1_000  # shown of a table; its download has them all
MOST_AT_ONCE = 30_000  # rows; the file of a longer table takes seconds and is made on demand


@contextmanager
def errors_shown() -> Iterator[None]:
    """Draw an error, such as that of a damaged run folder, and skip the rest of the block."""
    try:
        yield
    except (EmuError, OSError) as error:
        st.error(sentence(error), icon=":material/error:")


@contextmanager
def then_rerun() -> Iterator[None]:
    """Run the page again after the block; draw an error instead, as `errors_shown` does."""
    with errors_shown():
        yield
        st.rerun()


def draw_note(text: str) -> None:
    """Draw a note, given as markdown."""
    st.info(text, icon=":material/info:")


def draw_chart(figure: go.Figure, key: str, alt: str, *, container: Any = st, zooms: bool = False) -> None:
    """Draw a figure with a text alternative; only a chart that zooms has a tool bar."""
    bar = {"scrollZoom": True, "displaylogo": False} if zooms else {"displayModeBar": False}
    container.plotly_chart(figure, key=key, config=bar, alt=alt)


def choose(label: str, options: Iterable[Any], key: str, *, container: Any = st, **about: Any) -> Any:
    """Ask for one of many options in a drop-down list."""
    return container.selectbox(label, options, key=key, **KEPT, **about)


def choose_one(label: str, options: Sequence[Any], key: str, *, container: Any = st, **about: Any) -> Any:
    """Ask for one of a few options, all in view; the default is the first."""
    about = {"default": options[0], **KEPT} | about
    return container.segmented_control(label, options, key=key, required=True, **about)


def choose_many(
    label: str, options: Sequence[Any], key: str, *, container: Any = st, **about: Any
) -> list[Any]:
    """Ask for some of many options."""
    chosen: list[Any] = container.multiselect(label, options, key=key, **KEPT | about)
    return chosen


def choose_languages(label: str, languages: Sequence[str], key: str, **about: Any) -> list[str]:
    """Ask for languages by name and return their codes."""
    return choose_many(label, languages, key, format_func=language_name, **about)


def roomy_columns(count: int, least_px: int, key: str, **options: Any) -> list[Any]:
    """Return columns of at least `least_px` pixels, which wrap on a narrow page.

    The key consists of letters and hyphens and is unique on the page; the options are those of `st.columns`.
    """
    container = st.container(key=key)
    container.html(f"<style>.st-key-{key} [data-testid='stColumn'] {{min-width: {least_px}px}}</style>")
    return list(container.columns(count, **options))


def draw_table(
    table: pd.DataFrame,
    key: str,
    file_name: str,
    columns: Mapping[str, Any] | None = None,
    *,
    download: pd.DataFrame | None = None,
    most: int = MAX_TABLE_ROWS,
    **about: Any,
) -> None:
    """Draw at most the first `most` rows of a table and a button that downloads all of it.

    `columns` is the `column_config`, `download` is what the CSV file holds, if not the table, and the other options are
    those of `st.dataframe`.
    """
    say_cut(table, most)
    st.dataframe(table.head(most), hide_index=True, column_config=columns, key=key, **about)
    draw_csv_button(table if download is None else download, file_name, key=f"{key}-csv")


def draw_rows_to_tick(
    table: pd.DataFrame, names: Sequence[str], key: str, opened: Callable[[str], None], **about: Any
) -> list[str]:
    """Draw a table with a row for each name, to sort, tick and click; return the ticked names.

    `opened` is called with the name of a row that is clicked; the other options are those of `st.dataframe`. Ticks
    belong to names, so that a search, or a new row, moves none of them.
    """
    ticks, clicked = Remembered[list[str]](f"{key}-ticked", []), Remembered[list[Any]](f"{key}-clicked", [])
    ticked = ticks.get()
    widget = Remembered[Any](f"{key}-{hash(tuple(names))}", None)  # a table of other rows has other places

    def select() -> None:
        selection = widget.get()["selection"]
        hidden = [name for name in ticked if name not in names]
        ticks.set([*hidden, *(names[row] for row in sorted(selection["rows"]))])
        cell = selection["cells"][:1]
        if cell and cell != clicked.get():
            opened(names[cell[0][0]])
        clicked.set(cell)

    places = [row for row, name in enumerate(names) if name in ticked]
    st.dataframe(
        table,
        hide_index=True,
        key=widget.key,
        on_select=select,
        selection_mode=("multi-row", "single-cell"),
        selection_default={"selection": {"rows": places}},
        **about,
    )
    return [name for name in names if name in ticked]


def say_cut(table: pd.DataFrame, most: int = MAX_TABLE_ROWS) -> None:
    """Say how many rows of a table are shown if it is a long one."""
    if len(table) > most:
        st.caption(f"The first {most:,} of {len(table):,} rows; the download has them all.")


def draw_download(label: str, data: Any, file_name: str, *, container: Any = st, **about: Any) -> None:
    """Draw a button that downloads data, or what a function returns."""
    mime = mimetypes.guess_type(file_name)[0]
    about = {"icon": ":material/download:", "mime": mime or "application/octet-stream"} | about
    container.download_button(label, data, file_name=file_name, on_click="ignore", **about)


def draw_csv_button(table: pd.DataFrame, file_name: str, **about: Any) -> None:
    """Draw a button that downloads a table as CSV."""
    # Made in advance if possible: a file that an earlier run of the page promised never arrives.
    data = _csv(table) if len(table) <= MOST_AT_ONCE else lambda: safe_csv(table)
    draw_download("Download as CSV", data, file_name, **about)


@st.cache_data(max_entries=64, show_spinner=False)
def _csv(table: pd.DataFrame) -> bytes:
    return safe_csv(table)


def draw_notebook_button(name: str, config: Plan, folder: Path, **about: Any) -> None:
    """Draw a button that downloads what the page shows as a notebook; the options are those of `make_notebook`."""
    draw_download(
        "Make a notebook of this",
        make_notebook(config, folder, **about),
        f"emu-{name}.ipynb",
        icon=":material/note_stack:",
        help="For Jupyter: it reads the same data, trains or opens the same run and draws the same figures.",
    )
