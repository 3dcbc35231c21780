"""A finished benchmark's report on the page."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from app.wording import literal, sentence
from emu_core.bench.emu.experiment import BASE
from emu_core.bench.paper import words
from emu_core.bench.report import JSON, MARKDOWN, PAGE, Report, load_report, shown_fact
from emu_core.bench.tables import Table
from emu_core.charts.systems import Gain, system_gains
from emu_core.errors import RunError

_MIME = {"html": "text/html", "md": "text/markdown", "json": "application/json", "csv": "text/csv"}
_LABELS = {PAGE: "Report, HTML", MARKDOWN: "Report, Markdown", JSON: "Numbers, JSON"}


def draw_report(name: str, folder: Path) -> Report | None:
    """Draw what a benchmark found; None, and why, where it can't be read.

    Args:
        name: of the benchmark.
        folder: of its report.
    """
    try:
        report = load_report(folder)
        files = {file: (folder / file).read_bytes() for file in report.files}
    except (RunError, OSError) as error:
        st.error(sentence(error), icon=":material/error:")
        return None

    def draw_download(file: str, label: str = "Download as CSV") -> None:
        st.download_button(
            label,
            files[file],
            file_name=f"{name}-{file}",
            mime=_MIME[file.rsplit(".", 1)[-1]],
            icon=":material/download:",
            on_click="ignore",
            key=f"download-{name}-{file}",
        )

    st.header(literal(report.title, 200))
    with st.container(horizontal=True):
        for file, label in _LABELS.items():
            draw_download(file, label)
    with st.expander("What was run", icon=":material/checklist:"):
        facts = report.facts.items()
        st.markdown(_listed(f"{fact.replace('_', ' ')}: {shown_fact(value)}" for fact, value in facts))
    with st.expander("What differs from the paper", icon=":material/difference:"):
        st.markdown(_listed(report.differences))
    for table in report.tables:
        _draw_table(name, table)
        draw_download(f"{table.name}.csv")
    for picture in report.pictures:
        st.subheader(literal(picture.title, 200))
        st.image(picture.svg, width="stretch", alt=picture.title)
        st.caption(literal(picture.note))
    if report.paper:
        with st.expander("The paper's own tables", icon=":material/menu_book:"):
            for table in report.paper:
                st.markdown(f"**{literal(table.title)}**")
                _draw_frame(name, table)
                draw_download(f"{table.name}.csv")
    return report


def gains_of(table: Table) -> list[Gain]:
    """Return what each system that was measured gained; none for a table without gains."""
    rows = [(row.cells[0], table.data.get(row.key, {})) for row in table.rows if row.key != BASE]
    return [
        Gain(label, found["gain"], found["mean_deviation"], tuple(found["below_base"]))
        for label, found in rows
        if "below_base" in found
    ]


def _draw_table(name: str, table: Table) -> None:
    st.subheader(literal(table.title, 200))
    if table.warnings:
        st.warning(_listed(map(str, table.warnings)), icon=":material/warning:")
    if table.verdict:
        st.info("\n\n".join(map(sentence, table.verdict)), icon=":material/lightbulb:")
    if gains := gains_of(table):
        st.plotly_chart(
            system_gains(gains),
            key=f"gains-{name}-{table.name}",
            config={"displayModeBar": False},
            alt="What each system gained over the base encoder: bars of points of mean Acc@1.",
        )
        st.caption(
            "Mean over the directions with the training language on one side. A whisker is one standard deviation over "
            "the seeds; with a single seed there is none."
        )
    _draw_frame(name, table)
    for row in table.rows:
        if row.missing:
            st.markdown(
                f":material/block: **{literal(row.cells[0], 200)}** was not measured: {literal(row.missing)}."
            )
    _draw_notes(table.notes)


def _draw_notes(notes: Sequence[str]) -> None:
    """Draw how to read a table; where there is much to say, what the stars mean stays in view."""
    marks = words("emu")["notes"]["marks"]
    folded = [note for note in notes if note != marks] if len(notes) > 2 else []
    for note in notes:
        if note not in folded:
            st.caption(literal(note))
    if folded:
        with st.expander("How this table is measured", icon=":material/help:"):
            for note in folded:
                st.markdown(literal(note))


def _draw_frame(name: str, table: Table) -> None:
    rows = [row.texts(len(table.head)) for row in table.rows if not row.missing]
    if not rows:
        return
    first, *others = columns = _distinct(table.head)
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        height="content",
        placeholder="",
        column_config={
            first: st.column_config.TextColumn(pinned=True),
            **{name: st.column_config.TextColumn(alignment="right") for name in others},
        },
        key=f"table-{name}-{table.name}",
    )


def _distinct(head: Iterable[str]) -> list[str]:
    """Return the columns' names, each once: a language may be called anything."""
    names: list[str] = []
    for name in head:
        number = 1 + sum(known == name or known.startswith(f"{name} (") for known in names)
        names.append(name if name not in names else f"{name} ({number})")
    return names


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {sentence(item)}" for item in items)
