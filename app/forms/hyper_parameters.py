"""A form of a method's hyper-parameters, made of the fields of its settings, as `--help` is."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from app.encoder_choice import KEPT
from emu_core.config.emu import Trained
from emu_core.config.settings import SettingInfo, Settings, Value, infos
from emu_core.encoders.registry import encoder_kind
from emu_core.errors import TrainingError
from emu_core.methods.method import Method, Needs
from emu_core.methods.registry import methods_that_need

TUNED, PAPER = "tuned", "paper"


def draw_method(*needs: Needs, key: str) -> Method:
    """Ask for a method of those that learn from one of the given kinds of data."""
    methods = methods_that_need(*needs)
    name = st.selectbox(
        "Method", list(methods), format_func=lambda name: methods[name].title, key=key, **KEPT
    )
    st.caption(methods[name].summary)
    return methods[name]


def draw_hyper_parameters(method: Method, encoder: str = "") -> tuple[str, dict[str, Value]]:
    """Draw the common settings, and the others in an expander.

    Args:
        method: whose settings.
        encoder: the spec of the encoder to specialise; "" where one is trained from scratch.

    Returns:
        The preset that the settings start from, "tuned" or "paper", and the values that were changed.
    """
    kind = encoder_kind(encoder) if encoder else ""
    first = st.container()
    with st.expander("More settings", icon=":material/tune:"):
        tuned, paper = method.configure(kind), method.configure()
        preset = _draw_preset(method, tuned, paper)
        form = _Form(tuned if preset == TUNED else paper, paper, encoder, f"{method.name}-{encoder}-{preset}")
        by_heading: dict[str, list[SettingInfo]] = {}
        for info in infos(method.settings):
            if not (info.fixed or info.common):
                by_heading.setdefault(info.group, []).append(info)
        for heading, group in by_heading.items():
            form.draw(group, heading)
    with first:
        form.draw([info for info in infos(method.settings) if info.common])
    return preset, form.changes


def is_transformer(encoder: str) -> bool:
    """Whether an encoder, by its spec, is a transformer: its layers take LoRA's additions, its tokens have states."""
    return encoder == "e5-small" or encoder.startswith("hf:")


def _draw_preset(method: Method, tuned: Settings, paper: Settings) -> str:
    """Ask where the settings start from, if there are two presets and a paper that names values."""
    if method.needs is Needs.SLOTS or all(info.source.startswith("ours") for info in infos(method.settings)):
        return TUNED
    from_scratch = method.needs is Needs.PARALLEL_TEXT
    labels = {
        TUNED: "Ours, for two cores" if from_scratch else "Measured for this encoder",
        PAPER: "The paper's",
    }
    preset: str = st.segmented_control(
        "Start from",
        list(labels),
        format_func=labels.__getitem__,
        default=TUNED,
        required=True,
        key="pretrain-preset" if from_scratch else "preset",
        help="The paper's values were meant for far more data and machines; with them, training may take days."
        if from_scratch
        else "The paper's values were found for another encoder.",
        **KEPT,
    )
    if preset == TUNED and tuned == paper:
        st.caption("For this encoder nothing was measured: these are the paper's values.")
    return preset


class _Form:
    """Inputs for the settings that matter, two in a row, their values stored for a method, encoder and preset.

    Attributes:
        changes: the values that are not what they start from.
    """

    def __init__(self, start: Settings, paper: Settings, encoder: str, where: str) -> None:
        self._start, self._paper, self._encoder, self._where = start, paper, encoder, where
        self._now: Any = start  # with the values so far: what comes later may depend on them
        self.changes: dict[str, Value] = {}

    def draw(self, group: Sequence[SettingInfo], heading: str = "") -> None:
        """Draw the settings of a group, under its heading."""
        count = 0
        for info in group:
            if not info.matters(self._now):
                continue
            if not count and heading:
                st.markdown(f"**{heading}**")
            if count % 2 == 0:
                places = st.columns(2)
            value = self._input(places[count % 2], info)
            count += 1
            if value != getattr(self._start, info.name):
                self.changes[info.name] = value
            with suppress(TrainingError):  # which is said of the whole, below the form
                self._now = replace(self._now, **{info.name: value})

    def _input(self, place: Any, info: SettingInfo) -> Value:
        default = getattr(self._start, info.name)
        about: dict[str, Any] = {
            "help": info.describe(self._start, self._paper).replace("\n", "\n\n"),
            "key": f"{info.name}-{self._where}",
            **KEPT,
        }
        if info.choices:
            return _choice(place, info, default, self._encoder, about)
        if info.kind is bool:
            return bool(place.checkbox(info.label, default, **about))
        if info.many or info.kind is str:
            return _text(place, info, default, about)
        return _number(place, info, default, about)


def _choice(place: Any, info: SettingInfo, default: Any, encoder: str, about: dict[str, Any]) -> str:
    choices = [one for one in info.choices if one is not Trained.LORA or is_transformer(encoder)]
    index, labels = choices.index(default), info.choices
    chosen = place.selectbox(info.label, choices, index=index, format_func=labels.__getitem__, **about)
    return str(chosen.value)


def _text(place: Any, info: SettingInfo, default: Any, about: dict[str, Any]) -> Value:
    if not info.many:
        return str(place.text_input(info.label, default, **about))
    typed = str(place.text_input(info.label, ", ".join(map(str, default)), **about))
    try:
        return tuple(info.kind(item.strip()) for item in typed.split(",") if item.strip())
    except ValueError:
        return typed  # which the settings refuse


def _number(place: Any, info: SettingInfo, default: Any, about: dict[str, Any]) -> float | None:
    kind = info.kind
    low, high = (first if first is not None else second for first, second in (
        (info.low, info.above), (info.high, info.below)
    ))  # fmt: skip
    value: float | None = place.number_input(
        info.label,
        min_value=None if low is None else kind(low),
        max_value=None if high is None else kind(high),
        value=default,
        step=1 if kind is int else (default or 1.0) / 10,
        format="%d" if kind is int else "%g",
        **about,
    )
    return value
