"""Train: choose a method, start a run, watch it."""

import streamlit as st

from app.cache import start_helpers
from app.forms.starting import draw_start_button
from app.forms.training import PLACE, draw_form
from app.library import ChosenData, chosen_data
from app.panels.monitor import WATCHED, draw_list, draw_runs
from app.panels.widgets import draw_note, draw_notebook_button
from app.state import is_training, runs_root
from emu_core.runs.run import list_runs


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
    all_runs = [run for run in list_runs(runs_root()) if is_training(run)]
    with runs:
        draw_runs(all_runs)
    if all_runs:
        st.subheader("All runs")
        draw_list(all_runs)


def draw_start(chosen: ChosenData) -> None:
    """Ask for a run's settings and start it."""
    st.markdown(chosen.line)
    if not {"test", "dev"} & set(chosen.labelled.splits):
        draw_note(
            "No test split: the method that takes seconds is cross-validated, others are trained but not evaluated. "
            "A column named split, with train and test in it, or a share held out on the Data page changes that."
        )
    choices, start, details = st.container(), st.container(), st.container()
    name, plan = draw_form(chosen, choices, details)
    with start:
        draw_start_button(PLACE, name, plan, WATCHED)
    if not isinstance(plan, str):
        draw_notebook_button(name, plan[0], runs_root() / name, is_demo=chosen.is_demo)


page()
