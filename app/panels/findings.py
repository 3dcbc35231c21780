"""What the audit found in a set, and ways to fix it in the page; what was fixed is a new version of the set."""

from collections.abc import Sequence
from itertools import cycle

import pandas as pd
import streamlit as st

from app.cache import done_or_shown
from app.library import ChosenData, add_version, rows_of
from app.panels.widgets import choose, draw_csv_button, draw_note, errors_shown
from app.wording import literal
from emu_core.data.detection import detect_languages
from emu_core.data.labelled.audit import LONG_TEXT, Audit
from emu_core.data.labelled.edits import edit_rows
from emu_core.data.languages import known_languages, language_code, language_name
from emu_core.data.wording import counted

MOST_ROWS = 1_000  # shown in a table; its download holds them all
MOST_LOST = 0.05  # of the rows; where more are left out, a banner says so
MOST_UNREAD = 12  # names of languages that one is asked for
MOST_INTENTS = 200  # to choose from in a cell; where there are more, one types

# What the audit finds, the most serious first: what it is; what it does to training, and how to fix it.
FINDINGS = {
    "dropped": (
        "Rows left out",
        "These rows can't be used. Fill in what is missing, or fix them in the file.",
    ),
    "conflicts": (
        "The same sentence with different intents",
        "No encoder can tell them apart. Decide for one intent, or make the sentences say more.",
    ),
    "leaks": (
        "The same sentence or id in two splits",
        "What is measured on test is too good if train has it too. Keep all translations in one split.",
    ),
    "scripts": (
        "Letters that do not fit the language",
        "Often the language column is wrong, or the text was damaged on its way.",
    ),
    "thin": (
        "An intent's only sentence in a language",
        "Nothing can be learnt about what its sentences share, and no neighbour can be found. Add a second.",
    ),
    "duplicates": (
        "Near repeats",
        "They differ only in case, spacing, id or split. They stay in, and count twice.",
    ),
    "long": (
        "Very long texts",
        f"Of texts over {LONG_TEXT:,} characters an encoder reads the beginning only.",
    ),
}
# What to do about rows that are left out, by the beginning of the reason.
FIXES = {
    "not a language": "say which languages they are, under *Rows left out*",
    "no language": "press *Detect the languages* below",
    "no intent": "give them intents under *Label more sentences*, or *Rows left out*",
    "no text": "nothing can be learnt of them",
    "an exact repeat": "nothing is lost, since the same sentence is in",
}


def findings_of(audit: Audit) -> dict[str, pd.DataFrame]:
    """Return the rows that the audit found, by the keys of `FINDINGS`; without kinds that have none."""
    found = {
        "dropped": audit.dropped,
        "conflicts": audit.conflicts,
        "leaks": audit.leaks,
        "scripts": audit.script_misfits,
        "thin": audit.thin,
        "duplicates": audit.duplicates,
        "long": audit.long_texts,
    }
    return {key: rows for key, rows in found.items() if len(rows)}


def draw_left_out(audit: Audit, waiting: int) -> None:
    """Draw a banner where many rows are left out, `waiting` for an intent not counted: why, and how to fix it."""
    lost = audit.rows_read - audit.rows_kept
    if lost - waiting <= MOST_LOST * audit.rows_read:
        return
    reasons = audit.dropped["reason"].str.extract(f"^({'|'.join(FIXES)})", expand=False).value_counts()
    lines = [
        f"- {counted(int(count), 'row')}, {reason}{_examples(audit, str(reason))}: {FIXES[str(reason)]}."
        for reason, count in reasons.items()
    ]
    st.warning(
        f"**{lost:,} of {counted(audit.rows_read, 'row')} ({lost / audit.rows_read:.0%}) are left out.**\n\n"
        + "\n".join(lines),
        icon=":material/warning:",
    )


def _examples(audit: Audit, reason: str) -> str:
    values = audit.dropped["reason"].str.extract(f"^{reason}: (.*)$", expand=False).dropna().unique()
    return f" ({literal(', '.join(values[:4]), 200)})" if len(values) else ""


def draw_findings(chosen: ChosenData) -> None:
    """Draw what the audit found, folded away, with its rows to fix."""
    findings = findings_of(chosen.audit)
    if not findings:
        st.success("The audit found nothing to fix.", icon=":material/check_circle:")
    for key, rows in findings.items():
        title, meaning = FINDINGS[key]
        grave = key in ("dropped", "conflicts", "leaks")
        icon = ":material/warning:" if grave else ":material/info:"
        with st.expander(f"{title} ({len(rows):,})", icon=icon):
            st.markdown(meaning)
            if key == "dropped":
                reasons = [line for line in chosen.audit.summary() if line.startswith("Dropped, ")]
                st.markdown("\n".join(f"- {literal(line)}" for line in reasons))
                draw_left_out_languages(chosen)
            if chosen.is_demo:
                draw_table(rows, key, chosen.token)
            else:
                draw_editor(chosen, rows, key)
    if not chosen.is_demo:
        draw_detection(chosen)
    for note in chosen.audit.notes:
        draw_note(literal(note))


def draw_unread_languages(values: Sequence[str], key: str) -> dict[str, str]:
    """Ask for the languages whose names can't be read, and return the codes of those that were chosen."""
    if not values:
        return {}
    st.markdown("These names of languages can't be read. Rows without a language are left out:")
    chosen = {}
    for place, value in zip(cycle(st.columns(3)), values[:MOST_UNREAD], strict=False):
        code = choose(
            literal(value, 40),
            known_languages(),
            f"unread-{key}-{value}",
            place=place,
            index=None,
            placeholder="left out",
            format_func=language_name,
        )
        if code:
            chosen[value] = code
    return chosen


