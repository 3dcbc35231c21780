"""Inputs for the fields of a `Settings` class, in the words of the fields themselves."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import streamlit as st

from app.forms.encoder import KEPT, is_transformer
from emu_core.config.emu import Trained
from emu_core.config.settings import SettingInfo, Settings, infos
from emu_core.errors import TrainingError
from emu_core.methods.method import Method

PRESETS = {"tuned": "Measured here", "paper": "The paper's"}


def draw_settings(method: Method, encoder: str) -> Settings | str:
    """Ask for a method's hyper-parameters; return them, or why they can't be, in a sentence.

    Args:
        method: whose settings.
        encoder: the spec, from whose defaults they start; "" where an encoder is trained from scratch.
    """
    first = st.container()
    with st.expander("More settings", icon=":material/tune:"):
        start = method.configure(encoder if _draw_preset(method, encoder) == "tuned" else None)
        where = f"{method.name}-{encoder}-{start == method.configure(None)}"
        fields = [info for info in infos(type(start)) if not info.fixed]
        values = draw_fields(start, [info for info in fields if not info.common], where, encoder)
    with first:
        values |= draw_fields(start, [info for info in fields if info.common], where, encoder, headings=False)
    try:
        return replace(start, **values)
    except TrainingError as error:
        return str(error)


def _draw_preset(method: Method, encoder: str) -> str:
    if method.configure(encoder) == method.configure(None):
        return "tuned"
    preset: str = st.segmented_control(
        "Start from",
        list(PRESETS),
        format_func=PRESETS.__getitem__,
        default="tuned",
        required=True,
        key=f"preset-{method.settings.__name__}",
        help="The paper's values were found for other encoders, far more data or larger machines.",
        **KEPT,
    )
    return preset


def draw_fields(
    start: Settings, fields: Sequence[SettingInfo], where: str, encoder: str = "", *, headings: bool = True
) -> dict[str, Any]:
    """Draw an input, two in a row, for each field that matters; return the values by name.

    Args:
        start: the settings they start from.
        fields: in their order.
        where: tells these inputs from those of other methods, encoders and presets.
        encoder: its spec, where there is one.
        headings: whether each group stands under its name.
    """
    now, values = start, dict[str, Any]()
    for group in dict.fromkeys(info.group for info in fields):
        places: Sequence[Any] = ()
        count = 0
        for info in fields:
            if info.group != group or info.many or not info.matters(now):
                continue
            if headings and group and not count:
                st.markdown(f"**{group}**")
            if count % 2 == 0:
                places = st.columns(2)
            value = _draw(places[count % 2], info, getattr(start, info.name), f"{info.name}-{where}", encoder)
            values[info.name] = value
            count += 1
            if info.choices or info.kind is bool:  # what comes after it may hang on it
                now = _changed(now, info.name, value)
    return values


def _changed(settings: Settings, name: str, value: Any) -> Settings:
    try:
        return replace(settings, **{name: value})
    except TrainingError:  # a choice that goes with another, further down
        return settings


def _draw(place: Any, info: SettingInfo, default: Any, key: str, encoder: str) -> Any:
    meaning = f"{info.help} Default: {info.source}." if info.source else info.help
    if info.choices:
        return _draw_choice(place, info, default, key, encoder, meaning)
    if info.kind is bool:
        return place.checkbox(info.label, default, help=meaning, key=key, **KEPT)
    if info.kind is str:
        return place.text_input(info.label, default, help=meaning, key=key, **KEPT)
    whole = info.kind is int
    least = info.low if info.above is None else info.above
    most = info.high if info.below is None else info.below
    return place.number_input(
        info.label,
        min_value=None if least is None else info.kind(least),
        max_value=None if most is None else info.kind(most),
        value=default,
        step=1 if whole else (default or 1.0) / 10,
        format="%d" if whole else "%g",
        help=f"{meaning} Range: {info.range}." if info.range else meaning,
        key=key,
        **KEPT,
    )


def _draw_choice(
    place: Any, info: SettingInfo, default: StrEnum, key: str, encoder: str, meaning: str
) -> StrEnum:
    options = [choice for choice in info.choices if choice is not Trained.LORA or is_transformer(encoder)]
    chosen: StrEnum = place.selectbox(
        info.label,
        options,
        index=options.index(default),
        format_func=info.choices.__getitem__,
        help=meaning,
        key=key,
        **KEPT,
    )
    return chosen
