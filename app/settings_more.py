"""A run's hyper-parameters on the Train page: every field of its config that does something, under its preset."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import streamlit as st

from app.encoder_choice import KEPT
from app.methods import is_transformer, settings_of
from app.request import Value, preset_settings
from app.setting import Setting
from emu_core.config import DISENTANGLING, Method, Trained

PRESETS = {"tuned": "Measured for this encoder", "paper": "The paper's"}


def draw_settings(method: Method, encoder: str) -> tuple[str, dict[str, Value]]:
    """Ask for the hyper-parameters; return where they start from, and those that were changed.

    Args:
        method: says which matter.
        encoder: its spec; says where they start from, and which weights can be trained.
    """
    at_first, more = settings_of(method)
    first = st.container()
    with st.expander("More settings", icon=":material/tune:"):
        # The posterior has no paper; FMDA's names no values.
        preset = "tuned" if method in ("posterior", *DISENTANGLING) else draw_preset(method, encoder)
        start = preset_settings(method.value, encoder, preset)
        where = f"{method.value}-{encoder}-{preset}"
        values = draw_groups(start, more, where, encoder)
    with first:
        values |= draw_row(start, at_first, where, encoder)
    return preset, changed(start, values)


def draw_groups(
    start: Any, groups: Mapping[str, Sequence[Setting]], where: str, encoder: str = ""
) -> dict[str, Value]:
    """Draw the settings that matter, under their headings; their values.

    Args:
        start: the settings' dataclass with what they start from.
        groups: settings by heading.
        where: what the values are kept for.
        encoder: its spec, where there is one.
    """
    now, values = start, dict[str, Value]()
    for heading, group in groups.items():
        fields = _Fields(where, encoder)
        for setting in group:
            if setting.matters(now):
                fields.headed(heading)
                values[setting.name] = value = fields.draw(setting, getattr(start, setting.name))
                if setting.choices:  # what comes after it may hang on it
                    choice: dict[str, Any] = {setting.name: value}
                    now = replace(now, **choice)
    return values


def draw_row(start: Any, settings: Sequence[Setting], where: str, encoder: str = "") -> dict[str, Value]:
    """Draw settings without a heading, as `draw_groups` does; their values."""
    fields = _Fields(where, encoder)
    shown = [setting for setting in settings if setting.matters(start)]
    return {setting.name: fields.draw(setting, getattr(start, setting.name)) for setting in shown}


def changed(start: Any, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values that are not what they start from."""
    return {name: value for name, value in values.items() if value != getattr(start, name)}


def draw_preset(method: Method, encoder: str) -> str:
    """Ask where the settings start from."""
    preset: str = st.segmented_control(
        "Start from",
        list(PRESETS),
        format_func=PRESETS.__getitem__,
        default="tuned",
        required=True,
        key="preset",
        help="The paper's values were found for another encoder, LASER.",
        **KEPT,
    )
    if preset == "tuned" and preset_settings(method.value, encoder, "tuned") == preset_settings(
        method.value, encoder, "paper"
    ):
        st.caption("For this encoder nothing was measured: these are the paper's values.")
    return preset


class _Fields:
    """Inputs, two in a row, their values kept for each method, encoder and preset."""

    def __init__(self, where: str, encoder: str) -> None:
        self._where, self._encoder = where, encoder
        self._places: Sequence[Any] = ()
        self._count = 0

    def headed(self, heading: str) -> None:
        """Draw a heading before the first input."""
        if not self._count:
            st.markdown(f"**{heading}**")

    def draw(self, setting: Setting, default: Any) -> Value:
        """Draw a setting's input; its value."""
        if self._count % 2 == 0:
            self._places = st.columns(2)
        place = self._places[self._count % 2]
        self._count += 1
        key = f"{setting.name}-{self._where}"
        if setting.choices:
            return self._choice(place, setting, default, key)
        if isinstance(default, bool):
            return _checkbox(place, setting, default, key)
        return _number(place, setting, default, key)

    def _choice(self, place: Any, setting: Setting, default: StrEnum, key: str) -> str:
        options = [
            choice
            for choice in setting.choices
            if choice is not Trained.LORA or is_transformer(self._encoder)
        ]
        chosen: StrEnum = place.selectbox(
            setting.label,
            options,
            index=options.index(default),
            format_func=setting.choices.__getitem__,
            help=setting.meaning,
            key=key,
            **KEPT,
        )
        return chosen.value


def _checkbox(place: Any, setting: Setting, default: bool, key: str) -> bool:
    value: bool = place.checkbox(setting.label, default, help=setting.meaning, key=key, **KEPT)
    return value


def _number(place: Any, setting: Setting, default: float, key: str) -> float:
    kind = type(default)
    value: float = place.number_input(
        setting.label,
        min_value=kind(setting.least),
        max_value=None if setting.most is None else kind(setting.most),
        value=default,
        step=1 if kind is int else default / 10 or 0.1,
        format="%d" if kind is int else "%g",
        help=setting.meaning,
        key=key,
        **KEPT,
    )
    return value