def draw_left_out_languages(chosen: ChosenData) -> None:
    """Ask for the languages that a stored set's rows are left out for, and store it with them as a new version."""
    rows = rows_of(chosen)
    counts = rows["language"].str.strip().value_counts()
    languages = draw_unread_languages(
        [value for value in counts.index if value and language_code(value) is None], chosen.token
    )
    if languages and st.button("Save with these languages", icon=":material/save:"):
        named = ", ".join(f"{value} is {language_name(code)}" for value, code in languages.items())
        with errors_shown():
            language = rows["language"].str.strip().replace(languages)
            add_version(chosen, rows.assign(language=language), f"languages: {named}")
            st.rerun()


def draw_detection(chosen: ChosenData) -> None:
    """Offer to detect each sentence's language, and draw the sentences where it is another than the set says."""
    rows = rows_of(chosen)
    with st.expander("Languages, sentence by sentence", icon=":material/translate:"):
        st.markdown(
            "Detects the language of each sentence from its letters. Of very short sentences it may be wrong: look "
            "before you save."
        )
        shown = f"detected-{chosen.token}"
        if not st.session_state.get(shown):
            st.session_state[shown] = st.button("Detect the languages", icon=":material/search:")
        if not st.session_state[shown]:
            return
        codes = _detected(chosen, rows)
        if codes is None:
            return
        stated = rows["language"].str.strip()
        as_stated = [
            language_code(value) in (code, f"{code}-tw") for value, code in zip(stated, codes, strict=True)
        ]
        other = ~pd.Series(as_stated, index=rows.index) & (rows["text"].str.strip() != "")
        if not other.any():
            st.success("Every sentence is in the language that the set says.", icon=":material/check_circle:")
            return
        found = rows.loc[other, ["row", "source", "text"]].assign(
            language=codes[other],
            explanation="the set says "
            + stated[other].map(language_name).where(stated[other] != "", "nothing"),
        )
        st.markdown(
            f"{counted(len(found), 'sentence')} in another language than the set says, which is filled in:"
        )
        draw_editor(chosen, found, "detected")


def _detected(chosen: ChosenData, rows: pd.DataFrame) -> "pd.Series[str] | None":
    """Return the language of each row, None while it is being detected, which is drawn."""
    key = f"languages-{chosen.token}"
    if key not in st.session_state:
        texts = rows["text"].tolist()
        label = "Detecting the languages ..."
        # A text takes as long as 3 kB of a table to audit.
        if (codes := done_or_shown(key, 3_000 * len(texts), label, detect_languages, texts)) is None:
            return None
        st.session_state[key] = codes
    return pd.Series(st.session_state[key], index=rows.index, dtype="str")


def draw_editor(chosen: ChosenData, found: pd.DataFrame, key: str) -> None:
    """Draw the rows of a finding as a table to edit, and store the set with the edits as a new version.

    Args:
        chosen: the set.
        found: columns row, source, and explanation or reason; with `language` that is what is proposed.
        key: tells this finding from the others of the set.
    """
    rows = rows_of(chosen)
    why = "reason" if "reason" in found else "explanation"
    columns = ["row", "source", why, *(["language"] if key == "detected" else [])]
    table = (
        rows.drop(columns=columns[3:]).reset_index(names="place").merge(found[columns], on=["row", "source"])
    )
    table = table.drop_duplicates("place").set_index("place")
    if len(table) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS:,} of {len(table):,} rows; the download has them all.")
    part = table.head(MOST_ROWS)[["text", "intent", "language", why, "row", "source"]]
    part.insert(0, "keep", value=True)
    intents: Sequence[str] = chosen.labelled.intents
    options = sorted({*known_languages(), *part["language"]})
    edited = st.data_editor(
        part,
        hide_index=True,
        disabled=[why, "row", "source"],
        key=f"edit-{key}-{chosen.token}",
        column_config={
            "keep": st.column_config.CheckboxColumn("Keep", width="small"),
            "text": st.column_config.TextColumn("Sentence", width="large"),
            "intent": st.column_config.SelectboxColumn("Intent", options=sorted({*intents, *part["intent"]}))
            if len(intents) <= MOST_INTENTS
            else st.column_config.TextColumn("Intent"),
            "language": st.column_config.SelectboxColumn(
                "Language", options=options, format_func=lambda code: language_name(str(code))
            ),
            why: st.column_config.TextColumn("Why", width="medium"),
            "row": "Row",
            "source": "File",
        },
    )
    with st.container(horizontal=True):
        if key == "detected":  # every row of it, not only those in view
            rest = table.iloc[MOST_ROWS:]
            edited = pd.concat([edited, rest[["text", "intent", "language"]].assign(keep=True)])
        changed, change = edit_rows(rows, edited)
        pressed = st.button(
            "Save as a new version",
            icon=":material/save:",
            disabled=not change,
            key=f"save-{key}",
            help=f"{change}. The set as it is stays." if change else "Change the table first.",
        )
        drop = key == "duplicates" and st.button(
            "Leave all of these out", icon=":material/delete_sweep:", key=f"drop-{key}"
        )
        draw_csv_button(found, (chosen.token, key), f"{key}.csv", key=f"download-{key}")
    if drop:
        changed, change = edit_rows(rows, table.assign(keep=False))
    if pressed or drop:
        with errors_shown():
            add_version(chosen, changed, change)
            st.rerun()


def draw_table(table: pd.DataFrame, key: str, token: str) -> None:
    """Draw a table's first rows, and offer all of them as a file; key and token tell it from every other."""
    if len(table) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS:,} of {len(table):,} rows; the download has them all.")
    st.dataframe(table.head(MOST_ROWS), hide_index=True, key=f"table-{key}")
    draw_csv_button(table, (token, key), f"{key}.csv", key=f"download-{key}")
