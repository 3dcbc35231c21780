"""A person's choices as parameters of the page's address, so that a reload, Back and a link restore the view.

Here are the bar, the picked rows, tabs, and the choosers of runs, encoders and methods; the other widgets that the
address keeps are bound to it by Streamlit's own `bind="query-params"` (`widgets.ADDRESSED`). A choice there is no step
of Back, and Streamlit drops defaults, which are other runs and rows tomorrow, writes titles for names, and removes
without a word what can't be opened.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from emu_app.shell.session import Remembered
from emu_core.encoders.specs import RUN_SPEC, joined_spec, parts_of

_RUNS = {
    "a",
    "b",
    "run",
    "watched",
    "pretrain-watched",
    "bench-watched",
    "baseline",
    "pretrain-baseline",
}  # parameters that may name a run
# Parameters of a single page are the keys of its choosers.
_OTHER = ""  # the option of a group that has a list of its own
PICKED = "picked"  # the rows that are picked on the workbench
TAKE_AWAY = "Take away"  # the tab of the workbench to which other pages lead
MORPH = "explore-morph"  # "true" if A's map turns into B's
_PARAMS = _RUNS | {PICKED, MORPH, "data", "on", "tab", "try", "part", "encoder", "method", "pretrain-method"}
_CHOICES = Remembered[dict[str, str]]("choices", {})  # by parameter of the address
# By parameter the values that were in the address, the last one at the end; and the page they were on.
_WRITTEN = Remembered[dict[str, dict[str, None]]]("choices-written", {})
_PAGE = Remembered[str | None]("choices-page", None)
PROBLEMS = Remembered[tuple[str, ...]](
    "choices-problems", ()
)  # what the address names and can't be opened, until another choice
CHOSEN = Remembered[frozenset[str]](
    "choices-made", frozenset()
)  # the parameters that a person chose, no defaults
_Values = frozenset[tuple[str, str]]  # parameters with a value
_CARRIED = Remembered[_Values]("choices-carried", frozenset())  # what the session's links carried along
# What links name that were drawn by the last run of the page, and by this one: a click may end a run before it is over.
_NAMED = Remembered[tuple[_Values, _Values]]("choices-named", (frozenset(), frozenset()))


def take_address() -> set[str]:
    """Adopt what a link or Back put into the address, and return those parameters.

    A page that has not received the last address yet, since it was written while a person chose something else, sends
    one from before it. And a link that was drawn before the last choice, or before a run ended, carries what was so
    then (`parameters`). Such old values are no choices, and are replaced at once: one by one, each would be a step of
    Back. Back itself opens a page as it was.
    """
    run = get_script_run_ctx()
    page = "" if run is None else run.page_script_hash
    is_back = run is not None and run.is_history_navigation
    moved = is_back or page != _PAGE.get()
    before, now = _NAMED.get()
    carried = _Values() if is_back else _CARRIED.get() - before - now
    _PAGE.set(page)
    _NAMED.set((now, _Values()))
    choices, named, late = choices_of_session(), dict[str, str](), dict[str, str]()
    for param in _PARAMS & st.query_params.keys():
        value, written = st.query_params[param], _written(param)
        if (param, value) in carried:
            late |= {param: choices[param]} if choices.get(param, value) != value else {}
        elif moved or value not in written:
            named |= {param: value} if value != next(reversed(written), None) else {}
        elif value != (last := next(reversed(written))):
            late[param] = last
    for param, value in (named | late).items():
        _note(param, value)
    if late:
        st.query_params.update(late)
    choices.update(named)
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

    `changed` turns a person's choice into the parameter's value; the other options are those of `st.selectbox`. Not in
    a fragment: see `_show`.
    """
    widget = key or f"choose-{param}"

    def take(value: str) -> None:
        keep(param, changed(value))
        PROBLEMS.forget()

    choose = _show(widget, _restored(param, options, first or options[0]), take)
    value: str = st.selectbox(label, options, key=widget, on_change=choose, **about)
    return value


def linked_in_groups(
    param: str,
    label: str,
    first: Mapping[str, str],
    others: Sequence[str],
    other: tuple[str, str],
    title: Callable[[str], str],
) -> str:
    """Ask for one of the `first` options, each with a caption, or for one of the `others`, from a list of their own.

    `other` are title and label of that list. The parameter of the address keeps the choice, as in `linked`.
    """
    value = _restored(param, [*first, *others], next(iter(first)))
    group, widget = (value if value in first else _OTHER), f"choose-{param}-group"

    def take(chosen: str) -> None:
        keep(param, others[0] if chosen == _OTHER else chosen)
        PROBLEMS.forget()

    choose = _show(widget, group, take)
    options = [*first, _OTHER] if others else list(first)
    st.radio(
        label,
        options,
        key=widget,
        on_change=choose,
        captions=[*first.values(), ""][: len(options)],
        format_func=lambda name: other[0] if name == _OTHER else title(name),
    )
    return linked(param, other[1], others, key=param, format_func=title) if group == _OTHER else value


def draw_tabs(tabs: Mapping[str, Callable[[], None]], key: str, param: str = "") -> None:
    """Draw tabs by title, of which only the open one is drawn; the parameter of the address, if any, keeps it."""
    names = list(tabs)
    choose: Callable[[], None] | Literal["rerun"] = "rerun"
    if param:
        choose = _show(key, _restored(param, names, names[0]), partial(keep, param))
    for tab, draw in zip(st.tabs(names, key=key, on_change=choose), tabs.values(), strict=True):
        with tab:
            if tab.open:
                draw()


