"""Class: a path of ten minutes for teaching, from judging sentences by eye to breaking a model."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import streamlit as st

from emu_app.panels.context import Context, context
from emu_app.panels.verdict import draw_captions, draw_measures
from emu_app.shell.address import draw_link
from emu_app.shell.model_name import plain_name
from emu_app.shell.session import Remembered
from emu_app.shell.state import config_of, metrics_of
from emu_app.shell.widgets import ADDRESSED, choose_one, draw_note, roomy_columns
from emu_app.shell.wording import literal
from emu_app.work.cache import computed, encoded, is_over
from emu_app.work.lesson import Round, Spoilt, right_intents_of, rounds
from emu_app.work.vectors import weights_of
from emu_core.api.compare import ALL, splits_of, usual_split
from emu_core.data.languages import language_name
from emu_core.encoders.base import FloatArray
from emu_core.reports.verdict import RunVerdict, run_verdict

_NEIGHBOURS = 3
_TRAIN = "train"
_BETTER, _SAME, _WORSE = "More often", "As often", "Less often"
_WRONG = {"None": 0, "A quarter": 25, "Half": 50, "All": 100}  # labels that are exchanged, in percent
_FEW = {"All": 0, "4 an intent": 4, "1 an intent": 1}
_OFFERED = [Spoilt(wrong, each) for each in _FEW.values() for wrong in _WRONG.values()]
_PROJECTED = """
<style>
:root { font-size: 150%; }
:root .st-key-bar, :root .st-key-projected-off { display: none; }
</style>
"""
# Of two long sentences below each other, it must be clear where the second begins.
_APART = "<style>.st-key-lesson [role=radiogroup] { gap: 0.75rem; }</style>"


class Step(StrEnum):
    """A step of the path."""

    PREDICT = "Judge"
    TRAIN = "Train"
    EXPLAIN = "Explain"
    BREAK = "Break"
    SUM_UP = "Sum up"


_STEP = Remembered[str]("step", Step.PREDICT.value)
_EYE = Remembered[dict[str, int]]("lesson-eye", {})  # which of the two was judged the same, by `_identity`
_ATTEMPT = Remembered[int]("lesson-attempt", 0)
_GUESS = Remembered[int | None](
    "lesson-guess", None
)  # right intents of 100 with spoilt labels, before they are seen
_ABOUT_GUESS = "lesson-german"
_EXPECTED = Remembered[str | None](_ABOUT_GUESS, None)


@dataclass(frozen=True)
class Lesson:
    """The data, encoders and sentences that all steps are about."""

    now: Context
    vectors: Mapping[str, FloatArray]  # (N, d) of unit length by encoder, A first
    rounds: tuple[Round, ...]  # whose numbers are those of the data's rows
    language: str  # that is judged and explained

    @property
    def sentences(self) -> pd.DataFrame:
        """The rows of the data."""
        return self.now.chosen.labelled.frame

    @property
    def names(self) -> dict[str, str]:
        """The encoders' names, by A and B."""
        return {
            name: plain_name(spec) for name, spec in zip(self.vectors, (self.now.a, self.now.b), strict=False)
        }


def page() -> None:
    """Draw the path and the step that is chosen."""
    top = st.container(horizontal=True, vertical_alignment="bottom", key="lesson-top")
    with top:
        step = Step(choose_one("Step", [step.value for step in Step], "step", default=_first(), **ADDRESSED))
        is_projected = st.toggle(
            "Large type", key="large", help="For a projector: large letters, and no bar.", **ADDRESSED
        )
        st.button("Start again", icon=":material/restart_alt:", on_click=_forget)
    if is_projected:
        st.html(_PROJECTED)
    lesson = _lesson(context())
    if lesson is None:
        return
    with st.container(key="lesson"):
        _STEPS[step](lesson)
    following = list(Step)[list(Step).index(step) + 1 :]
    if following:
        st.button(
            f"Next: {following[0].value}",
            icon=":material/arrow_forward:",
            on_click=_STEP.set,
            args=(following[0].value,),
        )
    _fit_ahead(lesson)


