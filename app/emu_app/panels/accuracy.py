"""Accuracy before and after: means, matrices, losses, and the guards."""

from collections.abc import Mapping
from typing import Literal

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from emu_app.panels.context import A, B
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import draw_chart, draw_table, roomy_columns
from emu_app.shell.wording import literal, sentence
from emu_core import charts
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.evaluation.comparison import SIGNIFICANT, Comparison
from emu_core.evaluation.guard import LanguageChange, Verdict
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports.figures import BEFORE_AND_AFTER, Figure
from emu_core.reports.figures_as_text import significance_sentence
from emu_core.reports.headline import verdict_sentence
from emu_core.reports.run_figures_as_text import new_intent_change, prediction_sentence, whitening_sentence

RETRIEVAL, PREDICTION = "Retrieval among unseen sentences", "Prediction from the labelled sentences"
MOST_SIDE_BY_SIDE = 7  # languages; larger matrices get a tab each
_PAIR, _RIGHT = "language pair", "right intents"  # the words of the pages
_CHANCE_POINTS = 1.0  # by which the leakage of a few hundred sentences varies by chance
_COLUMNS: tuple[Literal["base", "other", "difference"], ...] = ("base", "other", "difference")
_DRAW = {Verdict.LOSES: st.error, Verdict.MAY_LOSE: st.warning}
_LEAKAGE = {
    "probe": "The language is predicted from the vector",
    "neighbours": "The nearest sentence is in the same language",
}


def draw_accuracy(comparison: Comparison, *, seen: bool = False) -> None:
    """Draw means, gains and losses, matrices, leakage and all language pairs.

    On sentences `seen` in training, no gain is shown as a success.
    """
    _draw_means(comparison, seen)
    _draw_title(RETRIEVAL)
    chart = charts.guard_intervals(comparison.gains, ("A", "B"), seen=seen)
    _draw_intervals(chart, "guard", ("A", "B"))
    _draw_matrices(comparison)
    if comparison.leakage is not None:
        _draw_leakage(comparison.leakage)
    _draw_table(comparison.accuracy)


def _draw_means(comparison: Comparison, seen: bool) -> None:
    means = comparison.means_over(_PAIR).to_dict("records")
    cells = roomy_columns(len(means) + 2, 260, "means", border=True)
    for cell, row in zip(cells, means, strict=False):
        cell.metric(
            f"Right intents, {row['over']}",
            f"{row['other']:.1f} %",
            f"{row['difference']:+.1f} points from {row['base']:.1f}" + ", seen in training" * seen,
            delta_color="off" if seen else "normal",
            help=help_on(Word.ACCURACY, Word.PAIR, text="The mean; each language pair counts once."),
        )
    changed = {"better": comparison.risen, "worse": comparison.fallen}
    for cell, (name, rows) in zip(cells[-2:], changed.items(), strict=True):
        cell.metric(
            f"Language pairs that got {name}",
            len(rows),
            f"{int((rows['p_value'] < SIGNIFICANT).sum())} clearly",
            delta_color="off",
            delta_arrow="off",
            help=help_on(
                Word.PAIR, text=f"Clearly: p < {SIGNIFICANT} in an exact McNemar test of the pair alone."
            ),
        )


def _draw_matrices(comparison: Comparison) -> None:
    names = [A, B, "Difference"]
    side_by_side = len(comparison.languages) <= MOST_SIDE_BY_SIDE
    containers = roomy_columns(len(names), 370, "matrices") if side_by_side else st.tabs(names)
    for container, name, column in zip(containers, names, _COLUMNS, strict=True):
        draw_chart(
            charts.accuracy(comparison, column),
            f"matrix-{name}",
            f"Heat map of right intents by the languages of asked and labelled sentences: {name}. The table below has "
            "the numbers.",
            container=container,
        )
    st.caption(literal(significance_sentence(comparison, _PAIR)), help=help_on(Word.ACCURACY, Word.PAIR))


