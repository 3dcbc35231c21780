"""The bar: the data, encoders A and B and the rows that are measured, kept in the address and chosen where used."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from emu_app.data.library import (
    ChosenData,
    check_data,
    chosen_data,
    data_of_run,
    draw_data_chooser,
    versions,
)
from emu_app.shell.address import CHOSEN, PROBLEMS, choices_of_session, keep, linked, take_address
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import (
    EXAMPLE_MODEL,
    HF,
    RUN_PREFIX,
    in_address,
    model_spec,
    must_be_fetched,
    plain_name,
)
from emu_app.shell.session import Remembered
from emu_app.shell.state import config_of, data_sha_of, finished_runs, status_of
from emu_app.shell.users import runs_root, server
from emu_app.shell.widgets import then_rerun
from emu_app.shell.wording import literal, sentence
from emu_app.work.vectors import weights_of
from emu_core.api.compare import ALL, usual_split
from emu_core.api.inputs import reading_notes
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import shown
from emu_core.encoders.registry import available_encoders
from emu_core.encoders.specs import distinct_parts, is_run, joined_spec, parts_of
from emu_core.errors import EncoderError, RunError
from emu_core.runs.run import Run, list_runs
from emu_core.runs.trained_on import trained_rows

A, B = "A", "B"  # the names of the two encoders
NONE = "none"  # as B: encoder A alone
USUAL_ENCODER = "use"
_OF_DATA = Remembered("choices-of-data", "")  # the hash of the data that the encoders were chosen for
_OF_ENCODERS = {"a", "b", "on"}  # parameters of the address
_ABOUT_A = (
    f"An encoder or a finished run. To use any other transformer, type its name, such as {EXAMPLE_MODEL}."
)
_ABOUT_B = "The encoder that is compared with A: a finished run or another encoder."


class Chooser(Enum):
    """A part of the bar: a page has those that it uses."""

    DATA = auto()
    ENCODERS = auto()
    ROWS = auto()


@dataclass(frozen=True)
class Context:
    """The data, encoders and split that are chosen, whether or not the page has their choosers."""

    chosen: ChosenData
    a: str  # encoder A in the address: a spec of `load_encoder`, but for a run "run:" and its name
    b: str  # encoder B, or `NONE`
    on: str  # the split that is measured, or "all"
    problems: tuple[str, ...]  # what the address names and can't be opened, as markdown

    @property
    def specs(self) -> dict[str, str]:
        """The specs for `load_encoder`: A's and, if there is an encoder B, B's."""
        values = {A: self.a} if self.b in (NONE, self.a) else {A: self.a, B: self.b}
        return {name: _with_folders(value) for name, value in values.items()}

    @property
    def titles(self) -> tuple[str, ...]:
        """The encoders' names in figures, such as "A: USE multilingual"."""
        return tuple(f"{name}: {plain_name(spec)}" for name, spec in self.specs.items())

    @property
    def is_before_and_after(self) -> bool:
        """Whether B is a run, and A the encoder that it was trained from."""
        return self.run is not None and base_of(self.run) == self.a

    @property
    def reading_notes(self) -> list[str]:
        """Notes on languages of the data that an encoder does not know, and on sentences that it cuts."""
        if self.is_before_and_after:
            title = f"The encoder {plain_name(self.a)}"
            before, after = (notes_on_reading(title, spec, self.chosen) for spec in self.specs.values())
            if before == after:
                return list(before)
        named = zip(self.titles, self.specs.values(), strict=True)
        return [note for title, spec in named for note in notes_on_reading(title, spec, self.chosen)]

    @property
    def trained_rows(self) -> list[tuple[str, NDArray[np.bool_], str]]:
        """The spec of each encoder, whether it was trained on each row of the data, and `TrainedOn.unknown`."""
        sha256, labelled = self.chosen.sha256, self.chosen.labelled
        return [
            (spec, *_trained_rows(weights_of(spec), sha256, spec, labelled)) for spec in self.specs.values()
        ]

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs among A and B."""
        return tuple(Run(Path(spec[len(RUN_PREFIX) :])) for spec in self.specs.values() if is_run(spec))

    @property
    def run(self) -> Run | None:
        """The run that is B; None if B is not a run."""
        return self.runs[-1] if B in self.specs and is_run(self.b) else None


_CONTEXT = Remembered[Context | None]("context", None)


def _with_folders(value: str) -> str:
    """Return the spec for `load_encoder` of an encoder in the address, where runs have no folder."""
    return joined_spec(
        f"{RUN_PREFIX}{runs_root() / part.removeprefix(RUN_PREFIX)}" if is_run(part) else part
        for part in parts_of(value)
    )


def notes_on_reading(
    title: str, spec: str, chosen: ChosenData, languages: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return `reading_notes` of an encoder on the data, or on its sentences in some languages."""
    codes = tuple(languages or chosen.labelled.languages)
    return _notes_on_reading(weights_of(spec), chosen.sha256, codes, title, spec, chosen.labelled)


