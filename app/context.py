"""The bar over every page: the data, encoders A and B, and the rows they are measured on; all of it in the address."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from app.forms.model_name import EXAMPLE, HF, RUN, model_spec, short_name
from app.state import ChosenData, chosen_data, config_of, data_sha_of, finished_runs
from app.users import runs_root, server
from app.wording import literal, sentence
from emu_core.api.compare import ALL, usual_split
from emu_core.data.wording import shown
from emu_core.encoders.registry import available_encoders
from emu_core.errors import EncoderError
from emu_core.runs.run import Run

A, B = "A", "B"  # the two encoders side by side
NONE = "none"  # in the place of B: encoder A alone
USUAL = "use"
# Of the address; those of pages are the keys of their choosers.
_PARAMS = {
    "data", "a", "b", "on", "tab", "run", "encoder", "method", "pretrain-method",
    "watched", "pretrain-watched", "bench-watched",
}  # fmt: skip
_CHOICES, _WRITTEN, _OF_DATA, _CONTEXT = "choices", "choices-written", "choices-of-data", "context"
_HELP = {  # by the parameter of the address
    "a": f"An encoder or a finished run. For any other transformer type its name, such as {EXAMPLE}.",
    "b": "The encoder that is compared with A: a finished run or another encoder.",
    "on": "Only sentences that an encoder was not trained on show how good it is on new ones.",
}


@dataclass(frozen=True)
class Context:
    """What every page looks at.

    Attributes:
        chosen: the data.
        a: encoder A as the address has it: what `load_encoder` takes, of a run "run:" and its name.
        b: encoder B, or `NONE`.
        on: the split that is measured, or "all".
        problems: what of the address could not be opened, as markdown.
    """

    chosen: ChosenData
    a: str
    b: str
    on: str
    problems: tuple[str, ...] = ()

    @property
    def specs(self) -> dict[str, str]:
        """What `load_encoder` takes for encoder A and, unless there is none, for encoder B."""
        values = {A: self.a} if self.b in (NONE, self.a) else {A: self.a, B: self.b}
        return {
            name: f"{RUN}{runs_root() / value.removeprefix(RUN)}" if value.startswith(RUN) else value
            for name, value in values.items()
        }

    @property
    def titles(self) -> tuple[str, ...]:
        """How figures call the encoders, such as "A: use"."""
        return tuple(f"{name}: {short_name(spec)}" for name, spec in self.specs.items())

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs among A and B."""
        return tuple(Run(Path(spec[len(RUN) :])) for spec in self.specs.values() if spec.startswith(RUN))

    @property
    def run(self) -> Run | None:
        """The run that is B; None where B is none."""
        return self.runs[-1] if B in self.specs and self.b.startswith(RUN) else None

    @property
    def is_gain(self) -> bool:
        """Whether A is the encoder that B was trained from."""
        return self.run is not None and base_of(self.run) == self.a


def context() -> Context:
    """Return what the bar of this page says."""
    found: Context = st.session_state[_CONTEXT]
    return found


def as_b(run: Run) -> dict[str, str]:
    """Return the choices that compare a run, as B, with its base encoder."""
    return {"a": base_of(run) or USUAL, "b": f"{RUN}{run.name}"}


def base_of(run: Run | None) -> str:
    """Return the encoder that a run was trained from, as the address has it; "" where there is none, or none known."""
    config = None if run is None else config_of(run)
    encoder = "" if config is None else config.encoder
    return f"{RUN}{Path(encoder[len(RUN) :]).name}" if encoder.startswith(RUN) else encoder


def draw_bar() -> None:
    """Draw the choosers and keep what they say; what the address names wins, so that links, reload and Back hold."""
    chosen, runs, choices = chosen_data(), finished_runs(), _choices()
    written = st.session_state.get(_WRITTEN, {})
    named = {param: st.query_params[param] for param in _PARAMS & st.query_params.keys()}
    named = {param: value for param, value in named.items() if value != written.get(param)}
    choices |= named
    _drop_defaults(choices, chosen, named)
    problems = _check(choices, chosen, runs)
    known = [encoder.spec for encoder in available_encoders() if encoder.available and encoder.spec != HF]
    encoders = list(dict.fromkeys([*known, *(f"{RUN}{name}" for name in runs), choices["a"], choices["b"]]))
    encoders = [value for value in encoders if value != NONE]

    def take(value: str) -> str:
        """Return what a person chose or typed as the address has it."""
        return (
            value if value in (NONE, *encoders) or value.startswith(RUN) else f"{HF}{value.removeprefix(HF)}"
        )

    def take_b(value: str) -> str:
        """Return B as the address has it; A follows it, where A is a base."""
        value, runs = take(value), finished_runs()
        if choices["a"] in (USUAL, base_of(_run(choices["b"], runs))):
            choices["a"] = base_of(_run(value, runs)) or choices["a"]
        return value

    for param, label, options, changed in (
        ("a", A, encoders, take),
        ("b", B, [NONE, *encoders], take_b),
    ):
        if stranger := _stranger(_run(choices[param], runs), chosen):
            st.html(f"<style>.st-key-choose-{param} label p {{ color: var(--red-text, #c62828) }}</style>")
        linked(
            param,
            f"{label}: other data" if stranger else label,
            options,
            changed=changed,
            format_func=_title,
            help=stranger or _HELP[param],
            width=220,
            accept_new_options=True,
        )
    splits = [*chosen.labelled.splits, ALL]
    linked("on", "Measured on", splits, format_func=_split_title, help=_HELP["on"], width=150)
    st.session_state[_CONTEXT] = Context(chosen, choices["a"], choices["b"], choices["on"], tuple(problems))


