"""The audit's findings on a set, with ways to fix it in the page; every fix makes a new version of the set."""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any

import pandas as pd
import streamlit as st

from emu_app.data.library import ChosenData, add_version, rows_of
from emu_app.shell.session import Remembered
from emu_app.shell.widgets import (
    MAX_TABLE_ROWS,
    choose,
    draw_csv_button,
    draw_note,
    draw_table,
    say_cut,
    then_rerun,
)
from emu_app.shell.wording import literal
from emu_app.work.cache import done_or_shown
from emu_core.data.audit import LONG_TEXT_CHARACTERS, Audit
from emu_core.data.cleaning import stripped
from emu_core.data.detection import detect_languages
from emu_core.data.edits import edit_rows
from emu_core.data.intent_names import Difference, merge_intents
from emu_core.data.languages import (
    UNDETERMINED,
    known_languages,
    language_code,
    language_codes,
    language_name,
)
from emu_core.data.missing import USUAL_WORDS, without_missing
from emu_core.data.sets import LABELLED_COLUMNS
from emu_core.data.wording import counted

MOST_LOST = 0.05  # share of the rows; if more are left out, a banner says so
MOST_UNREAD = 12  # names of languages that are asked about
_MOST_INTENTS = 200  # in a cell's list; if there are more, intents are typed

# Tables of `Audit`, the most serious first: a title, the effect on training, and how to fix it.
FINDINGS = {
    "dropped": (
        "Rows left out",
        "These rows can't be used. Fill in what is missing, or fix them in the file.",
    ),
    "conflicts": (
        "The same sentence with different intents",
        "No encoder can tell them apart. Choose one intent, or make the sentences more specific.",
    ),
    "id_conflicts": (
        "The same id with different intents",
        "The same id means the same sentence in another language. Correct the ids or the intents.",
    ),
    "leaks": (
        "The same sentence or id in two splits",
        "The test score is too good if train contains test sentences. Keep all translations in one split.",
    ),
    "unused": (
        "Rows of no known split",
        "They are neither trained on nor measured. The splits are train, dev and test.",
    ),
    "case_variants": (
        "Intents that differ only in case",
        "They are usually meant to be one. The more frequent spelling is kept.",
    ),
    "language_variants": (
        "Intents that end in their language",
        "Without the language at their end, sentences of several languages share intents.",
    ),
    "script_misfits": (
        "Letters that do not fit the language",
        "Often the language column is wrong, or the text was damaged.",
    ),
    "missing_words": (
        "Words that may be missing values",
        "Other programs write *nan*, *NULL* or *-* where a value is missing. Here they are data, but ids that are such "
        "words join nothing.",
    ),
    "thin": (
        "An intent's only sentence in a language",
        "With a single sentence there is no neighbour to find and little to learn. Add a second.",
    ),
    "duplicates": (
        "Near repeats",
        "They differ only in case, spacing, id or split. They are kept, and count twice.",
    ),
    "long_texts": (
        "Very long texts",
        f"Of texts over {LONG_TEXT_CHARACTERS:,} characters, an encoder reads only the beginning.",
    ),
}
_GRAVE = ("dropped", "conflicts", "id_conflicts", "leaks", "unused", "case_variants", "language_variants")
# The findings that merging intents resolves: what to merge, and the words on the button.
_MERGING = {
    "case_variants": (Difference.CASE, "Merge intents that differ in case only"),
    "language_variants": (Difference.LANGUAGE, "Drop the language from the intents"),
}
# How to fix rows that are left out, by the beginning of the reason.
FIXES = {
    "not a language": "say which languages they are, under *Rows left out*",
    "no language": "press *Detect the languages* below",
    "no intent": "give them intents under *Label more sentences*, or *Rows left out*",
    "several intents": "choose one under *Rows left out*",
    "annotators disagree": "choose an intent under *Rows left out*",
    "an object without a name": "give them intents under *Rows left out*",
    "no text": "there is nothing to learn from them",
    "an exact repeat": "nothing is lost, since the same sentence is kept",
}


def draw_left_out(audit: Audit, waiting: int) -> None:
    """Draw a banner with reasons and fixes if many rows are left out, not counting `waiting` rows to label."""
    lost = audit.rows_read - audit.rows_kept
    if lost - waiting <= MOST_LOST * audit.rows_read:
        return
    lines = []
    reasons = audit.dropped["reason"].str.extract(f"^({'|'.join(FIXES)})(?:: (.*))?")
    for reason, count in reasons[0].value_counts().items():
        examples = literal(", ".join(reasons.loc[reasons[0] == reason, 1].dropna().unique()[:4]), 200)
        named = f" ({examples})" if examples else ""
        lines.append(f"- {counted(count, 'row')}, {reason}{named}: {FIXES[str(reason)]}.")
    st.warning(
        f"**{lost:,} of {counted(audit.rows_read, 'row')} ({lost / audit.rows_read:.0%}) are left out.**\n\n"
        + "\n".join(lines),
        icon=":material/warning:",
    )