@st.cache_data(max_entries=32, show_spinner=False)
def _notes_on_reading(
    weights: str, sha256: str, languages: Sequence[str], title: str, spec: str, _labelled: LabelledSet
) -> tuple[str, ...]:
    frame = _labelled.frame
    return reading_notes(spec, frame[frame["language"].isin(languages)], title)


@st.cache_resource(max_entries=8, show_spinner=False)
def _trained_rows(
    weights: str, sha256: str, spec: str, _labelled: LabelledSet
) -> tuple[NDArray[np.bool_], str]:
    try:
        return trained_rows(spec, _labelled)
    except RunError:
        return np.zeros(len(_labelled), dtype=bool), spec


def context() -> Context:
    """Return what is chosen in the bar, which is drawn before the page."""
    if (now := _CONTEXT.get()) is None:
        raise RuntimeError("draw the bar first")
    return now


def as_b(run: Run) -> dict[str, str]:
    """Return the choices that compare a run, as B, with its base encoder."""
    return {"a": base_of(run) or USUAL_ENCODER, "b": f"{RUN_PREFIX}{run.name}"}


def base_of(run: Run | None) -> str:
    """Return the encoder that a run was trained from, as in the address; "" if it has none or is damaged."""
    config = None if run is None else config_of(run)
    return "" if config is None else in_address(config.encoder)


def stay() -> None:
    """Keep the chosen encoders although another version of the data was just chosen."""
    _OF_DATA.set(chosen_data().sha256)


def draw_bar(choosers: frozenset[Chooser]) -> None:
    """Draw these choosers and store the context; the address takes precedence, so that links, reload and Back work."""
    named, choices = take_address(), choices_of_session()
    # First the data, since encoders and rows are checked against them.
    problems = check_data()
    if Chooser.DATA in choosers:
        draw_data_chooser()
    chosen, runs = chosen_data(), finished_runs()
    _drop_defaults(choices, chosen, named)
    problems += _check(choices, chosen, runs, named)
    # Then the encoders and the rows, each kept in the address.
    if Chooser.ENCODERS in choosers:
        encoders = _offered_encoders(choices, runs)
        _draw_encoder("a", A, encoders, partial(_in_address, encoders), _ABOUT_A)
        _draw_encoder("b", B, [NONE, *encoders], partial(_take_b, encoders, choices), _ABOUT_B)
    if Chooser.ROWS in choosers:
        _draw_split(chosen.labelled)
    # Last, the context for the page. Problems stay until the address names something else.
    if named or problems:
        PROBLEMS.set(tuple(problems))
    _CONTEXT.set(Context(chosen, choices["a"], choices["b"], choices["on"], PROBLEMS.get()))


def _offered_encoders(choices: Mapping[str, str], runs: Mapping[str, Run]) -> list[str]:
    """Return the encoders to choose from, as in the address: those on this machine, the runs, and the chosen ones."""
    known = [encoder.spec for encoder in available_encoders() if encoder.available and encoder.spec != HF]
    known += [f"{RUN_PREFIX}{name}" for name in runs] + [choices["a"], choices["b"]]
    return [value for value in dict.fromkeys(known) if value != NONE]


def _in_address(encoders: Sequence[str], value: str) -> str:
    """Return a chosen or typed encoder as in the address."""
    is_known = value in (NONE, *encoders) or value.startswith(RUN_PREFIX) or len(parts_of(value)) > 1
    return value if is_known else f"{HF}{value.removeprefix(HF)}"


def _take_b(encoders: Sequence[str], choices: dict[str, str], value: str) -> str:
    """Return the chosen B as in the address; an A that is the base of the B before becomes that of this one."""
    value, runs = _in_address(encoders, value), finished_runs()
    if choices["a"] in (USUAL_ENCODER, base_of(_run(choices["b"], runs))):
        choices["a"] = base_of(_run(value, runs)) or choices["a"]
    return value


def _draw_encoder(
    param: str, label: str, options: Sequence[str], changed: Callable[[str], str], about: str
) -> None:
    """Ask for an encoder; one that was trained on other data is marked."""
    stranger = _stranger(_run(choices_of_session()[param], finished_runs()), chosen_data())
    if stranger:
        st.html(f"<style>.st-key-choose-{param} label p {{ color: light-dark(#c62828, #ff8a80) }}</style>")
    linked(
        param,
        f"{label}: other data" if stranger else label,
        options,
        changed=changed,
        format_func=lambda value: "no encoder" if value == NONE else plain_name(value),
        help=stranger or help_on(Word.ENCODER, text=about),
        width=220,
        accept_new_options=True,
    )


