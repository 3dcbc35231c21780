"""What the forms that start a run share: device, name and seed, and the button that queues it."""

from dataclasses import dataclass

import streamlit as st

from app.cache import job_manager
from app.forms.encoder import KEPT
from app.state import runs_root
from app.wording import sentence
from emu_core.devices import available_devices
from emu_core.errors import EmuError
from emu_core.runs.config import RunConfig
from emu_core.runs.run import NAME, Storable, new_run_name


@dataclass(frozen=True)
class Named:
    """What every run has.

    Attributes:
        name: the run's, as typed.
        seed: of every draw.
        device: such as "cpu" or "cuda:0".
    """

    name: str
    seed: int
    device: str

    @property
    def problem(self) -> str:
        """Why no run can have the name, in a sentence; "" when one can."""
        if not NAME.fullmatch(self.name):
            return "the run's name begins with a lower-case letter or a digit, and more of them, '.', '_' and '-' follow"
        if (runs_root() / self.name).exists():
            return f"there is a run '{self.name}' already; choose another name"
        return ""


Plan = tuple[RunConfig, Storable]


def draw_name(place: str, method: str, what: str) -> Named:
    """Ask for device, name and seed.

    Args:
        place: the page's name, for the keys of what was typed.
        method: begins the name that is proposed.
        what: ends it: the encoder, or the languages.
    """
    devices = {device.name: device.label for device in available_devices()}
    device = st.selectbox(
        "Device", list(devices), format_func=devices.__getitem__, key=f"{place}-device", **KEPT
    )
    free = new_run_name(runs_root(), method, what)
    name_place, seed_place = st.columns([3, 1])
    name = name_place.text_input(
        "Name of the run", free, max_chars=80, key=f"{place}-name-{started(place)}-{free}", **KEPT
    )
    seed = seed_place.number_input(
        "Seed",
        0,
        2**31 - 1,
        0,
        help="The same seed on the same CPU gives the same run.",
        key=f"{place}-seed",
        **KEPT,
    )
    return Named(name.strip(), int(seed), device)


def started(place: str) -> int:
    """Return how many runs this session has started on a page; a form begins with a fresh name after each."""
    count: int = st.session_state.setdefault(f"{place}-started", 0)
    return count


def draw_start_button(place: str, name: str, plan: Plan | str, watched: str) -> None:
    """Draw the button that starts a run, or why it can't be started, and start it.

    Args:
        place: the page's name.
        name: the run's.
        plan: its configuration and data, or why there is none, in a sentence.
        watched: the session's key of the run that the page shows.
    """
    if isinstance(plan, str):
        st.warning(sentence(plan), icon=":material/block:")
    pressed = st.button(
        "Start the run",
        type="primary",
        icon=":material/play_arrow:",
        disabled=isinstance(plan, str),
        width="stretch",
    )
    if not pressed or isinstance(plan, str):
        return
    try:
        with st.spinner("Starting ..."):
            run = job_manager().submit(name, *plan)
    except EmuError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    st.session_state[watched] = run.name
    st.session_state[f"{place}-started"] += 1
    st.rerun()