def draw_problems() -> None:
    """Draw what of the address could not be opened."""
    for problem in context().problems:
        st.warning(problem, icon=":material/link_off:")


def _drop_defaults(choices: dict[str, str], chosen: ChosenData, named: Mapping[str, str]) -> None:
    """Drop what nobody chose, so that a run that is newer now is B; and what was chosen for other data."""
    of_data, defaults = st.session_state.get(_OF_DATA, (chosen.sha256, frozenset()))
    stale = defaults if of_data == chosen.sha256 else {"a", "b", "on"}
    for param in (stale & choices.keys()) - named.keys():
        del choices[param]
    st.session_state[_OF_DATA] = chosen.sha256, {"a", "b", "on"} - choices.keys()


def _check(choices: dict[str, str], chosen: ChosenData, runs: Mapping[str, Run]) -> list[str]:
    """Give every choice a value that can be opened; return what was wrong with those that had none."""
    problems = []
    for key, name in (("a", A), ("b", B)):
        if key in choices and (problem := _problem(choices[key], runs)):
            problems.append(f"Encoder {name}: {problem}")
            del choices[key]
    if "b" not in choices:
        own = (run for run in runs.values() if data_sha_of(run) == chosen.sha256)
        choices["b"] = next((f"{RUN}{run.name}" for run in own), NONE)
    if choices.get("a", NONE) == NONE:
        choices["a"] = base_of(_run(choices["b"], runs)) or USUAL
    if choices.get("on") not in (*chosen.labelled.splits, ALL):
        choices["on"] = usual_split(chosen.labelled)
    return problems


def _problem(value: str, runs: Mapping[str, Run]) -> str:
    """Return why a value of the address can't be an encoder, as markdown; "" where it can."""
    known = {encoder.spec: encoder for encoder in available_encoders() if encoder.spec != HF}
    if value in known and not known[value].available:
        return sentence(f"{known[value].name} is not available here: {known[value].reason}")
    if value == NONE or value in known:
        return ""
    if value.startswith(RUN):
        name = value.removeprefix(RUN)
        return "" if name in runs else f"there is no finished run {literal(shown(name, 80))} here."
    try:
        model_spec(value, folders=not server().sign_in)
    except EncoderError as error:
        return sentence(error)
    return ""


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
    choices, widget = _choices(), key or f"choose-{param}"
    if choices.get(param) not in options:
        choices[param] = first or options[0]
    st.session_state[widget] = choices[param]

    def choose() -> None:
        choices[param] = changed(st.session_state[widget])
        of_data, defaults = st.session_state.get(_OF_DATA, ("", frozenset()))
        st.session_state[_OF_DATA] = of_data, defaults - {param}

    value: str = st.selectbox(label, options, key=widget, on_change=choose, **about)
    _write(param, value)
    return value


def kept_tab(key: str, tabs: Sequence[str], param: str = "tab") -> dict[str, Any]:
    """Return options of `st.tabs` that keep the open one in the address; only the open one is drawn."""
    choices = _choices()
    if choices.get(param) not in tabs:
        choices[param] = tabs[0]
    st.session_state[key] = choices[param]

    def choose() -> None:
        choices[param] = st.session_state[key]

    _write(param, choices[param])
    return {"key": key, "on_change": choose}


def keep(param: str, value: str) -> None:
    """Have a choice that `linked` draws be another from the next run of the page on."""
    _choices()[param] = value


def draw_link(page: str | StreamlitPage, label: str, icon: str, **choices: str) -> None:
    """Draw a link to another page of the app, which finds the bar as it is here, but for these choices."""
    st.page_link(page, label=label, icon=icon, query_params=_choices() | choices)


def choose_run(runs: Mapping[str, Run], missing: str, **choices: str) -> Run | None:
    """Ask for one of some finished runs; without any None, with what is missing and a link to Train, with choices."""
    if runs:
        return runs[linked("run", "Run", list(runs))]
    st.info(missing)
    draw_link("views/train.py", "Train one", ":material/model_training:", **choices)
    return None


def _choices() -> dict[str, str]:
    """Return the session's choices by the parameters of the address."""
    choices: dict[str, str] = st.session_state.setdefault(_CHOICES, {})
    return choices


def _write(param: str, value: str) -> None:
    """Have the address name a choice, and remember that it does: whatever else it names later is a link's."""
    st.session_state.setdefault(_WRITTEN, {})[param] = value
    if st.query_params.get(param) != value:
        st.query_params[param] = value


def _run(value: str, runs: Mapping[str, Run]) -> Run | None:
    return runs.get(value.removeprefix(RUN)) if value.startswith(RUN) else None


def _title(value: str) -> str:
    return "no encoder" if value == NONE else short_name(value)


def _split_title(split: str) -> str:
    return "all rows" if split == ALL else f"split {split}"


def _stranger(run: Run | None, chosen: ChosenData) -> str:
    """Return what a reader must know where a run was trained on other data than the chosen; "" where it was on them."""
    config = None if run is None else config_of(run)
    if run is None or config is None or not config.encoder or data_sha_of(run) == chosen.sha256:
        return ""
    return f"Trained on {literal(config.data, 60)}, and not on {literal(chosen.title, 60)} as it is now."