def _draw_split(labelled: LabelledSet) -> None:
    titles = {split: f"{split} sentences" for split in labelled.splits} | {ALL: "all sentences"}
    linked(
        "on",
        "Measured on",
        list(titles),
        format_func=titles.__getitem__,
        help=help_on(Word.HELD_OUT),
        width=150,
    )


def draw_problems(choosers: frozenset[Chooser]) -> None:
    """Draw what the address names and can't be opened, and links to the data of chosen runs trained on other data."""
    now = context()
    for problem in now.problems:
        st.warning(problem, icon=":material/link_off:")
    for run in now.runs if Chooser.ENCODERS in choosers else ():
        label, key = f"Open the data that {run.name} was trained on", f"data-of-{run.name}"
        if _stranger(run, now.chosen) and st.button(
            label, icon=":material/database:", type="tertiary", key=key
        ):
            with then_rerun():
                keep("data", data_of_run(run))
                _OF_DATA.set(data_sha_of(run))  # so that the encoders stay


def _drop_defaults(choices: dict[str, str], chosen: ChosenData, named: set[str]) -> None:
    """Drop what nobody chose, so that a newer run can become B, and encoders chosen for other data."""
    made = CHOSEN.get() | named
    if _OF_DATA.is_set and _OF_DATA.get() != chosen.sha256:
        made -= _OF_ENCODERS - named
    CHOSEN.set(made)
    _OF_DATA.set(chosen.sha256)
    for param in (_OF_ENCODERS & choices.keys()) - made:
        del choices[param]


def _check(
    choices: dict[str, str], chosen: ChosenData, runs: Mapping[str, Run], named: set[str]
) -> list[str]:
    """Replace every choice that can't be opened; return what was wrong with them."""
    problems = []
    for key, name in (("a", A), ("b", B)):
        if key in choices and (problem := _problem(choices[key], runs, by_link=key in named)):
            problems.append(f"Encoder {name}: {problem}")
            del choices[key]
    if "b" not in choices:
        choices["b"] = next((f"{RUN_PREFIX}{run.name}" for run in _trained_here(chosen, runs)), NONE)
    if choices.get("a", NONE) == NONE:
        choices["a"] = base_of(_run(choices["b"], runs)) or USUAL_ENCODER
    if choices.get("on") not in (*chosen.labelled.splits, ALL):
        choices["on"] = usual_split(chosen.labelled)
    return problems


def _trained_here(chosen: ChosenData, runs: Mapping[str, Run]) -> Iterator[Run]:
    """Yield the runs that were trained on the data, the newest first, and then those on other versions of them."""
    yield from (run for run in runs.values() if data_sha_of(run) == chosen.sha256)
    if chosen.changes:
        of_versions = versions(chosen)
        yield from (run for run in runs.values() if data_sha_of(run) in of_versions)


def _problem(value: str, runs: Mapping[str, Run], *, by_link: bool) -> str:
    """Return why a value of the address can't be an encoder, as markdown; "" if it can.

    A link neither downloads a model nor opens a folder of this machine.
    """
    try:
        parts = distinct_parts(value)
    except EncoderError as error:
        return sentence(error)
    return next(filter(None, (_problem_of_part(part, runs, by_link=by_link) for part in parts)), "")


def _problem_of_part(value: str, runs: Mapping[str, Run], *, by_link: bool) -> str:
    known = {encoder.spec: encoder for encoder in available_encoders() if encoder.spec != HF}
    if value in known and not known[value].available:
        return sentence(f"{known[value].name} is not available here: {known[value].reason}")
    if value == NONE or value in known:
        return ""
    if value.startswith(RUN_PREFIX):
        name = value.removeprefix(RUN_PREFIX)
        return "" if name in runs else _missing_run(name)
    try:
        spec = model_spec(value, folders=not (by_link or server().sign_in))
    except EncoderError as error:
        return sentence(error)
    if by_link and must_be_fetched(spec):
        return f"{literal(shown(value, 80))} is not on this machine yet; type its name above to download it."
    return ""


def _missing_run(name: str) -> str:
    """Return why a run that an address names is not among the finished ones, as markdown."""
    damaged = next((run for run in list_runs(runs_root()) if run.name == name and not config_of(run)), None)
    if damaged is not None:
        return sentence(status_of(damaged).message, [name])
    return f"there is no finished run {literal(shown(name, 80))} here."


def _run(value: str, runs: Mapping[str, Run]) -> Run | None:
    return runs.get(value.removeprefix(RUN_PREFIX)) if is_run(value) else None


def _stranger(run: Run | None, chosen: ChosenData) -> str:
    """Return a warning if a run was trained on other data than the chosen; "" if not."""
    config = None if run is None else config_of(run)
    if run is None or config is None or not config.encoder or data_sha_of(run) == chosen.sha256:
        return ""
    return f"Trained on {literal(config.data, 60)}, not on {literal(chosen.title, 60)} as it is now."