def _first() -> str | None:
    """Return the first step, or None where the session or the address has one."""
    return None if _STEP.is_set else Step.PREDICT.value


def _forget() -> None:
    for remembered in (_EYE, _GUESS, _EXPECTED):
        remembered.forget()
    _ATTEMPT.set(_ATTEMPT.get() + 1)  # new keys, so that the browser forgets what was judged, too
    _STEP.set(Step.PREDICT.value)


def _lesson(now: Context) -> Lesson | None:
    """Return what the steps are about; None, with the reason or progress drawn, if it is not there yet."""
    labelled = now.chosen.labelled
    vectors = encoded(now.specs, now.chosen.sha256, labelled.frame["text"].tolist())
    if vectors is None:
        return None
    units = {name: np.asarray(of) / np.linalg.norm(of, axis=1, keepdims=True) for name, of in vectors.items()}
    language = _taught(now)
    rows = np.flatnonzero(labelled.selected(languages=[language], splits=splits_of(labelled, now.on)))
    found = rounds(labelled.frame.iloc[rows], {name: of[rows] for name, of in units.items()})
    if not found:
        draw_note("These sentences have no two of one intent and one of another. Choose other data.")
        return None
    there = tuple(
        Round(
            int(rows[one.row]), (int(rows[one.others[0]]), int(rows[one.others[1]])), one.right, one.cosines
        )
        for one in found
    )
    return Lesson(now, units, there, language)


def _taught(now: Context) -> str:
    codes = now.chosen.train_languages or now.chosen.labelled.languages
    return "en" if "en" in codes else codes[0]


def _draw_judging(lesson: Lesson) -> None:
    st.header("Which of the two asks for the same?", anchor=False)
    st.caption(
        "Two minutes. Decide by what the sentences ask for, not by their words; then see what the encoders do."
    )
    st.html(_APART)
    texts, intents = lesson.sentences["text"], lesson.sentences["intent"]
    for number, one in enumerate(lesson.rounds):
        with st.container(border=True, key=f"round-{number}"):
            st.markdown(f"**{literal(texts.iloc[one.row])}**")
            asked = _identity(lesson, one)
            judged = st.radio(
                f"The same as sentence {number + 1}",
                [0, 1],
                index=_EYE.get().get(asked),
                format_func=lambda place, one=one: texts.iloc[one.others[place]],
                key=f"judge-{_ATTEMPT.get()}-{number}-{asked}",
                label_visibility="collapsed",
            )
            if judged is None:
                continue
            _EYE.set({**_EYE.get(), asked: judged})
            told = [_mark("You", judged == one.right)]
            told += [
                f"{_mark(name, one.is_right(key))} (cosines {one.cosines[key][0]:.2f} and {one.cosines[key][1]:.2f})"
                for key, name in lesson.names.items()
            ]
            answer = texts.iloc[one.others[one.right]]
            st.markdown(
                f"{' · '.join(told)}. Of the same intent, *{literal(intents.iloc[one.row])}*, is: {literal(answer)}"
            )
    _draw_scores(lesson)


def _identity(lesson: Lesson, one: Round) -> str:
    """Return what tells a round from those of other data or encoders, whose answers are no answers to it."""
    texts = "\n".join(lesson.sentences["text"].iloc[row] for row in (one.row, *one.others))
    return hashlib.sha256(texts.encode()).hexdigest()[:8]


def _mark(name: str, is_right: bool) -> str:
    return f":{'green' if is_right else 'red'}[{'✓' if is_right else '✗'} {literal(name)}]"


def _draw_scores(lesson: Lesson) -> None:
    eye = [_EYE.get().get(_identity(lesson, one)) for one in lesson.rounds]
    if None in eye:
        return
    scores = {"You": sum(judged == one.right for judged, one in zip(eye, lesson.rounds, strict=True))}
    scores |= {name: sum(one.is_right(key) for one in lesson.rounds) for key, name in lesson.names.items()}
    for cell, (name, score) in zip(
        roomy_columns(len(scores), 120, "lesson-scores", border=True), scores.items(), strict=True
    ):
        cell.metric(literal(name), f"{score} of {len(lesson.rounds)}")
    st.caption("The sentences were chosen because the first encoder is misled by the words of most of them.")


