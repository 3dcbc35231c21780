"""Train: choose a method, start a run, watch it."""

import streamlit as st

from app.cache import job_manager, start_helpers
from app.datafile import save_data
from app.monitor import WATCHED, draw_list, draw_runs
from app.request import TrainRequest
from app.settings_form import draw_form
from app.starting import start_and_watch
from app.state import ChosenData, chosen_data, runs_root
from app.wording import sentence
from emu_core.data.demo import DEMO
from emu_core.runs.run import list_runs

STARTED = "runs_started"


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Train")
    st.caption(
        "Specialise an encoder with labels in one language, for all of its languages. A run goes on when you leave "
        "this page or close the tab."
    )
    settings, runs = st.columns([5, 7], gap="large")
    with settings:
        draw_start(chosen_data())
    all_runs = list_runs(runs_root())
    with runs:
        draw_runs(all_runs)
    if all_runs:
        st.subheader("All runs")
        draw_list(all_runs)


def draw_start(chosen: ChosenData) -> None:
    """Ask for a run's settings and start it."""
    st.markdown(chosen.line)
    if not {"test", "dev"} & set(chosen.labelled.splits):
        st.info(
            "No row is of split test, so a run will be trained but not measured. A column named split, with train and "
            "test in it, changes that.",
            icon=":material/info:",
        )
    request, problem = draw_form(chosen, st.session_state.setdefault(STARTED, 0))
    if problem:
        st.warning(sentence(problem), icon=":material/block:")
    if st.button(
        "Start the run",
        type="primary",
        icon=":material/play_arrow:",
        disabled=bool(problem),
        width="stretch",
    ):
        start(chosen, request)


def start(chosen: ChosenData, request: TrainRequest) -> None:
    """Queue a run on the chosen data and watch it."""

    def begin() -> str:
        data = DEMO if chosen.is_demo else str(save_data(runs_root(), chosen.labelled, chosen.sha256))
        return job_manager().submit(request.on(data)).name

    start_and_watch(begin, WATCHED, STARTED)


page()
