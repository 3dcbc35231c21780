"""The chosen set on the Data page: its size, what the audit found, its balance, its sentences."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app.panels.widgets import draw_csv_button
from app.state import ChosenData
from app.wording import literal
from emu_core import charts
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.audit import LONG_TEXT, Audit
from emu_core.data.languages import language_name

MOST_ROWS = 1_000  # shown in a table; its download holds them all
TALLEST = 700  # pixels; a taller picture scrolls


@dataclass(frozen=True, eq=False)
class Finding:
    """One kind of thing found.

    Attributes:
        key: names it in file names.
        title: what was found.
        meaning: what it does to training, and how to fix it.
        table: the rows.
    """

    key: str
    title: str
    meaning: str
    table: pd.DataFrame


def findings_of(audit: Audit) -> list[Finding]:
    """Return what the audit found, the most serious first; kinds of which nothing was found are left out."""
    kinds = (
        (
            "dropped",
            "Rows left out",
            "These rows can't be used. Fix them in the file and upload it again.",
            audit.dropped,
        ),
        (
            "conflicts",
            "The same sentence with different intents",
            "No encoder can tell them apart. Decide for one intent, or make the sentences say more.",
            audit.conflicts,
        ),
        (
            "leaks",
            "The same sentence or id in two splits",
            "What is measured on test is too good if train has it too. Keep all translations in one split.",
            audit.leaks,
        ),
        (
            "scripts",
            "Letters that do not fit the language",
            "Often the language column is wrong, or the text was damaged on its way.",
            audit.script_misfits,
        ),
        (
            "thin",
            "An intent's only sentence in a language",
            "Nothing can be learnt about what its sentences share, and no neighbour can be found. Add a second.",
            audit.thin,
        ),
        (
            "duplicates",
            "Near repeats",
            "They differ only in case, spacing, id or split. They stay in, and count twice.",
            audit.duplicates,
        ),
        (
            "long",
            "Very long texts",
            f"Of texts over {LONG_TEXT:,} characters an encoder reads the beginning only.",
            audit.long_texts,
        ),
    )
    return [Finding(*kind) for kind in kinds if len(kind[-1])]


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
    sentences, intents, languages, splits = st.columns(4)
    left_out = audit.rows_read - audit.rows_kept
    sentences.metric(
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
        st.success("The audit found nothing to fix.", icon=":material/check_circle:")
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