def _draw_training(lesson: Lesson) -> None:
    taught = language_name(lesson.language)
    others = [code for code in lesson.now.chosen.labelled.languages if code != lesson.language]
    asked = language_name(others[0]) if others else taught
    st.header(f"What happens to {asked}, if the labels are {taught}?", anchor=False)
    st.caption("Two minutes. Say what you expect first.")
    expected = st.radio(
        f"After training, a sentence in {asked} gets its intent, and is nearest to one that asks for the same",
        [_BETTER, _SAME, _WORSE],
        index=None,
        key=_ABOUT_GUESS,
        horizontal=True,
        persist_state="session",
    )
    verdict = _verdict(lesson.now)
    if verdict is None:
        draw_note("Nothing was trained on these sentences yet. Train a run, and come back.")
    elif expected is not None:
        st.markdown(f"You expected: **{expected.lower()}**. {literal(verdict.sentence)}")
        draw_captions([measure.languages for measure in verdict.told])
        draw_measures(verdict, "bars")
    draw_link("train", "Train your own, and watch the map", ":material/model_training:")


def _verdict(now: Context) -> RunVerdict | None:
    return None if now.run is None or config_of(now.run) is None else run_verdict(metrics_of(now.run))


def _draw_explaining(lesson: Lesson) -> None:
    st.header("Why did it go wrong?", anchor=False)
    st.caption(
        "Three minutes. Compare the nearest sentences: what have they in common with the one that is asked?"
    )
    texts = lesson.sentences["text"]
    number = st.selectbox(
        "Sentence",
        range(len(lesson.rounds)),
        format_func=lambda number: texts.iloc[lesson.rounds[number].row],
        key="explained",
        persist_state="session",
    )
    one = lesson.rounds[number]
    columns = roomy_columns(len(lesson.vectors), 260, "lesson-neighbours")
    for cell, (key, name) in zip(columns, lesson.names.items(), strict=True):
        cell.subheader(literal(name), anchor=False)
        for row, cosine in _nearest(lesson, key, one.row):
            sentence = lesson.sentences.iloc[row]
            is_right = sentence["intent"] == lesson.sentences["intent"].iloc[one.row]
            cell.markdown(
                f"{_mark(sentence['intent'], is_right)} {literal(sentence['text'])} (cosine {cosine:.2f})"
            )
    with st.expander("Think first, then unfold"):
        st.markdown(
            "An encoder learns from translations and paraphrases, where shared words are good evidence of a shared "
            "meaning. Sentences that ask for different things in nearly the same words therefore lie close together. "
            "Labels teach which differences matter; they can teach nothing about intents that have no labels."
        )


def _nearest(lesson: Lesson, key: str, row: int) -> list[tuple[int, float]]:
    """Return the nearest other sentences that are measured in its language, with their cosines."""
    labelled, units = lesson.now.chosen.labelled, lesson.vectors[key]
    among = labelled.selected(languages=[lesson.language], splits=splits_of(labelled, lesson.now.on))
    among = among & (lesson.sentences["id"] != lesson.sentences["id"].iloc[row]).to_numpy()
    rows = np.flatnonzero(among)
    cosines = units[rows] @ units[row]
    return [(int(rows[place]), float(cosines[place])) for place in np.argsort(-cosines)[:_NEIGHBOURS]]