def draw_grouped_tabs(groups: Mapping[str, Mapping[str, Callable[[], None]]], key: str, param: str) -> None:
    """Draw tabs in groups by title; the parameter of the address keeps the open tab, whose group is then open, too.

    A tab that is alone in its group stands in the group's place.
    """
    groups = {(next(iter(tabs)) if len(tabs) == 1 else group): tabs for group, tabs in groups.items()}
    group_of = {name: group for group, tabs in groups.items() for name in tabs}
    opened = _restored(param, list(group_of), next(iter(group_of)))
    choose = _show(key, group_of[opened], lambda group: keep(param, next(iter(groups[group]))))
    for tab, (group, tabs) in zip(
        st.tabs(list(groups), key=key, on_change=choose), groups.items(), strict=True
    ):
        with tab:
            if not tab.open:
                continue
            if len(tabs) > 1:
                draw_tabs(tabs, f"{key}-{group}".lower(), param)
            else:
                for draw in tabs.values():
                    draw()


def keep(param: str, value: str) -> None:
    """Set a choice as if a person had made it; `linked` shows it from the page's next run on."""
    choices_of_session()[param] = value
    CHOSEN.set(CHOSEN.get() | {param})


def write(param: str, value: str) -> None:
    """Write a choice that no widget shows into the address; "" removes it."""
    choices_of_session()[param] = value
    _note(param, value)
    if value:
        st.query_params[param] = value
    else:
        st.query_params.pop(param, None)


def keep_renamed(name: str, new: str = "") -> None:
    """Rename a run in every choice; without a new name, drop the choices of that run."""
    choices = choices_of_session()
    for param in _RUNS & choices.keys():
        spec = f"{RUN_SPEC}{name}"
        parts = parts_of(choices[param])
        if choices[param] == name or spec in parts:
            if new and spec in parts:
                choices[param] = joined_spec(f"{RUN_SPEC}{new}" if part == spec else part for part in parts)
            elif new:
                choices[param] = new
            else:
                del choices[param]
                st.query_params.pop(param, None)
            if (
                param in choices and param in st.query_params
            ):  # also where no chooser of the page would write it
                write(param, choices[param])


def compare_newest() -> None:
    """Forget which encoders a person chose to compare, so that the newest run and its base are compared next."""
    CHOSEN.set(CHOSEN.get() - {"a", "b"})


def is_in_address(param: str) -> bool:
    """Return whether the address has a value of a parameter."""
    return param in st.query_params


def page_file(name: str) -> Path:
    """Return the file of a page, which Streamlit finds from any main script."""
    return Path(__file__).parents[1] / "views" / f"{name}.py"


def draw_link(page: str | StreamlitPage, label: str, icon: str, **choices: str) -> None:
    """Draw a link to another page of the app, which keeps the session's choices except for the given ones.

    Args:
        page: the page, or its name: that of its file, without the ending.
        label: what the link says.
        icon: beside it.
        choices: by parameter of the address.
    """
    target = page_file(page) if isinstance(page, str) else page
    st.page_link(target, label=label, icon=icon, query_params=parameters(**choices))


def parameters(**choices: str) -> dict[str, str]:
    """Return the session's choices except for the given ones, for the address of another page.

    Defaults are among them, since a page that writes one into its address makes a step of Back.
    """
    kept = {param: value for param, value in choices_of_session().items() if param not in choices}
    _CARRIED.set(_CARRIED.get() | kept.items())
    before, now = _NAMED.get()
    _NAMED.set((before, now | choices.items()))
    return kept | choices


def choices_of_session() -> dict[str, str]:
    """Return the session's choices by parameter of the address."""
    return _CHOICES.get_or_make(dict)


def _restored(param: str, options: Sequence[str], first: str) -> str:
    """Return the choice, or else the `first` option, and write it into the address."""
    choices = choices_of_session()
    if choices.get(param) not in options:
        choices[param] = first
    _note(param, choices[param])
    if st.query_params.get(param) != choices[param]:
        st.query_params[param] = choices[param]
    return choices[param]


def _show(widget: str, value: str, take: Callable[[str], None]) -> Callable[[], None]:
    """Show a value in the widget that is drawn next, outside of any fragment, and return its callback.

    That calls `take` with what a person chooses. On a slow connection, or a busy machine, the browser may not yet have
    received what this page's last run has drawn. So a value is set only where it differs: when it comes, it replaces
    what was chosen meanwhile. And a fragment's run brings no choice, though the browser sends the values of all widgets
    with it: other than a chosen one they are old.
    """
    shown = Remembered[Any](widget, None)
    if shown.get() != value:
        shown.set(value)

    def choose() -> None:
        run = get_script_run_ctx()
        if run is None or run.fragment_ids_this_run is None:
            take(shown.get())
        else:
            shown.set(value)

    return choose


def _written(param: str) -> dict[str, None]:
    """Return the values that a parameter of the address has had in this session, the last one at the end."""
    return _WRITTEN.get_or_make(dict).setdefault(param, {})


def _note(param: str, value: str) -> None:
    written = _written(param)
    written.pop(value, None)
    written[value] = None