def draw_findings(chosen: ChosenData) -> None:
    """Draw an expander for each kind of finding, with its rows to fix."""
    audit = chosen.audit
    findings = {key: rows for key in FINDINGS if len(rows := getattr(audit, key))}
    if notes := [literal(note) for note in (*audit.notes, *audit.none_remarks(), *audit.remarks)]:
        draw_note("\n\n".join(notes))
    if not findings:
        st.success("The audit found nothing to fix.", icon=":material/check_circle:")
    for key, rows in findings.items():
        title, meaning = FINDINGS[key]
        icon = ":material/warning:" if key in _GRAVE else ":material/info:"
        with st.expander(f"{title} ({len(rows):,})", icon=icon):
            st.markdown(meaning)
            if key == "dropped":
                reasons = [line for line in audit.summary() if line.startswith("Dropped, ")]
                st.markdown("\n".join(f"- {literal(line)}" for line in reasons))
                _draw_left_out_languages(chosen)
            if key in _MERGING:
                _draw_merging(chosen, *_MERGING[key])
            if key == "missing_words":
                _draw_emptying(chosen)
            if chosen.is_demo:
                draw_table(rows, f"table-{key}", f"{key}.csv")
            else:
                _draw_editor(chosen, rows, key)
    if not chosen.is_demo:
        _draw_detection(chosen)


def _draw_merging(chosen: ChosenData, difference: Difference, words: str) -> None:
    """Offer to merge intents, as a new version of the set."""
    if st.button(words, icon=":material/merge:", key=f"merge-{difference}", help="This version is kept."):
        with then_rerun():
            rows = rows_of(chosen)
            intents = merge_intents(
                rows.assign(language=language_codes(stripped(rows["language"]))), [difference]
            )
            count = rows["intent"].nunique() - intents.nunique()
            change = f"{counted(count, 'intent')} merged that differed only in {difference}"
            add_version(chosen, rows.assign(intent=intents), change)


def _draw_emptying(chosen: ChosenData) -> None:
    """Offer to treat words such as nan as missing values, as a new version of the set."""
    words = "Treat these words as missing values"
    if st.button(words, icon=":material/backspace:", key="empty-words", help="This version is kept."):
        with then_rerun():
            rows = rows_of(chosen)
            intents = (*chosen.no_intents, *chosen.real_intents)
            emptied = rows.assign(
                **{
                    column: without_missing(stripped(rows[column]), column, [USUAL_WORDS], intents)
                    for column in LABELLED_COLUMNS
                }
            )
            before = rows[list(LABELLED_COLUMNS)].apply(stripped)
            count = int((emptied[list(LABELLED_COLUMNS)] != before).to_numpy().sum())
            add_version(
                chosen, emptied, f"{counted(count, 'cell')} emptied that held a word for a missing value"
            )


def draw_unread_languages(values: Sequence[str], key: str) -> dict[str, str]:
    """Ask which languages unknown names mean, and return the codes of those that were chosen."""
    if not values:
        return {}
    if set(values) - {UNDETERMINED}:
        st.markdown("These names of languages are unknown. Rows without a language are left out:")
    if UNDETERMINED in values:
        st.markdown(
            "*Undetermined* are sentences whose letters don't tell their language, such as short greetings. Without an "
            "answer they are left out:"
        )
    chosen = {}
    for column, value in zip(cycle(st.columns(3)), values[:MOST_UNREAD], strict=False):
        code = choose(
            "Undetermined" if value == UNDETERMINED else literal(value, 40),
            known_languages(),
            f"unread-{key}-{value}",
            container=column,
            index=None,
            placeholder="left out",
            format_func=language_name,
        )
        if code:
            chosen[value] = code
    return chosen


def _draw_left_out_languages(chosen: ChosenData) -> None:
    """Ask which languages unknown names in a stored set mean, and save the answers as a new version."""
    rows = rows_of(chosen)
    counts = rows["language"].str.strip().value_counts()
    unread = [value for value in counts.index if value and language_code(value) is None]
    languages = draw_unread_languages(unread, chosen.token)
    if languages and st.button("Save with these languages", icon=":material/save:"):
        named = ", ".join(f"{value} is {language_name(code)}" for value, code in languages.items())
        with then_rerun():
            language = rows["language"].str.strip().replace(languages)
            add_version(chosen, rows.assign(language=language), f"languages: {named}")


