"""Right intents and similar sentences of two encoders, by language."""

from typing import Literal

import pandas as pd
import streamlit as st

from emu_app.panels.context import A, B
from emu_app.panels.verdict import draw_measure
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.widgets import draw_chart, draw_table, roomy_columns
from emu_app.shell.wording import literal
from emu_core import charts
from emu_core.data.languages import language_name
from emu_core.data.wording import counted
from emu_core.evaluation.comparison import Comparison
from emu_core.reports.figures_as_text import significance_sentence
from emu_core.reports.verdict import RIGHT_INTENTS, comparison_verdict

MOST_SIDE_BY_SIDE = 7  # languages; larger matrices get a tab each
_CHANCE_POINTS = 1.0  # by which the leakage of a few hundred sentences varies by chance
_COLUMNS: tuple[Literal["base", "other", "difference"], ...] = ("base", "other", "difference")
_LEAKAGE = {
    "probe": "The language is predicted from the vector",
    "neighbours": "The nearest sentence is in the same language",
}


def draw_similar(comparison: Comparison, *, seen: bool = False) -> None:
    """Draw how similar sentences are found, by language and by language pair, and the language in the vectors.

    On sentences `seen` in training, no gain is shown as a success.
    """
    chart = charts.change_intervals(comparison.gains, ("A", "B"), seen=seen)
    draw_measure(comparison_verdict(comparison).similar, chart, "similar-sentences", is_folded=True)
    _draw_matrices(comparison)
    if comparison.leakage is not None:
        _draw_leakage(comparison.leakage)
    _draw_table(comparison.accuracy)


def draw_intents(comparison: Comparison) -> None:
    """Draw how many intents are named right, by language."""
    chart = None
    if comparison.intents is not None:
        chart = charts.change_intervals(comparison.intents.frame, ("A", "B"), RIGHT_INTENTS.lower())
    draw_measure(comparison_verdict(comparison).intents, chart, "right-intents", is_folded=True)


def _draw_matrices(comparison: Comparison) -> None:
    names = [A, B, "Difference"]
    side_by_side = len(comparison.languages) <= MOST_SIDE_BY_SIDE
    containers = roomy_columns(len(names), 370, "matrices") if side_by_side else st.tabs(names)
    for container, name, column in zip(containers, names, _COLUMNS, strict=True):
        draw_chart(
            charts.accuracy(comparison, column),
            f"matrix-{name}",
            f"Heat map of similar sentences by the languages asked and searched: {name}. The table below has "
            "the numbers.",
            container=container,
        )
    st.caption(literal(significance_sentence(comparison)), help=help_on(Word.SIMILAR, Word.PAIR))


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
            "Searched in": accuracy["pool"].map(language_name),
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
