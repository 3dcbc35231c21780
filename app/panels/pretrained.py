"""The results of a run that trains from scratch: its curve while it trains, its figures at the end."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app.panels.widgets import draw_csv_button
from app.wording import sentence
from emu_core import charts
from emu_core.data.languages import language_name
from emu_core.errors import RunError
from emu_core.runs.config import RunConfig
from emu_core.runs.run import Run

_NAMES = {"hinge": "Hinge loss", "l2": "L2 penalty"}


def draw_results(run: Run) -> None:
    """Draw a finished run's figures."""
    try:
        metrics, config = run.metrics(), run.config()
    except RunError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    table = found_table(metrics, config)
    st.markdown(f"**Translations found**, on {_measured_on(metrics)}")
    percent = st.column_config.NumberColumn(format="%.1f")
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "P@1": st.column_config.NumberColumn(
                format="%.1f",
                help="Percent of sentences whose nearest one in the other language is their translation.",
            ),
            "P@3": percent,
            "P@10": percent,
            "Among": st.column_config.NumberColumn(format="localized", help="Sentences to choose from."),
        },
        key="pretrained-found",
    )
    if (table["Trained on"] == "no").any():
        st.caption(
            "Pairs of two languages that were not trained on are found through the third one that both were trained "
            "with."
        )
    draw_csv_button(
        table, (run.name, str(metrics.get("translation"))), f"{run.name}-translations.csv", key="found-csv"
    )
    st.page_link("views/translations.py", label="Look at what it finds", icon=":material/g_translate:")
    st.caption("On the Train page it can be chosen as the encoder to specialise with labelled sentences.")
    for warning in metrics.get("warnings", []):
        st.info(sentence(warning), icon=":material/info:")


def found_table(metrics: Mapping[str, Any], config: RunConfig) -> pd.DataFrame:
    """Return a row for each direction: P@1 with its 95 % interval, P@3, P@10, among how many, whether trained on.

    Args:
        metrics: metrics.json of a run that was trained from scratch.
        config: its config.json, whose language pairs the directions are named after.
    """
    rows = []
    for way, found in metrics.get("translation", {}).items():
        source, target = languages_of(way, config.languages)
        rows.append(
            {
                "Direction": f"{language_name(source)} → {language_name(target)}",
                "P@1": found["p_at_1"],
                "95 % interval": f"{found['low']:.1f} to {found['high']:.1f}",
                "P@3": found["p_at_3"],
                "P@10": found["p_at_10"],
                "Among": found["candidates"],
                "Trained on": "yes" if found["trained"] else "no",
            }
        )
    columns = ["Direction", "P@1", "95 % interval", "P@3", "P@10", "Among", "Trained on"]
    return pd.DataFrame(rows, columns=columns)


def languages_of(way: str, languages: Sequence[str]) -> tuple[str, str]:
    """Return the two codes of metrics.json's "en-zh-tw"; a code may have a hyphen of its own."""
    known = ((source, target) for source in languages for target in languages if f"{source}-{target}" == way)
    first, _, rest = way.partition("-")
    return next(known, (first, rest))


def draw_training(history: Sequence[dict[str, Any]]) -> None:
    """Draw P@1 after each epoch, and the losses."""
    if any("dev_accuracy" in record for record in history):
        st.markdown("**Translations found on held-out pairs, after each epoch**")
        st.plotly_chart(
            charts.held_out_curve(history),
            key="held-out",
            config={"displayModeBar": False},
            alt="P@1 on held-out pairs after each epoch.",
        )
    if history:
        st.markdown("**Training, step by step**")
        st.plotly_chart(charts.loss_curves(losses_of(history)), key="losses")


def losses_of(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the log with a loss of its own for each task, where there are several, and without P@1."""
    tasks = {record["task"] for record in history if "task" in record}
    found = []
    for record in history:
        shown = {_NAMES.get(name, name): value for name, value in record.items() if name != "dev_accuracy"}
        if len(tasks) > 1 and "task" in shown and "loss" in shown:
            shown[f"loss of {shown['task']}"] = shown.pop("loss")
        found.append(shown)
    return found


def mean_p_at_1(metrics: Mapping[str, Any]) -> float | None:
    """Return the mean P@1 over the directions trained on; None where nothing was measured."""
    trained = [found["p_at_1"] for found in metrics.get("translation", {}).values() if found.get("trained")]
    return sum(trained) / len(trained) if trained else None


def _measured_on(metrics: Mapping[str, Any]) -> str:
    return str(metrics.get("measured_on", "pairs held out"))
