"""The first screen of the workbench: what was trained on what, and whether it helps, in plain words."""

from typing import Any

import pandas as pd
import streamlit as st

from emu_app.panels.context import Context
from emu_app.panels.verdict import draw_captions, draw_measures
from emu_app.shell.address import draw_link
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import plain_name
from emu_app.shell.state import config_of, data_sha_of, metrics_of
from emu_app.shell.wording import literal
from emu_app.workbench.inspector import show_sentence
from emu_app.workbench.subject import Subject
from emu_core.api.compare import usual_split
from emu_core.charts.style import short
from emu_core.data.languages import language_name
from emu_core.data.sets import LabelledSet
from emu_core.encoders.specs import is_run
from emu_core.errors import RunError
from emu_core.reports.headline import (
    Example,
    alone_sentence,
    examples,
    noun_of,
    reader_language,
    sentences_in,
    trained_sentence,
)
from emu_core.reports.verdict import BEFORE_AND_AFTER, RunVerdict, comparison_verdict, run_verdict

_HEIGHT_PX = 300  # of the places that wait for bars and sentences
_PURPOSE = "**Emu** specialises sentence encoders on your labels, and shows what changes in each language."
_SHARES = (7, 6)  # of the page's width, that of the bars first
_EXAMPLE = 70  # characters of a sentence


def draw_first_screen(points: pd.DataFrame, subject: Subject, now: Context) -> None:
    """Draw the headline, a bar for each language, and examples that open on the maps."""
    verdict = comparison_verdict(subject.comparison)
    sentences = _draw_verdict(verdict, noun_of(subject.comparison.sentences["text"]), now, seen=subject.seen)
    with sentences, st.container(key="examples", gap=None):
        _draw_examples(points, subject, now)


def draw_trained(part: LabelledSet, now: Context, *, is_awaited: bool) -> None:
    """Draw what is known before anything is encoded, and room for the rest if it is awaited.

    What a run measured itself when it was trained is known.
    """
    noun = noun_of(part.frame["text"])
    if is_awaited and (measured := _measured_in_training(part, now)) is not None:
        _draw_awaited(_draw_verdict(measured, noun, now))
        return
    of_two = (
        f"{plain_name(now.a)} and {plain_name(now.b)} on {sentences_in(len(part), noun, part.languages)}."
    )
    _draw_headline(_trained(now, noun) or of_two)
    if not is_awaited:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Measuring what it does with sentences that were held out.", width="content")
        _draw_own_file(now)
    bars, sentences = st.columns(_SHARES, gap="large")
    bars.container(height=_HEIGHT_PX, border=True, key="bars-to-come").caption(
        "A bar for each language appears here."
    )
    _draw_awaited(sentences)


def _draw_verdict(verdict: RunVerdict, noun: str, now: Context, *, seen: bool = False) -> Any:
    """Draw a verdict with a bar for each language; return the place for sentences beside the bars."""
    _draw_headline(f"{_trained(now, noun)} {verdict.sentence}".strip())
    with st.container(horizontal=True, vertical_alignment="center"):
        languages = " ".join(measure.languages for measure in verdict.told).strip()
        st.markdown(
            f"**{literal(languages)}**" if languages else literal(verdict.intents.missing),
            width="content",
            help=help_on(Word.RIGHT_INTENTS, Word.SIMILAR, Word.CLEAR),
        )
        _draw_own_file(now)
    below = verdict.unknown or ([verdict.intents.missing] if languages else [])
    draw_captions(below, help_on(Word.NONE_OF_THESE))
    bars, sentences = st.columns(_SHARES, gap="large")
    with bars:
        draw_measures(verdict, "bars", seen=seen)
    return sentences


def _measured_in_training(part: LabelledSet, now: Context) -> RunVerdict | None:
    """Return what a run measured itself, if that is what is asked for: its base and itself on these sentences."""
    run, labelled = now.run, now.chosen.labelled
    if run is None or not now.is_before_and_after or data_sha_of(run) != now.chosen.sha256:
        return None
    if now.on != usual_split(labelled) or set(part.languages) != set(labelled.languages):
        return None
    verdict = run_verdict(metrics_of(run))
    return verdict if verdict.measures else None


def _draw_awaited(sentences: Any) -> None:
    sentences.container(height=_HEIGHT_PX, border=True).caption(
        "Sentences whose nearest neighbour changed appear here."
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
    with st.container(key="headline", gap=None):
        st.caption(_PURPOSE)
        st.header(literal(text), anchor=False)


def _draw_own_file(now: Context) -> None:
    if now.chosen.is_demo:
        draw_link("data", "Use my own file", ":material/upload_file:")


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
        st.caption("Both find the same neighbours of these sentences.")
        return
    st.caption("Nearest sentence's intent; click to see it.")
    before, after = BEFORE_AND_AFTER if now.is_before_and_after else ("A", "B")
    for number, example in enumerate(shown):
        sides = (before, example.before, example.before_intent), (after, example.now, example.now_intent)
        st.button(
            literal(short(example.text, _EXAMPLE)),
            icon=":material/trending_up:" if example.is_win else ":material/trending_down:",
            key=f"example-{number}",
            type="tertiary",
            help="  \n".join(f"{when}: {literal(short(text, _EXAMPLE))}" for when, text, _ in sides),
            on_click=_open,
            args=(points, subject, now.chosen.sha256, example),
        )
        spoken = subject.comparison.sentences["language"].iloc[example.row]
        st.caption(
            ("" if spoken == language else f"{literal(language_name(spoken))} · ")
            + " · ".join(
                f"{'✓' if intent == example.intent else '✗'} {when}: {literal(intent, 40)}"
                for when, _, intent in sides
            )
        )


def _open(points: pd.DataFrame, subject: Subject, data_sha: str, example: Example) -> None:
    """Pick an example on the maps, or type it if it is none of their points."""
    sentence = subject.comparison.sentences.iloc[example.row]
    same = (points[["text", "language", "intent"]] == sentence[["text", "language", "intent"]]).all(axis=1)
    rows = points["row"][same].tolist()
    show_sentence("" if rows else example.text, data_sha, rows[:1])
