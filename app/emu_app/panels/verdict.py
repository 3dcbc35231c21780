"""The verdict on a run or on two encoders, as every page shows it."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import draw_chart, draw_table, roomy_columns
from emu_app.shell.wording import literal, sentence
from emu_core.evaluation.changes import Verdict
from emu_core.reports.headline import language_bars
from emu_core.reports.verdict import COSTS, RIGHT_INTENTS, SIMILAR_SENTENCES, Measure, RunVerdict

_TALLEST, _HEIGHT_PX = 9, 300  # languages whose bars need no scrolling; the height of more
_LEAST_BARS_PX = 260  # the width of a measure's bars
_DRAW = {
    "worse": (st.error, ":material/trending_down:"),
    "better": (st.success, ":material/trending_up:"),
    "note": (st.info, ":material/language:"),
}
_WORDS = {
    RIGHT_INTENTS: (Word.RIGHT_INTENTS, Word.CLEAR),
    SIMILAR_SENTENCES: (Word.SIMILAR, Word.CLEAR),
    COSTS: (Word.FORGETTING,),
}


def draw_verdict(verdict: RunVerdict) -> None:
    """Draw the sentence, and what is below it."""
    draw, icon = _DRAW[verdict.kind]
    draw(f"**{literal(verdict.sentence)}**", icon=icon)
    draw_cards(verdict)
    draw_lines(verdict)


def draw_cards(verdict: RunVerdict) -> None:
    """Draw a card for each measure, and one for the costs."""
    for cell, (title, number, more) in zip(
        roomy_columns(len(verdict.cards), 260, "verdict-cards", border=True), verdict.cards, strict=True
    ):
        cell.metric(title, literal(number) or "–", help=help_on(*_WORDS[title]))
        cell.caption(literal(more))  # which wraps, as the metric's own line does not


def draw_lines(verdict: RunVerdict) -> None:
    """Draw what is said beside the sentence and the cards."""
    is_on_card = {verdict.other_tasks.text, verdict.costs}
    told = [line for line in verdict.lines[1:] if line.text not in is_on_card]
    draw_captions([line.text for line in told if line.kind != "worse"])
    for line in told:
        if line.kind == "worse":
            st.warning(sentence(line.text), icon=":material/info:")


def draw_captions(texts: Sequence[str], about: str | None = None) -> None:
    """Draw sentences below each other as one caption, if there are any."""
    if texts:
        st.caption("  \n".join(map(literal, texts)), help=about)


def draw_measures(verdict: RunVerdict, key: str, *, seen: bool = False) -> None:
    """Draw bars for each language, of each measure beside the other; `seen` tells of sentences that were trained on.

    They are in the order of the sentence, so that the first bars show what changed.
    """
    measures = verdict.told
    columns = roomy_columns(len(measures), _LEAST_BARS_PX, key) if measures else ()
    for column, measure in zip(columns, measures, strict=True):
        is_tall = measure.changes is not None and len(measure.changes.by_language) > _TALLEST
        with column, st.container(height=_HEIGHT_PX if is_tall else "content", border=False):
            st.html(language_bars(measure, seen=seen))


def draw_measure(measure: Measure, chart: go.Figure | None, key: str, *, is_folded: bool) -> None:
    """Draw a measure by language: the change with its interval, if it has a chart, and all numbers.

    What is worse in a language is said here again; the headline, or the verdict on the run, has told the rest.
    """
    if measure.changes is None:
        st.caption(literal(measure.missing))
        return
    if any(change.verdict is Verdict.WORSE for change in measure.changes.by_language.values()):
        draw, icon = _DRAW["worse"]
        draw(literal(f"{measure.clause[0].upper()}{measure.clause[1:]}. {measure.languages}"), icon=icon)
    if chart is not None:
        draw_chart(
            chart, key, f"{measure.title} by language: the change in points, with 95 % intervals around zero."
        )
    if not is_folded:
        _draw_numbers(measure, key)
        return
    with st.expander("All numbers", icon=":material/table:"):
        _draw_numbers(measure, key)


def _draw_numbers(measure: Measure, key: str) -> None:
    head, rows = measure.table()
    widths = {"language": st.column_config.TextColumn(width=340)}  # of the mean, which says what it is over
    draw_table(pd.DataFrame(list(rows), columns=list(head)), f"{key}-table", f"emu-{key}.csv", widths)
    st.caption(literal(measure.note), help=help_on(*_WORDS[measure.title]))
