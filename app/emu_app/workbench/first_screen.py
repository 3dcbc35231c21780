"""The first screen of the workbench: what was trained on what, and whether it helps, in plain words."""

import pandas as pd
import streamlit as st

from emu_app.panels.context import Context
from emu_app.shell.address import draw_link
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import plain_name
from emu_app.shell.state import config_of, data_sha_of
from emu_app.shell.wording import literal
from emu_app.workbench.inspector import show_sentence
from emu_app.workbench.subject import Subject
from emu_core.charts.style import short
from emu_core.data.sets import LabelledSet
from emu_core.encoders.specs import is_run
from emu_core.errors import RunError
from emu_core.reports.headline import (
    Example,
    alone_sentence,
    examples,
    language_bars,
    noun_of,
    reader_language,
    result_sentence,
    sentences_in,
    trained_sentence,
    verdict_of,
)

_HEIGHT_PX = 300  # of the bars of many languages
_TALLEST = 9  # languages whose bars need no scrolling
_EXAMPLE = 70  # characters of a sentence


def draw_first_screen(points: pd.DataFrame, subject: Subject, now: Context) -> None:
    """Draw the headline, a bar for each language, and examples that open on the maps."""
    comparison = subject.comparison
    noun = noun_of(comparison.sentences["text"])
    names = None if now.is_before_and_after else (plain_name(now.a), plain_name(now.b))
    result = result_sentence(comparison, noun, seen=subject.seen, names=names)
    _draw_headline(f"{_trained(now, noun)} {result}".strip())
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{literal(verdict_of(comparison))}**",
            width="content",
            help=help_on(Word.ACCURACY, Word.CLEAR, text=_ABOUT),
        )
        _draw_own_file(now)
    bars, sentences = st.columns([5, 7], gap="large")
    with (
        bars,
        st.container(height=_HEIGHT_PX if len(comparison.languages) > _TALLEST else "content", border=False),
    ):
        st.html(language_bars(comparison, seen=subject.seen))
    with sentences, st.container(key="examples", gap=None):
        _draw_examples(points, subject, now)


def draw_trained(part: LabelledSet, now: Context, *, is_awaited: bool) -> None:
    """Draw what is known before anything is encoded, and room for the rest if it is awaited."""
    noun = noun_of(part.frame["text"])
    of_two = (
        f"{plain_name(now.a)} and {plain_name(now.b)} on {sentences_in(len(part), noun, part.languages)}."
    )
    _draw_headline(_trained(now, noun) or of_two)
    if not is_awaited:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Measuring whether it finds the right intents of new sentences.", width="content")
        _draw_own_file(now)
    bars, sentences = st.columns([5, 7], gap="large")
    bars.container(height=_HEIGHT_PX, border=True, key="bars-to-come").caption(
        "A bar for each language appears here."
    )
    sentences.container(height=_HEIGHT_PX, border=True).caption(
        "Sentences that it gets right or wrong appear here."
    )


def draw_alone(points: pd.DataFrame, now: Context) -> None:
    """Draw what is seen of one encoder, and what to do next."""
    noun = noun_of(points["text"])
    what = sentences_in(len(points), noun, now.chosen.labelled.languages)
    _draw_headline(alone_sentence(what, plain_name(now.a), is_run=is_run(now.a), is_twice=now.a == now.b))
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_link("train", "Train a run", ":material/model_training:")
        _draw_own_file(now)


def _draw_headline(text: str) -> None:
    with st.container(key="headline"):
        st.header(literal(text), anchor=False)


def _draw_own_file(now: Context) -> None:
    if now.chosen.is_demo:
        draw_link("data", "Use my own file", ":material/upload_file:")


_ABOUT = help_on(
    Word.ACCURACY,
    Word.CLEAR,
    text="Sentences of other languages are looked up among English ones, if there are any; the line on each bar is the "
    "interval of its accuracy.",
)


def _trained(now: Context, noun: str) -> str:
    """Return what B was trained on; "" if it is no run or its folder is damaged."""
    run = now.run
    config = None if run is None else config_of(run)
    if run is None or config is None:
        return ""
    others = "" if data_sha_of(run) == now.chosen.sha256 else config.data
    try:
        return trained_sentence(config, run.data(), "sentence" if others else noun, others)
    except RunError:
        return ""


def _draw_examples(points: pd.DataFrame, subject: Subject, now: Context) -> None:
    language = reader_language(subject.comparison, st.context.locale)
    shown = examples(subject.comparison, language)
    if not shown:
        st.caption("Both find the same intents for these sentences.")
        return
    st.caption("Click a sentence to see it on the maps, beside the sentences most like it.")
    before, after = ("before", "now") if now.is_before_and_after else ("A", "B")
    for number, example in enumerate(shown):
        st.button(
            literal(short(example.text, _EXAMPLE)),
            icon=":material/trending_up:" if example.is_win else ":material/trending_down:",
            key=f"example-{number}",
            type="tertiary",
            on_click=_open,
            args=(points, subject, now.chosen.sha256, example),
        )
        sides = (before, example.before, example.before_intent), (after, example.now, example.now_intent)
        st.caption(
            " · ".join(
                f"{'✓' if intent == example.intent else '✗'} {when}: *{literal(short(text, _EXAMPLE))}* "
                f"({literal(intent, 40)})"
                for when, text, intent in sides
            )
        )


def _open(points: pd.DataFrame, subject: Subject, data_sha: str, example: Example) -> None:
    """Pick an example on the maps, or type it if it is none of their points."""
    sentence = subject.comparison.sentences.iloc[example.row]
    same = (points[["text", "language", "intent"]] == sentence[["text", "language", "intent"]]).all(axis=1)
    rows = points["row"][same].tolist()
    show_sentence("" if rows else example.text, data_sha, rows[:1])