def _draw_breaking(lesson: Lesson) -> None:
    st.header("How many wrong labels does it stand?", anchor=False)
    st.caption(
        "Three minutes. Labels are exchanged between sentences, or taken away; an intent model learns from the rest."
    )
    if not _is_divided(lesson):
        draw_note(
            "These data have no sentences that are held out. Choose data with splits, such as the demo set."
        )
        return
    guess = st.slider(
        "Your guess: right intents of 100 with half of the labels wrong", 0, 100, 50, key="guess"
    )
    if not st.toggle("Show what comes of it", key="shown", **ADDRESSED):
        return
    _GUESS.set(guess)
    wrong = _WRONG[choose_one("Wrong labels", list(_WRONG), "wrong", **ADDRESSED)]
    each = _FEW[choose_one("Labels", list(_FEW), "each", **ADDRESSED)]
    unspoilt = _right_intents(lesson, Spoilt(0))
    found = None if unspoilt is None else _right_intents(lesson, Spoilt(wrong, each))
    if unspoilt is None or found is None:
        return
    for cell, (code, (right, count)) in zip(
        roomy_columns(len(found), 110, "lesson-broken", border=True), found.items(), strict=True
    ):
        before = unspoilt[code][0]
        cell.metric(
            language_name(code),
            f"{round(100 * right / count)} %",
            round(100 * (right - before) / count),
        )
    st.caption(
        "Right intents of sentences that were held out, and the change in points against all labels as they are. The "
        "model learns from these labels alone, without the intents' names."
    )


def _is_divided(lesson: Lesson) -> bool:
    labelled = lesson.now.chosen.labelled
    return _TRAIN in labelled.splits and usual_split(labelled) != ALL


def _right_intents(lesson: Lesson, spoilt: Spoilt) -> dict[str, tuple[int, int]] | None:
    if not _is_divided(lesson):
        return None
    key, task = f"{_key(lesson)} {spoilt}", _task(lesson)
    found: dict[str, tuple[int, int]] | None = computed(
        key, "Learning from these labels", right_intents_of, spoilt, *task
    )
    return found


def _fit_ahead(lesson: Lesson) -> None:
    """Have the next model of the step Break learn while the steps before it are read; all sessions share it.

    Only one is queued at a time, so that what other pages wait for comes next.
    """
    if _is_divided(lesson):
        key, task = _key(lesson), _task(lesson)
        all(is_over(f"{key} {spoilt}", right_intents_of, spoilt, *task) for spoilt in _OFFERED)


def _key(lesson: Lesson) -> str:
    return f"lesson {weights_of(lesson.now.a)} {lesson.now.chosen.sha256}"


def _task(lesson: Lesson) -> tuple[Any, ...]:
    """Return the vectors and sentences that all models learn from and are asked."""
    labelled = lesson.now.chosen.labelled
    is_labelled = labelled.selected(languages=[lesson.language], splits=[_TRAIN])
    is_asked = labelled.selected(splits=[usual_split(labelled)])
    columns = lesson.sentences[["intent", "language", "id"]]
    return next(iter(lesson.vectors.values())), columns, is_labelled, is_asked


def _draw_sum_up(lesson: Lesson) -> None:
    st.header("What was seen", anchor=False)
    _draw_scores(lesson)
    verdict = _verdict(lesson.now)
    lines = (
        [] if verdict is None else [verdict.sentence, *(measure.languages for measure in verdict.measures)]
    )
    lines += [f"You expected of the other language: {_EXPECTED.get()}."] * (_EXPECTED.get() is not None)
    broken = _right_intents(lesson, Spoilt(_WRONG["Half"])) if _GUESS.get() is not None else None
    if broken is not None:
        right, count = (sum(of) for of in zip(*broken.values(), strict=True))
        lines.append(
            f"With half of the labels wrong, you guessed {_GUESS.get()} right intents of 100; it names "
            f"{round(100 * right / count)} of 100."
        )
    for line in lines:
        st.markdown(f"- {literal(line)}")
    st.markdown(
        "Notebooks 1 to 3 go on from here: the losses on points in a plane, templates, and translations."
    )
    st.subheader("For others in this room", anchor=False)
    address = {
        "data": lesson.now.chosen.token,
        "a": lesson.now.a,
        "b": lesson.now.b,
        "step": Step.PREDICT.value,
    }
    st.caption("A link to the first step with these data and this run.")
    st.code(f"{(st.context.url or '').partition('?')[0]}?{urlencode(address)}", language=None)


_STEPS = {
    Step.PREDICT: _draw_judging,
    Step.TRAIN: _draw_training,
    Step.EXPLAIN: _draw_explaining,
    Step.BREAK: _draw_breaking,
    Step.SUM_UP: _draw_sum_up,
}

page()
