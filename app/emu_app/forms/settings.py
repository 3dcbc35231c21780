"""Inputs for the fields of a `Settings` class, described by the fields themselves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from emu_app.forms.encoder import draw_other_encoder, is_transformer
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import in_address
from emu_app.shell.widgets import ADDRESSED, choose_one
from emu_app.shell.wording import literal, worded
from emu_core.encoders.registry import kinds_of
from emu_core.errors import EncoderError, TrainingError
from emu_core.settings import OURS, JoinedSettings, SettingInfo, Settings, infos, settings_by_part
from emu_core.training.method import Method

PRESETS = {"tuned": "Tuned here", "paper": "From the paper"}

_WORDS = {"epochs": Word.EPOCH, "teacher": Word.DISTIL, "whitening": Word.WHITENING}  # by the setting


@contextmanager
def more_settings() -> Iterator[None]:
    """Draw what is in the block into the expander of what is seldom changed."""
    with st.container(key="more-settings").expander("More settings", icon=":material/tune:"):
        yield


def draw_settings(method: Method, encoder: str, also: Callable[[], None] = lambda: None) -> Settings | str:
    """Ask for a method's hyper-parameters, with defaults for the encoder; return them, or why they are invalid.

    `also` draws what stands at the end of those that are seldom changed.
    """
    try:
        kinds = kinds_of(encoder)
    except EncoderError as error:
        return worded(error)
    first = st.container(key="settings")
    with more_settings():
        paper = method.configure()
        preset = _draw_preset(method, kinds)
        tuned = method.configure(kinds)
        start, *others = (paper,) if preset == "paper" else settings_by_part(tuned)
        where = f"{method.name}-{in_address(encoder)}-{preset}"
        fields = [info for info in infos(type(start)) if not info.fixed]
        # A setting that is drawn holds for all parts of a joined encoder.
        own = [
            info
            for info in fields
            if any(getattr(start, info.name) != getattr(of, info.name) for of in others)
        ]
        fields = [info for info in fields if info not in own]
        if own:
            st.caption(f"Each encoder has its own: {', '.join(literal(info.label) for info in own)}.")
        more = [info for info in fields if not info.common]
        values = draw_fields(start, more, where, encoder, paper)
        also()
    with first:
        common = [info for info in fields if info.common]
        values |= draw_fields(start, common, where, encoder, paper)
    try:
        of_parts = tuple(replace(part, **values) for part in (start, *others))
        return JoinedSettings(of_parts) if others else of_parts[0]
    except TrainingError as error:
        return worded(error)


def _draw_preset(method: Method, kinds: Sequence[str]) -> str:
    """Ask for the defaults to start from, if the method's differ from its paper's."""
    if all(info.source.startswith(OURS) for info in infos(method.settings)):
        return "tuned"
    if all(part == method.configure() for part in settings_by_part(method.configure(kinds))):
        st.caption("Nothing was tuned for this encoder: these are the paper's values.")
        return "tuned"
    preset: str = choose_one(
        "Start from",
        list(PRESETS),
        f"preset-{method.settings.__name__}",
        format_func=PRESETS.__getitem__,
        help="The paper's values are for other encoders, far more data or larger machines.",
        **ADDRESSED,
    )
    return preset


def draw_fields(
    start: Settings,
    fields: Sequence[SettingInfo],
    where: str,
    encoder: str = "",
    paper: Settings | None = None,
) -> dict[str, Any]:
    """Draw an input for each field that matters, in a grid; return the values by name.

    The defaults are those of `start`; the help quotes the `paper` if it differs. `where` identifies method, encoder
    and preset.
    """
    now, values = start, dict[str, Any]()
    for group in dict.fromkeys(info.group for info in fields):
        of_group = [info for info in fields if info.group == group]
        heading, grid = st.empty(), st.container(key=f"fields-{of_group[0].name}-{where}")
        for info in of_group:
            if not info.matters(now):
                continue
            if group:
                heading.markdown(f"**{group}**")
            about = {"help": _help(info, start, paper or start), **ADDRESSED}
            about |= {"key": f"{info.name}-{where}"}
            values[info.name] = (
                draw_other_encoder(grid, info.label, **about)
                if info.is_encoder
                else _draw(grid, info, getattr(start, info.name), encoder, about)
            )
            with suppress(TrainingError):  # reported for all settings together
                now = replace(now, **{info.name: values[info.name]})  # later fields may depend on it
    return values


def _help(info: SettingInfo, start: Settings, paper: Settings) -> str:
    words = [_WORDS[info.name]] if info.name in _WORDS else []
    return help_on(*words, text=info.describe(start, paper).replace("\n", "\n\n"))


def _draw(place: Any, info: SettingInfo, default: Any, encoder: str, about: dict[str, Any]) -> Any:
    if info.choices:
        hidden = () if is_transformer(encoder) else info.transformers_only
        options = [choice for choice in info.choices if choice not in hidden]
        about["format_func"] = info.choices.__getitem__
        if info.many:
            return tuple(place.multiselect(info.label, options, list(default), **about))
        return place.selectbox(info.label, options, index=options.index(default), **about)
    if info.kind is bool:
        return place.checkbox(info.label, default, **about)
    if info.many:
        return _items(info, place.text_input(info.label, ", ".join(map(str, default)), **about))
    if info.kind is str:
        return place.text_input(info.label, default, **about)
    least, most = (
        next((info.kind(limit) for limit in limits if limit is not None), None)
        for limits in ((info.above, info.low), (info.below, info.high))
    )
    step, form = (1, "%d") if info.kind is int else ((default or 1.0) / 10, "%g")
    return place.number_input(info.label, least, most, default, step, form, **about)


def _items(info: SettingInfo, typed: str) -> tuple[Any, ...] | str:
    try:
        return tuple(info.kind(item.strip()) for item in typed.split(",") if item.strip())
    except ValueError:
        return typed  # rejected by the settings
