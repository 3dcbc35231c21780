"""What every form that starts a run has: its device, name and seed, and the button."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from app.cache import job_manager
from app.encoder_choice import KEPT
from app.state import runs_root
from app.wording import sentence
from emu_core.devices import available_devices
from emu_core.errors import EmuError
from emu_core.runs.config import RunConfig
from emu_core.runs.run import NAME, Storable, new_run_name

Plan = tuple[RunConfig, Storable]


@dataclass(frozen=True, eq=False)
class Asked:
    """A filled-in form.

    Attributes:
        name: of the run.
        problem: why it can't be started; "" when it can.
        plan: returns what `create_run` takes; may raise EmuError.
    """

    name: str
    problem: str
    plan: Callable[[], Plan]


def draw_device(place: str) -> str:
    """Ask for the device; `place` is the form's, and tells its inputs from those of other forms."""
    devices = {device.name: device.label for device in available_devices()}
    return st.selectbox(
        "Device", list(devices), format_func=devices.__getitem__, key=f"{place}-device", **KEPT
    )


def draw_name(place: str, what: str, on: str) -> str:
    """Ask for the run's name; the usual one is free, and made of what is run and on what."""
    free = new_run_name(runs_root(), what, on)
    started = st.session_state.setdefault(_started(place), 0)  # each run of a session begins with a fresh name
    typed = st.text_input("Name of the run", free, max_chars=80, key=f"{place}-name-{started}-{free}", **KEPT)
    return typed.strip()


def draw_seed(place: str) -> int:
    """Ask for the seed."""
    return st.number_input(
        "Seed",
        0,
        2**31 - 1,
        0,
        help="The same seed on the same CPU gives the same run.",
        key=f"{place}-seed",
        **KEPT,
    )


def misnamed(name: str) -> str:
    """Return why a run can't have this name; "" when it can."""
    if not NAME.fullmatch(name):
        return "the run's name must begin with a lower-case letter or a digit; after it '.', '_' and '-' may be used, too"
    if (runs_root() / name).exists():
        return f"there is a run '{name}' already; choose another name"
    return ""


def draw_button(asked: Asked, place: str, watched: str, label: str = "Start the run") -> None:
    """Draw why a run can't be started, and the button that queues it and has the page watch it.

    Args:
        asked: the form.
        place: the form's.
        watched: the session's key of the run that is watched.
        label: of the button.
    """
    problem = asked.problem or misnamed(asked.name)
    if problem:
        st.warning(sentence(problem), icon=":material/block:")
    if st.button(
        label, type="primary", icon=":material/play_arrow:", disabled=bool(problem), width="stretch"
    ):
        try:
            with st.spinner("Starting ..."):
                run = job_manager().submit(asked.name, *asked.plan())
        except EmuError as error:
            st.error(sentence(error), icon=":material/error:")
            return
        st.session_state[watched] = run.name
        st.session_state[_started(place)] += 1
        st.rerun()


def _started(place: str) -> str:
    return f"{place}-started"
