"""A person's choices as parameters of the page's address, so that a reload, Back and a link restore the view."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

_RUNS = {"a", "b", "run", "watched", "pretrain-watched", "bench-watched"}  # parameters that may name a run
# Parameters of a single page are the keys of its choosers.
_PARAMS = _RUNS | {"data", "on", "tab", "part", "encoder", "method", "pretrain-method"}
_CHOICES, _WRITTEN = "choices", "choices-written"
# Of the session: what the address names and can't be opened, until another choice; and the parameters that a person
# chose, while the others are defaults.
PROBLEMS, CHOSEN = "choices-problems", "choices-made"


def take_address() -> set[str]:
    """Adopt what a link or Back put into the address, and return those parameters."""
    written = st.session_state.get(_WRITTEN, {})
    named = {param: st.query_params[param] for param in _PARAMS & st.query_params.keys()}
    named = {param: value for param, value in named.items() if value != written.get(param)}
    choices_of_session().update(named)
    return set(named)


def linked(
    param: str,
    label: str,
    options: Sequence[str],
    *,
    key: str | None = None,
    first: str | None = None,
    changed: Callable[[str], str] = str,
    **about: Any,
) -> str:
    """Ask for one of several options, at first the `first`, and keep the choice in the address.

    `changed` turns a person's choice into the parameter's value; the other options are those of `st.selectbox`.
    """
    widget = key or f"choose-{param}"
    _restore(param, widget, options, first or options[0])

    def choose() -> None:
        keep(param, changed(st.session_state[widget]))
        st.session_state.pop(PROBLEMS, None)

    value: str = st.selectbox(label, options, key=widget, on_change=choose, **about)
    return value


def draw_tabs(tabs: Mapping[str, Callable[[], None]], key: str, param: str = "") -> None:
    """Draw tabs by title, of which only the open one is drawn; the parameter of the address, if any, keeps it."""
    names = list(tabs)
    if param:
        _restore(param, key, names, names[0])

    def choose() -> None:
        if param:
            keep(param, st.session_state[key])

    for place, draw in zip(st.tabs(names, key=key, on_change=choose), tabs.values(), strict=True):
        with place:
            if place.open:
                draw()


def keep(param: str, value: str) -> None:
    """Set a choice as if a person had made it; `linked` shows it from the page's next run on."""
    choices_of_session()[param] = value
    st.session_state.setdefault(CHOSEN, set()).add(param)


def keep_renamed(name: str, new: str = "") -> None:
    """Rename a run in every choice; without a new name, drop the choices of that run."""
    choices = choices_of_session()
    for param in _RUNS & choices.keys():
        prefix, _, last = choices[param].rpartition(":")
        if last == name and prefix in ("", "run"):
            if new:
                choices[param] = f"{prefix}:{new}".lstrip(":")
            else:
                del choices[param]
                st.query_params.pop(param, None)


def draw_link(page: str | StreamlitPage, label: str, icon: str, **choices: str) -> None:
    """Draw a link to another page of the app, which keeps the session's choices except for the given ones."""
    st.page_link(page, label=label, icon=icon, query_params=choices_of_session() | choices)


def choices_of_session() -> dict[str, str]:
    """Return the session's choices by parameter of the address."""
    choices: dict[str, str] = st.session_state.setdefault(_CHOICES, {})
    return choices


def _restore(param: str, widget: str, options: Sequence[str], first: str) -> None:
    """Set a widget to the choice, or else the `first` option, and write that into the address."""
    choices = choices_of_session()
    if choices.get(param) not in options:
        choices[param] = first
    st.session_state[widget] = choices[param]
    st.session_state.setdefault(_WRITTEN, {})[param] = choices[param]  # another value found later is a link's
    if st.query_params.get(param) != choices[param]:
        st.query_params[param] = choices[param]