def _draw_detection(chosen: ChosenData) -> None:
    rows = rows_of(chosen)
    with st.expander("Languages, sentence by sentence", icon=":material/translate:"):
        st.markdown(
            "Detects the language of each sentence from its letters. Of very short sentences it may be undetermined: "
            "they stay as they are."
        )
        shown = Remembered(f"detected-{chosen.token}", False)
        if not shown.get():
            shown.set(st.button("Detect the languages", icon=":material/search:"))
        if not shown.get():
            return
        codes = _detected(chosen, rows)
        if codes is None:
            return
        stated = rows["language"].str.strip()
        as_stated = [
            language_code(value) in (code, f"{code}-tw") for value, code in zip(stated, codes, strict=True)
        ]
        other = ~pd.Series(as_stated, index=rows.index) & (codes != UNDETERMINED)
        if not other.any():
            st.success(
                "Every sentence is in the language that the set states.", icon=":material/check_circle:"
            )
            return
        names = stated[other].map(language_name).where(stated[other] != "", "nothing")
        mistaken = rows.loc[other, ["row", "source", "text"]]
        mistaken = mistaken.assign(language=codes[other], explanation="the set says " + names)
        st.markdown(
            f"{counted(len(mistaken), 'sentence')} in another language than the set states; the detected one is "
            "filled in:"
        )
        _draw_editor(chosen, mistaken, "detected")


def _detected(chosen: ChosenData, rows: pd.DataFrame) -> "pd.Series[str] | None":
    """Return the language of each row; None, with progress drawn, while it is being detected."""
    key = f"languages-{chosen.token}"
    detected = Remembered[list[str] | None](key, None)
    if detected.get() is None:
        texts = rows["text"].tolist()
        label = "Detecting the languages ..."
        # Detecting a text's language takes as long as auditing 3 kB of a table.
        if (codes := done_or_shown(key, 3_000 * len(texts), label, detect_languages, texts)) is None:
            return None
        detected.set(codes)
    return pd.Series(detected.get(), index=rows.index, dtype="str")


def _draw_editor(chosen: ChosenData, findings: pd.DataFrame, key: str) -> None:
    """Draw the rows of a finding, or of detected languages, to edit, and save the edits as a new version of the set."""
    rows, detected = rows_of(chosen), key == "detected"
    why = "reason" if "reason" in findings else "explanation"
    columns = ["row", "source", why] + ["language"] * detected
    table = rows.drop(columns=columns[3:]).reset_index(names="place")
    table = table.merge(findings[columns], on=["row", "source"]).drop_duplicates("place").set_index("place")
    say_cut(table)
    part = table.head(MAX_TABLE_ROWS)[["text", "intent", "language", why, "row", "source"]]
    part.insert(0, "keep", value=True)
    column = st.column_config
    edited = st.data_editor(
        part,
        hide_index=True,
        disabled=[why, "row", "source"],
        key=f"edit-{key}-{chosen.token}",
        column_config={
            "keep": column.CheckboxColumn("Keep", width="small"),
            "text": column.TextColumn("Sentence", width="large"),
            "intent": intent_column({*chosen.labelled.intents, *chosen.audit.none_of_these, *part["intent"]}),
            "language": column.SelectboxColumn(
                "Language",
                options=sorted({*known_languages(), *part["language"]}),
                format_func=lambda code: language_name(str(code)),
            ),
            why: column.TextColumn("Why", width="medium"),
            "row": "Row",
            "source": "File",
        },
    )
    with st.container(horizontal=True):
        if detected:  # all rows, not only those in view
            hidden_rows = table.iloc[MAX_TABLE_ROWS:]
            edited = pd.concat([edited, hidden_rows[["text", "intent", "language"]].assign(keep=True)])
        changed, change = edit_rows(rows, edited)
        pressed = st.button(
            "Save as a new version",
            icon=":material/save:",
            disabled=not change,
            key=f"save-{key}",
            help=f"{change}. This version is kept." if change else "Change the table first.",
        )
        drop = key == "duplicates" and st.button(
            "Leave all of these out", icon=":material/delete_sweep:", key=f"drop-{key}"
        )
        draw_csv_button(findings, f"{key}.csv", key=f"download-{key}")
    if drop:
        changed, change = edit_rows(rows, table.assign(keep=False))
    if pressed or drop:
        with then_rerun():
            add_version(chosen, changed, change)


def intent_column(intents: Iterable[str]) -> Any:
    """Return the configuration of an editable column of intents: a list or, if there are too many, free text."""
    options = sorted(intents)
    if len(options) > _MOST_INTENTS:
        return st.column_config.TextColumn("Intent")
    return st.column_config.SelectboxColumn("Intent", options=options)
