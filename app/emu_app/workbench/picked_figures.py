"""The picked sentences in figures: accuracy, confusions and predictions of just these, beside those of all."""

import pandas as pd
import streamlit as st

from emu_app.workbench.subject import Subject, computed_once
from emu_core.data.wording import counted

_KEY = ["text", "language", "intent", "id"]
PREDICTIONS = {
    "A finds": "base_intent",
    "B finds": "other_intent",
}  # columns of the table of picked sentences
_PAIRS = {"intent": "Intent", "finds": "Taken for", "A": "By A", "B": "By B"}


def found_for(picked: pd.DataFrame, subject: Subject) -> pd.DataFrame:
    """Return the rows of `Comparison.changes` of those picked rows of the set that are measured, by their index."""
    changes, number_of = computed_once("changes", subject, lambda: _changes(subject))
    keys = zip(*(picked[column] for column in _KEY), strict=True)
    numbers = {row: number_of[key] for row, key in zip(picked.index, keys, strict=True) if key in number_of}
    return changes.iloc[list(numbers.values())].set_axis(list(numbers))


def _changes(subject: Subject) -> tuple[pd.DataFrame, dict[tuple[str, ...], int]]:
    sentences = subject.comparison.sentences
    keys = zip(*(sentences[column] for column in _KEY), strict=True)
    return subject.comparison.changes(), {key: number for number, key in enumerate(keys)}


def draw_figures(found: pd.DataFrame, picked_count: int, subject: Subject) -> None:
    """Draw the accuracy of the picked sentences beside that of all, and what the wrong ones are taken for."""
    everything, _ = computed_once("changes", subject, lambda: _changes(subject))
    if found.empty:
        st.caption("None of them is among the measured sentences; see *Measured on*.")
        return
    of_these, of_all = _right(found), _right(everything)
    these = "these" if len(found) == picked_count else f"the {len(found):,} of them that are measured"
    st.markdown(
        f"Nearest neighbours right, of {these}: A **{of_these[0]:.0f} %**, B **{of_these[1]:.0f} %**; of all "
        f"{counted(len(everything), 'sentence')}: A {of_all[0]:.0f} %, B {of_all[1]:.0f} %.",
        help="A sentence is right if the one most like it, among the measured ones of all languages, has its intent.",
    )
    pairs = _confused(found)
    if pairs.empty:
        st.caption("Neither confuses any of them.")
        return
    st.dataframe(
        pairs.rename(columns=_PAIRS), hide_index=True, key="picked-confused", row_height=28,
        height="auto" if len(pairs) <= 5 else 180,
    )  # fmt: skip


def _right(changes: pd.DataFrame) -> list[float]:
    """Return the percentage of sentences that A and B have right."""
    return [
        100 * float((changes[f"{side}_intent"] == changes["intent"]).mean()) for side in ("base", "other")
    ]


def _confused(changes: pd.DataFrame) -> pd.DataFrame:
    """Return how often A and B take a sentence of one intent for another, what B confuses most first."""
    counts = {
        name: changes.assign(finds=changes[f"{side}_intent"])[["intent", "finds"]].value_counts()
        for name, side in (("A", "base"), ("B", "other"))
    }
    table = pd.DataFrame(counts).fillna(0).astype(int).reset_index()
    wrong = table[table["intent"] != table["finds"]]
    return wrong.sort_values(["B", "A"], ascending=False, kind="stable")


def with_predictions(table: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Return a table of picked sentences with what A and B find for each, "" if it isn't measured."""
    finds = {title: found[column].reindex(table.index) for title, column in PREDICTIONS.items()}
    return table.assign(**{title: values.fillna("") for title, values in finds.items()})
