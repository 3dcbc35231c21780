"""The chosen set on the Data page: its size, what the audit found, its balance, its sentences."""

import pandas as pd
import streamlit as st

from app.csv_button import draw_csv_button
from app.findings import findings_of
from app.state import ChosenData
from app.wording import literal
from emu_core import charts
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.audit import Audit
from emu_core.data.languages import language_name

MOST_ROWS = 1_000  # shown in a table; its download holds them all
TALLEST = 700  # pixels; a taller picture scrolls


def draw_set(chosen: ChosenData) -> None:
    """Draw everything there is to know about the chosen set."""
    labelled, audit = chosen.labelled, chosen.audit
    st.header(f"In use: {literal(chosen.title, 80)}", divider="gray")
    draw_size(labelled, audit)
    draw_findings(audit, chosen.token)
    st.subheader("Sentences by intent and language")
    with st.container(height=TALLEST if len(audit.counts) > TALLEST // 20 else "content", border=False):
        st.plotly_chart(charts.class_balance(audit.counts), key="balance")
    st.subheader("Sentences")
    used = [column for column in labelled.frame if (labelled.frame[column] != "").any()]
    draw_table(labelled.frame[used], "sentences", chosen.token)


def draw_size(labelled: LabelledSet, audit: Audit) -> None:
    """Draw the numbers that matter most."""
    kept, intents, languages, splits = st.columns(4)
    left_out = audit.rows_read - audit.rows_kept
    kept.metric(
        "Sentences",
        f"{audit.rows_kept:,}",
        delta=f"{left_out:,} rows left out" if left_out else None,
        delta_color="off",
        delta_arrow="off",
        border=True,
        height="stretch",
    )
    intents.metric("Intents", f"{len(labelled.intents):,}", border=True, height="stretch")
    languages.metric(
        "Languages",
        f"{len(labelled.languages)}",
        border=True,
        height="stretch",
        help=literal(", ".join(language_name(code) for code in labelled.languages)),
    )
    sizes = labelled.frame["split"].value_counts()
    splits.metric(
        "Test sentences",
        f"{int(sizes.get('test', sizes.get('dev', 0))):,}",
        border=True,
        height="stretch",
        help="Rows of split test (or else dev): what a run is measured on. Without any, a run is trained and not "
        "measured.",
    )


def draw_findings(audit: Audit, token: str) -> None:
    """Draw what the audit found, folded away, with its rows; the token is the set's."""
    findings = findings_of(audit)
    if not findings:
        st.success("The audit found nothing to mend.", icon=":material/check_circle:")
    for finding in findings:
        grave = finding.key in ("dropped", "conflicts", "leaks")
        icon = ":material/warning:" if grave else ":material/info:"
        with st.expander(f"{finding.title} ({len(finding.table):,})", icon=icon):
            st.markdown(finding.meaning)
            if finding.key == "dropped":
                reasons = [line for line in audit.summary() if line.startswith("Dropped, ")]
                st.markdown("\n".join(f"- {literal(line)}" for line in reasons))
            draw_table(finding.table, finding.key, token)
    for note in audit.notes:
        st.info(literal(note), icon=":material/info:")


def draw_table(table: pd.DataFrame, key: str, token: str) -> None:
    """Draw a table's first rows, and offer all of them as a file; key and token tell it from every other."""
    if len(table) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS:,} of {len(table):,} rows; the download has them all.")
    st.dataframe(table.head(MOST_ROWS), hide_index=True, key=f"table-{key}")
    draw_csv_button(table, (token, key), f"{key}.csv", key=f"download-{key}")
