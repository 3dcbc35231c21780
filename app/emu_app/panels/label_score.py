"""The score after each round of labelling: how it changed, by language, and what the next labels would add."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from emu_app.data.library import ChosenData, keep_score, scores
from emu_app.shell.model_name import plain_name
from emu_app.shell.widgets import draw_chart, draw_note
from emu_app.shell.wording import literal
from emu_core import charts
from emu_core.data.languages import language_name


def draw_score(chosen: ChosenData, score: dict[str, Any] | None, measured_on: str) -> None:
    """Draw the score of this round, or of the last one while this one is being measured, and earlier ones.

    `measured_on` names the encoder and the held-out sentences, of which alone scores can be compared.
    """
    if score is not None and not score:
        draw_note("No sentences are held out, so the effect of the labels can't be measured.")
        return
    rounds = [round_score for round_score in scores(chosen) if round_score.get("of") == measured_on]
    if score is None:
        if not rounds:
            return
        score = max(rounds, key=lambda round_score: round_score["labels"])
    elif score not in rounds:
        earlier = [of for of in rounds if of["labels"] == score["labels"]]
        score = {key: value for of in earlier for key, value in of.items() if key == "forecast"} | score
        if score not in earlier:
            keep_score(chosen, score)
        rounds = [*(of for of in rounds if of not in earlier), score]
    table = pd.DataFrame(map(_with_forecast, rounds)).drop_duplicates("labels")
    before = table[table["labels"] < score["labels"]].sort_values("labels")
    delta, is_change = _since(score, before)
    _draw_left_out(score)
    st.metric(
        "Accuracy on held-out sentences",
        f"{score['fitted']:.1f} %",
        delta=delta,
        delta_color="normal" if is_change else "off",
        delta_arrow="auto" if is_change else "off",
        help="The share of held-out sentences whose nearest labelled sentence has their intent, by the default method "
        f"on {literal(plain_name(score['of'].rpartition(':')[0]))}; the mean over the languages. The held-out "
        "sentences stay the same.",
    )
    draw_chart(
        charts.labelling_curve(table),
        "labelling-curve",
        "Lines of the accuracy on held-out sentences over the number of labelled ones.",
    )
    _draw_languages(score, 0 if before.empty else int(before["labels"].iloc[-1]), rounds)


def _since(score: dict[str, Any], before: pd.DataFrame) -> tuple[str | None, bool]:
    """Return how the score differs from that of the round before, if there is one, and whether it differs at all."""
    if before.empty:
        return None, False
    gain, labels = score["fitted"] - before["fitted"].iloc[-1], f"{before['labels'].iloc[-1]:,} labels"
    words = f"{gain:+.1f}"
    if words in ("+0.0", "-0.0"):
        return f"as with {labels}", False
    return f"{words} points since {labels}", True


def _draw_left_out(score: dict[str, Any]) -> None:
    """Draw how many labelled sentences are guessed right in each language without held-out ones."""
    for language, (right, count) in score.get("left_out", {}).items():
        st.metric(
            f"{language_name(language)}: right guesses",
            f"{right} of {count}",
            help=f"No {language_name(language)} sentence is held out. So each of these {count:,} labelled ones was "
            "guessed by a method that was fitted without it and its translations.",
        )


def _with_forecast(score: dict[str, Any]) -> dict[str, Any]:
    """Return a round with the forecast of the mean in columns of its own."""
    forecast = score.get("forecast")
    if not forecast:
        return score
    gain, low, high = forecast["gains"][""]
    return score | {"more": forecast["more"], "gain": gain, "low": low, "high": high}


def _draw_languages(score: dict[str, Any], labels_before: int, rounds: list[dict[str, Any]]) -> None:
    """Draw by language what the round before forecast, what was measured, and what this round forecasts."""
    if "by_language" not in score:  # stored by an earlier version
        return
    before = next((of for of in rounds if of["labels"] == labels_before and "by_language" in of), {})
    lines = []
    for language, accuracy in score["by_language"].items():
        line = {"Language": language_name(language) if language else "Mean", "Accuracy, %": f"{accuracy:.1f}"}
        if before:
            line["Forecast before"] = _gain_words(before, language)
            line["Measured"] = f"{accuracy - before['by_language'].get(language, np.nan):+.1f}"
        if "forecast" in score:
            line[f"Forecast of {score['forecast']['more']} more"] = _gain_words(score, language)
        lines.append(line)
    st.dataframe(pd.DataFrame(lines), hide_index=True, key="label-gains", height="content")


def _gain_words(score: dict[str, Any], language: str) -> str:
    forecast = score.get("forecast")
    if not forecast or language not in forecast["gains"]:
        return ""
    gain, low, high = forecast["gains"][language]
    return f"{gain:+.1f} ({low:+.1f} to {high:+.1f})"
