"""The forgetting check: which abilities of its base a specialised encoder has lost."""

import shlex
from functools import partial

import pandas as pd
import streamlit as st

from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import RUN_PREFIX
from emu_app.shell.session import Remembered
from emu_app.shell.state import is_from_scratch
from emu_app.shell.widgets import draw_chart, draw_note, draw_table
from emu_app.shell.wording import literal
from emu_app.work import cache
from emu_app.work.background import report
from emu_app.work.vectors import weights_of
from emu_core import charts
from emu_core.api.forgetting import forgetting
from emu_core.charts.intervals import ROW
from emu_core.evaluation.forgetting import MOST_FALL_POINTS, MOST_FALL_SPEARMAN, PARTS, measure_name
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.run import Run

_MOST_NAMED = 3  # measures in a sentence, the worst first
MOST_BARS = 20  # bars in view; a taller chart scrolls


def draw_forgetting(run: Run) -> None:
    """Draw the run's forgetting check, or offer to run it."""
    if is_from_scratch(run):
        draw_note(
            "An encoder that was trained from scratch has no base that it could have forgotten; specialise it, and "
            "look at that run."
        )
        return
    measured = read_forgetting(run)
    if measured is None:
        _draw_offer(run)
        return
    small, words = measured.attrs["measured_on"], _in_words(measured)
    fallen = measured[measured["flagged"]].sort_values("difference", kind="stable")
    sure = fallen[fallen["high"] < 0]
    if fallen.empty:
        st.success("Nothing was forgotten: no measure fell too far.", icon=":material/check_circle:")
    for rows, draw, title in (
        (sure, st.error, "Forgotten"),
        (fallen.drop(sure.index), st.warning, "Perhaps forgotten; the intervals include no change"),
    ):
        if not rows.empty:
            named = "; ".join(
                f"{row['Measure'].lower()}, {literal(row['Language'], 60)} {row['Base']} → {row['Specialised']}"
                for row in words.loc[rows.index[:_MOST_NAMED]].to_dict("records")
            )
            named += f"; and {len(rows) - _MOST_NAMED} more, below" if len(rows) > _MOST_NAMED else ""
            draw(f"**{title}:** {named}.", icon=":material/trending_down:")
    bars = {part: count for part in PARTS if (count := int((measured["part"] == part).sum()))}
    for column, (part, count) in zip(st.columns(max(1, len(bars))), bars.items(), strict=False):
        about = PARTS[part].title
        with column:
            st.header(about)
            with st.container(height=ROW * MOST_BARS if count > MOST_BARS else "content", border=False):
                about += (
                    ": rises and falls, with 95 % intervals around zero. The table below has the numbers."
                )
                draw_chart(charts.forgetting(measured, part), f"forgetting-{part}", about)
    st.caption(
        "The base encoder's abilities on sentences outside your data, and how much of them is left. Similarity: how "
        "well cosines rank pairs of sentences as people do (Spearman's correlation). Translations: how often the "
        "nearest neighbour of a sentence is its translation. Lines are 95 % intervals; the dotted line is the largest "
        f"harmless fall, {MOST_FALL_SPEARMAN:g} or {MOST_FALL_POINTS:g} point.",
        help=help_on(Word.FORGETTING, Word.BASE),
    )
    if small:
        draw_note(
            f"Measured on a small set: {literal(small, 300)}. It detects a fall of several points; for a smaller one, "
            "and for the similarity of sentences, measure on your own files:"
        )
        _draw_command(run)
    pairs = {"Pairs": st.column_config.NumberColumn(format="localized", help="Pairs of sentences.")}
    draw_table(words, "forgetting-table", "emu-forgetting.csv", pairs, download=measured)


def _draw_offer(run: Run) -> None:
    """Offer to measure on the bundled set, or draw the progress; name the command that measures on other files."""
    st.markdown(
        "Forgetting was not measured for this run. A small bundled set shows whether it still finds translations as "
        "well as its base: questions of hotel guests or, if the run was trained on those, commands to a smart home."
    )
    asked = Remembered(f"forgetting-asked-{run.folder}", False)
    if asked.get():
        key = f"forgetting:{weights_of(f'{RUN_PREFIX}{run.folder}')}"
        label = f"{run.name}: encoding the small set with both encoders; small ones take up to a minute"
        if cache.computed(key, label, partial(forgetting, on_progress=report), run.folder):
            asked.forget()
            cache.background().forget(key)  # the result is in the run's folder
            st.rerun()
    elif st.button("Measure it on the small set", icon=":material/straighten:", key="forgetting-measure"):
        asked.set(True)
        st.rerun()
    st.markdown("This command measures it on your own files of similarity scores or translations:")
    _draw_command(run)


def _draw_command(run: Run) -> None:
    folder = shlex.quote(str(run.folder))
    st.code(f"emu forgetting {folder} --sts FOLDER --translations FOLDER", language="bash", wrap_lines=True)


def _in_words(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the table to show: names in words, and numbers with the decimals of their part."""
    rows = []
    for row in measured.to_dict("records"):
        part = PARTS[row["part"]]
        number, change = f"{{:.{part.places}f}}".format, f"{{:+.{part.places}f}}".format
        rows.append(
            {
                "Measure": part.title,
                "Language": measure_name(row["part"], row["name"]),
                "Base": number(row["base"]),
                "Specialised": number(row["specialised"]),
                "Difference": change(row["difference"]),
                "Difference, 95 %": f"{change(row['low'])} to {change(row['high'])}",
                "Pairs": row["count"],
                "Verdict": "fell too far" if row["flagged"] else "",
            }
        )
    return pd.DataFrame(rows, index=measured.index)