def _draw_leakage(leakage: pd.DataFrame) -> None:
    st.markdown("**Language in the vectors**", help=help_on(Word.LANGUAGE))
    rows = leakage.to_dict("records")
    for cell, row in zip(st.columns(len(rows), border=True), rows, strict=True):
        difference = row["other"] - row["base"]
        cell.metric(
            f"{_LEAKAGE[row['measure']]} (chance {row['chance']:.1f} %)",
            f"{row['other']:.1f} %",
            f"{difference:+.1f} points from {row['base']:.1f}",
            delta_color="inverse" if abs(difference) >= _CHANCE_POINTS else "off",
        )
    st.caption(
        f"How well the language can be told, on {counted(rows[0]['sentences'], 'sentence')} in "
        f"{rows[0]['languages']} languages; the nearer to chance, the better. A sentence's own translations are left "
        "out.",
        help="The first is the balanced accuracy of a linear probe, in cross-validation.",
    )


def _draw_table(accuracy: pd.DataFrame) -> None:
    titles = ("A %", "B %", "Difference")
    with st.expander("Every language pair, with 95 % intervals and the paired test", icon=":material/table:"):
        shown = {
            "Asked in": accuracy["queries"].map(language_name),
            "Labelled in": accuracy["pool"].map(language_name),
            "Sentences": accuracy["n"],
        }
        for name, title, column in zip(("A", "B", "Difference"), titles, _COLUMNS, strict=True):
            low, high = (accuracy[f"{column}_{end}"].map("{:.1f}".format) for end in ("low", "high"))
            shown |= {title: accuracy[column], f"{name}, 95 %": low + " to " + high}
        shown |= {
            "Fixed": accuracy["fixed"],
            "Broken": accuracy["broken"],
            "p (McNemar)": accuracy["p_value"],
        }
        number = st.column_config.NumberColumn
        draw_table(
            pd.DataFrame(shown),
            "accuracy",
            "emu-accuracy.csv",
            dict.fromkeys(titles, number(format="%.1f")) | {"p (McNemar)": number(format="%.3f")},
            download=accuracy,
            most=len(accuracy),
        )


def draw_guard(figure: Figure, metrics: Metrics) -> None:
    """Draw which languages are better and worse in retrieval, in a line, and each language's gain or loss."""
    if metrics.guard:
        _draw_changes(figure, metrics, RETRIEVAL, metrics.guard)


def draw_prediction(figure: Figure, metrics: Metrics) -> None:
    """Draw how accurate predictions are, which languages are better and worse, and each language's gain or loss."""
    if metrics.prediction is not None:
        st.caption(literal(prediction_sentence(metrics.prediction)))
        _draw_changes(figure, metrics, PREDICTION, metrics.prediction.guard)


def _draw_changes(
    figure: Figure, metrics: Metrics, title: str, changes: Mapping[str, LanguageChange]
) -> None:
    _draw_title(title)  # first, since a run may be better in one measure and worse in another
    is_worse = any(change.verdict is Verdict.LOSES for change in changes.values())
    (st.error if is_worse else st.info)(
        literal(verdict_sentence(changes)),
        icon=":material/trending_down:" if is_worse else ":material/language:",
    )
    for chart in figure.charts(figure.value(metrics)):
        _draw_intervals(chart, figure.name, BEFORE_AND_AFTER, is_retrieval=title == RETRIEVAL)


def _draw_title(title: str) -> None:
    st.markdown(f"**{title}: gains and losses by language**", help=help_on(Word.GUARD, Word.ACCURACY))


def _draw_intervals(chart: go.Figure, key: str, names: tuple[str, str], *, is_retrieval: bool = True) -> None:
    """Draw a chart of each language's gain or loss, and say how to read it."""
    alt = "The gain or loss of each language in points of accuracy, with 95 % intervals around zero."
    draw_chart(chart, key, alt)
    pools = ", among labelled ones in every language" if is_retrieval else ""
    st.caption(
        f"Sentences in each language{pools}: right intents of 100, the change from {names[0]} to {names[1]}, with "
        "95 % intervals. A language loses if its whole interval is below zero, and may lose if its estimate is."
    )


def draw_new_intents(figure: Figure, metrics: Metrics) -> None:
    """Draw the gain or loss of sentences whose intents have no labels."""
    measured = figure.value(metrics)
    draw = None if measured is None else _DRAW.get(measured.verdict)
    icon = ":material/trending_down:" if draw else ":material/new_label:"
    (draw or st.info)(sentence(new_intent_change(measured, _RIGHT)), icon=icon)
    if why := whitening_sentence(measured):
        st.caption(literal(why), help=help_on(Word.WHITENING))
