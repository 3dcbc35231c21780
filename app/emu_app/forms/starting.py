"""Common parts of the forms that start a run: method, device, name, seed and the start button."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TypeVar

import streamlit as st

from emu_app.shell.address import draw_link, keep, linked
from emu_app.shell.session import Remembered
from emu_app.shell.state import config_of, facts_of_run, make_mine, runs_root, status_of
from emu_app.shell.widgets import ADDRESSED, choose, then_rerun
from emu_app.shell.wording import literal, sentence
from emu_app.work.jobs import job_manager
from emu_core.devices import available_devices
from emu_core.errors import EmuError
from emu_core.methods.presets import Preset, presets
from emu_core.methods.registry import methods_that_need, parts_of_run
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import DataFacts, LabelledFacts
from emu_core.runs.run import RUN_NAME, Run, RunState, Storable, list_runs, new_run_name
from emu_core.runs.stored_data import LabelledData, StoredData
from emu_core.training.memory import forecast
from emu_core.training.method import Method, Needs

RunPlan = tuple[Plan, Storable]
_Choice = TypeVar("_Choice", Method, Preset, Method | Preset)


def draw_device(page: str) -> str:
    """Ask for a device; `page` is the page's name, here and below, as a prefix of the keys."""
    devices = {device.name: device.label for device in available_devices()}
    return choose("Device", list(devices), f"{page}-device", format_func=devices.__getitem__)


def draw_method(key: str, *needs: Needs) -> Method:
    """Ask for a method that is trained on such data; the choice is a parameter of the address."""
    return _draw_choice(key, methods_that_need(*needs))


def draw_method_or_preset(key: str, *needs: Needs) -> Method | Preset:
    """Ask for a method as `draw_method` does, or a preset instead; the presets come after the default."""
    [first, *others] = methods_that_need(*needs).items()
    known: dict[str, Method | Preset] = {**dict([first]), **presets(), **dict(others)}
    return _draw_choice(key, known)


def _draw_choice(key: str, known: Mapping[str, _Choice]) -> _Choice:
    name = linked(key, "Method", list(known), key=key, format_func=lambda name: known[name].title)
    st.caption(known[name].summary)
    return known[name]


def draw_identity(page: str, method: str, what: str) -> tuple[str, int, str]:
    """Ask for a run's device, name and seed; return name, seed and device. The arguments are those of `draw_name`."""
    device = draw_device(page)
    with st.container(key=f"{page}-identity", horizontal=True):
        name = draw_name(page, method, what)
        about = "The same seed on the same CPU gives the same run."
        seed = st.number_input(
            "Seed", 0, 2**31 - 1, 0, help=about, key=f"{page}-seed", width=140, **ADDRESSED
        )
    return name, seed, device


def draw_name(page: str, method: str, what: str) -> str:
    """Ask for the run's name; the default is made of the method and of `what` it is trained on."""
    free = new_run_name(runs_root(), method, what)
    key = f"{page}-name-{_started(page).get()}-{free}"  # a new one after each run proposes a new name
    typed = st.text_input("Name of the run", free, max_chars=80, key=key, **ADDRESSED)
    return typed.strip()


def _started(page: str) -> Remembered[int]:
    """Return how many runs the session has started on a page."""
    return Remembered(f"{page}-started", 0)


def draw_forecast(token: str, plan: RunPlan) -> None:
    """Draw the memory that a run will take, if it is known; `token` identifies the plan's data."""
    if line := _forecast(token, asdict(plan[0]), plan):
        st.caption(f"{line}.")


@st.cache_data(max_entries=4, show_spinner=False)
def _forecast(token: str, values: object, _plan: RunPlan) -> str:
    config, data = _plan
    try:
        dearest = config.teacher or config
        expected = forecast(parts_of_run(dearest), data, dearest) if isinstance(data, StoredData) else None
    except EmuError:  # other programs have taken memory since the plan was made: the run reports it
        return ""
    return "" if expected is None else expected.line


def _trained_already(config: Plan, data: Storable) -> Run | None:
    """Return the newest run on the same data, of the same encoder, by the same method and with the same settings.

    A run that failed or was stopped doesn't count.
    """
    same = _essence(config)
    runs = [
        run
        for run in list_runs(runs_root())
        if (other := config_of(run)) is not None
        and _essence(other) == same
        and status_of(run).state in (RunState.FINISHED, RunState.RUNNING, RunState.QUEUED)
    ]
    if not runs or (isinstance(data, LabelledData) and data.has_foreign_sentences):
        return None  # a run's facts don't tell such sentences apart
    facts = _counted(data.facts(config))
    return next((run for run in runs if _counted(facts_of_run(run)) == facts), None)


def _essence(config: Plan) -> str:
    """Return what determines a run's result beside its data, as JSON."""
    same = config.everywhere(data="", device="", snapshots=False, versions={})
    return json.dumps(asdict(same), sort_keys=True, default=str)


def _counted(facts: DataFacts) -> DataFacts:
    """Return the facts of data without what was written for people."""
    plain = replace(facts, name="")
    return replace(plain, audit=()) if isinstance(plain, LabelledFacts) else plain


def draw_start_button(
    page: str, name: str, plan: RunPlan | str, watched: str, label: str = "Start the run"
) -> None:
    """Draw the button that starts a run and shows it, as `watched` in the address, or why it can't be started."""
    if isinstance(plan, str):
        pass
    elif not RUN_NAME.fullmatch(name):
        plan = "the run's name starts with a lower-case letter or a digit; more of them, '.', '_' and '-' may follow"
    elif (runs_root() / name).exists():
        plan = f"there is a run '{name}' already; choose another name"
    if isinstance(plan, str):
        st.warning(sentence(plan), icon=":material/block:")
    elif (trained := _trained_already(*plan)) is not None:
        with st.container(key="trained-already", horizontal=True, vertical_alignment="center", gap="small"):
            over = status_of(trained).state.is_over
            st.markdown(f"You {'trained' if over else 'are training'} this already:")
            draw_link(page, trained.name, ":material/history:", **{watched: trained.name})
        label = f"{label} again"
    icon, disabled = ":material/play_arrow:", isinstance(plan, str)
    pressed = st.button(label, type="primary", icon=icon, disabled=disabled, width="stretch")
    if not pressed or isinstance(plan, str):
        return
    with then_rerun():
        with st.spinner("Starting ..."):
            run = job_manager().submit(name, *plan, root=runs_root())
        make_mine(run)
        keep(watched, run.name)
        _started(page).set(_started(page).get() + 1)
        # On a narrow page the run itself is out of view.
        st.toast(f"Started {literal(run.name)}.", icon=":material/play_arrow:")
