"""A finished benchmark's report on the page."""

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from app.bench.folder import Bench
from app.bench.gains_chart import gains_chart
from app.bench.report import ShownReport, ShownTable, read_report
from app.wording import literal, sentence
from emu_core.errors import RunError

_MIME = {"html": "text/html", "md": "text/markdown", "json": "application/json", "csv": "text/csv"}
_LABELS = {"report.html": "Report, HTML", "report.md": "Report, Markdown", "report.json": "Numbers, JSON"}
WARNED = " warned: "  # in a sentence that training gave; all others are what a table says
STARS = "***"


def draw_report(bench: Bench) -> ShownReport | None:
    """Draw what a benchmark found; None, and why, where it can't be read."""
    try:
        report = read_report(bench.out)
    except RunError as error:
        st.error(sentence(error), icon=":material/error:")
        return None
    st.header(literal(report.title, 200))
    with st.container(horizontal=True):
        for name, label in _LABELS.items():
            _draw_download(bench, report.files, name, label)
    with st.expander("What was run", icon=":material/checklist:"):
        st.markdown(_listed(f"{name.replace('_', ' ')}: {value}" for name, value in report.facts.items()))
    with st.expander("What differs from the paper", icon=":material/difference:"):
        st.markdown(_listed(report.differences))
    for table in report.tables:
        _draw_table(bench, report, table)
    if report.figure:
        st.subheader("Figure 2")
        st.image(
            report.figure, width="stretch", alt="Maps of two languages' test sentences, a panel a system."
        )
        st.caption(
            "Test sentences of two languages, colour the intent. Each panel is laid out by a t-SNE of its own: look "
            "who stands beside whom, not where. One seed."
        )
    if report.paper:
        with st.expander("The paper's own tables", icon=":material/menu_book:"):
            for table in report.paper:
                st.markdown(f"**{literal(table.title)}**")
                _draw_frame(bench, table)
                _draw_download(bench, report.files, f"{table.name}.csv", "Download as CSV")
    return report


def _draw_table(bench: Bench, report: ShownReport, table: ShownTable) -> None:
    st.subheader(literal(table.title, 200))
    warned = [said for said in table.verdict if WARNED in said]
    if warned:
        st.warning(_listed(warned), icon=":material/warning:")
    if found := [said for said in table.verdict if WARNED not in said]:
        st.info("\n\n".join(map(sentence, found)), icon=":material/lightbulb:")
    if table.gains:
        st.plotly_chart(
            gains_chart(table.gains),
            key=f"gains-{bench.name}-{table.name}",
            config={"displayModeBar": False},
            alt="What each system gained over the base encoder: bars of points of mean Acc@1.",
        )
        st.caption(
            "Mean over the directions with the training language on one side. A whisker is one standard deviation over "
            "the seeds; with a single seed there is none."
        )
    _draw_frame(bench, table)
    for system, reason in table.missing:
        st.markdown(f":material/block: **{literal(system, 200)}** was not measured: {literal(reason)}.")
    _draw_notes(table.notes)
    _draw_download(bench, report.files, f"{table.name}.csv", "Download as CSV")


def _draw_notes(notes: Sequence[str]) -> None:
    """Draw how to read a table; where there is much to say, what the stars mean stays in view."""
    folded = [note for note in notes if STARS not in note] if len(notes) > 2 else []
    for note in notes:
        if note not in folded:
            st.caption(literal(note))
    if folded:
        with st.expander("How this table is measured", icon=":material/help:"):
            for note in folded:
                st.markdown(literal(note))


def _draw_frame(bench: Bench, table: ShownTable) -> None:
    if table.frame.empty:
        return
    first, *others = table.frame.columns
    st.dataframe(
        table.frame,
        hide_index=True,
        height="content",
        placeholder="",
        column_config={
            first: st.column_config.TextColumn(pinned=True),
            **{name: st.column_config.TextColumn(alignment="right") for name in others},
        },
        key=f"table-{bench.name}-{table.name}",
    )


def _draw_download(bench: Bench, files: Mapping[str, bytes], name: str, label: str) -> None:
    st.download_button(
        label,
        files[name],
        file_name=f"{bench.name}-{name}",
        mime=_MIME[name.rsplit(".", 1)[-1]],
        icon=":material/download:",
        on_click="ignore",
        key=f"download-{bench.name}-{name}",
    )


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {sentence(item)}" for item in items)
