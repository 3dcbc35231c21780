"""The guards on a page: which languages lose with the chart of all, and what intents without labels do."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app.wording import sentence
from emu_core import charts
from emu_core.evaluation.guard import Verdict
from emu_core.evaluation.metric_rows import guard_sentences, new_intent_sentence


def draw_guard(guard: Mapping[str, Mapping[str, Any]], key: str) -> None:
    """Draw the gain or loss of each language.

    Args:
        guard: by language, as metrics.json has it.
        key: of the chart on its page.
    """
    for verdict, text in guard_sentences(guard).items():
        draw = st.error if verdict is Verdict.LOSES else st.warning
        draw(sentence(text), icon=":material/trending_down:")
    st.markdown("**Gains and losses by language**")
    changes = pd.DataFrame([{"language": code, **change} for code, change in guard.items()])
    st.plotly_chart(
        charts.guard_intervals(changes),
        key=key,
        config={"displayModeBar": False},
        alt="The gain or loss of the queries of each language: points of Acc@1 with 95 % intervals around zero.",
    )
    st.caption(
        "Queries in each language, over all pools: points of Acc@1 against the base encoder, with 95 % intervals over "
        "the queries. A language loses where its whole interval is below zero, and may lose where its estimate is."
    )


def draw_new_intents(found: Mapping[str, Any] | None) -> None:
    """Draw what sentences of intents without labels gain or lose, `new_intents` as metrics.json has it."""
    text = sentence(new_intent_sentence(found))
    verdict = None if found is None else Verdict(found["verdict"])
    if verdict is Verdict.LOSES:
        st.error(text, icon=":material/trending_down:")
    elif verdict is Verdict.MAY_LOSE:
        st.warning(text, icon=":material/trending_down:")
    else:
        st.info(text, icon=":material/new_label:")
