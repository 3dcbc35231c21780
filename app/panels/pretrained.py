"""The results of a run that trains from scratch: its curves while it trains, its figures at the end."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.address import draw_link
from app.forms.model_name import RUN
from app.panels.widgets import draw_chart, draw_note, draw_table
from app.wording import sentence
from emu_core import charts
from emu_core.data.languages import language_name, split_pair
from emu_core.runs.run import Run

FOUND = ("Direction", "P@1", "95 % interval", "P@3", "P@10", "Among", "Trained on")
_NAMES = {"hinge": "Hinge loss", "l2": "L2 penalty"}


def draw_results(run: Run) -> None:
    """Draw a finished run's figures. Raises RunError if its folder is damaged."""
    metrics = run.metrics()
    table = found_table(metrics)
    st.markdown(f"**Translations found**, on {metrics.get('measured_on', 'pairs held out')}")
    percent = st.column_config.NumberColumn(format="%.1f")
    about = "Percent of sentences whose nearest neighbour in the other language is their translation."
    draw_table(
        table,
        "pretrained-found",
        f"{run.name}-translations.csv",
        {
            "P@1": st.column_config.NumberColumn(format="%.1f", help=about),
            "P@3": percent,
            "P@10": percent,
            "Among": st.column_config.NumberColumn(format="localized", help="Sentences to choose from."),
        },
    )
    if (table["Trained on"] == "no").any():
        st.caption(
            "Two languages that were not trained on as a pair are linked by a third one that both were paired with."
        )
    draw_link(
        "views/translations.py", "Look at what it finds", ":material/g_translate:", encoder=f"{RUN}{run.name}"
    )
    st.caption("The Train page offers it as an encoder to specialise with labelled sentences.")
    for warning in metrics.get("warnings", []):
        draw_note(sentence(warning))


def found_table(metrics: Mapping[str, Any]) -> pd.DataFrame:
    """Return the columns of `FOUND`, a row for each direction of a run from scratch."""
    rows = []
    for way, found in metrics.get("translation", {}).items():
        direction = " → ".join(map(language_name, split_pair(way) or [way]))
        interval, trained = f"{found['low']:.1f} to {found['high']:.1f}", "yes" if found["trained"] else "no"
        precisions = found["p_at_3"], found["p_at_10"]
        rows.append((direction, found["p_at_1"], interval, *precisions, found["candidates"], trained))
    return pd.DataFrame(rows, columns=list(FOUND))


def draw_held_out(history: Sequence[dict[str, Any]]) -> None:
    """Draw P@1 after each epoch, if it was measured."""
    if any("dev_accuracy" in record for record in history):
        st.markdown("**Translations found on held-out pairs, after each epoch**")
        draw_chart(
            charts.held_out_curves({"": history}), "held-out", "P@1 on held-out pairs after each epoch."
        )


def losses_of(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the log without P@1 and, if there are several tasks, with a separate loss for each."""
    tasks = {record["task"] for record in history if "task" in record}
    found = []
    for record in history:
        shown = {_NAMES.get(name, name): value for name, value in record.items() if name != "dev_accuracy"}
        if len(tasks) > 1 and "task" in shown and "loss" in shown:
            shown[f"loss of {shown['task']}"] = shown.pop("loss")
        found.append(shown)
    return found


def mean_p_at_1(metrics: Mapping[str, Any]) -> float | None:
    """Return the mean P@1 over the directions trained on; None if nothing was measured."""
    trained = [found["p_at_1"] for found in metrics.get("translation", {}).values() if found.get("trained")]
    return sum(trained) / len(trained) if trained else None
