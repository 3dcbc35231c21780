"""What a person has chosen, as parameters of the page's address: a reload, Back and a link give the same view."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

# Those of pages are the keys of their choosers.
_PARAMS = {
    "data", "a", "b", "on", "tab", "part", "run", "encoder", "method", "pretrain-method",
    "watched", "pretrain-watched", "bench-watched",
}  # fmt: skip
_RUNS = {"a", "b", "run", "watched", "pretrain-watched", "bench-watched"}  # those that may name a run
_CHOICES, _WRITTEN = "choices", "choices-written"
PROBLEMS = "choices-problems"  # of the session: what of the address could not be opened, until another choice
CHOSEN = "choices-made"  # of the session: which parameters a person chose; the others are defaults


def take_address() -> set[str]:
    """Take over what the address names and this session did not write: a link's, or of Back; return its parameters."""
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
    """Ask for one of several options and keep the choice in the address, so that a reload or a link brings it back.

    Args:
        param: the parameter of the address.
        label: of the chooser.
        options: what there is to choose from.
        key: the chooser's, where it is not the parameter's.
        first: the choice until there is another; by default the first option.
        changed: makes the parameter's value of what a person chose.
        about: what else `st.selectbox` takes.
    """
    choices, widget = choices_of_session(), key or f"choose-{param}"
    if choices.get(param) not in options:
        choices[param] = first or options[0]
    st.session_state[widget] = choices[param]

    def choose() -> None:
        choices[param] = changed(st.session_state[widget])
        st.session_state.pop(PROBLEMS, None)
        st.session_state.setdefault(CHOSEN, set()).add(param)

    value: str = st.selectbox(label, options, key=widget, on_change=choose, **about)
    _write(param, value)
    return value


def kept_tab(key: str, tabs: Sequence[str], param: str = "tab") -> dict[str, Any]:
    """Return options of `st.tabs` that keep the open one in the address; only the open one is drawn."""
    choices = choices_of_session()
    if choices.get(param) not in tabs:
        choices[param] = tabs[0]
    st.session_state[key] = choices[param]

    def choose() -> None:
        choices[param] = st.session_state[key]

    _write(param, choices[param])
    return {"key": key, "on_change": choose}


def keep(param: str, value: str) -> None:
    """Have a choice that `linked` draws be another from the next run of the page on."""
    choices_of_session()[param] = value
    st.session_state.setdefault(CHOSEN, set()).add(param)


def keep_renamed(name: str, new: str = "") -> None:
    """Have every choice of a run follow it to its new name; without one no choice is left of it."""
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
    """Draw a link to another page of the app, which finds the bar as it is here, but for these choices."""
    st.page_link(page, label=label, icon=icon, query_params=choices_of_session() | choices)


def choices_of_session() -> dict[str, str]:
    """Return the session's choices by the parameters of the address."""
    choices: dict[str, str] = st.session_state.setdefault(_CHOICES, {})
    return choices


def _write(param: str, value: str) -> None:
    """Have the address name a choice, and remember that it does: whatever else it names later is a link's."""
    st.session_state.setdefault(_WRITTEN, {})[param] = value
    if st.query_params.get(param) != value:
        st.query_params[param] = value
