"""Train: choose a method, start a run, watch it."""

import streamlit as st

from emu_app.data.library import chosen_data
from emu_app.forms.estimate import draw_estimate
from emu_app.forms.starting import draw_start_button
from emu_app.forms.training import TRAIN_PAGE, draw_form
from emu_app.forms.try_all import draw_try_all
from emu_app.panels.monitor import WATCHED_RUN, draw_form_and_runs, draw_list
from emu_app.panels.ranking import draw_ranking
from emu_app.shell.state import is_from_scratch, is_training, runs_root
from emu_app.shell.widgets import draw_note, draw_notebook_button
from emu_core.runs.run import Run


def page() -> None:
    """Draw the page."""
    st.caption(
        "Specialise an encoder for all of its languages with labels in one. A run continues when you leave this page "
        "or close the tab."
    )
    runs, _ = draw_form_and_runs(_draw_start, _is_wanted, WATCHED_RUN, data_sha=chosen_data().sha256)
    draw_ranking(runs, chosen_data())
    if runs:
        st.header("All runs")
        draw_list(runs, WATCHED_RUN)


def _is_wanted(run: Run) -> bool:
    """Return whether a run specialises an encoder; one from scratch is on the page Pretrain."""
    return is_training(run) and not is_from_scratch(run)


def _draw_start() -> None:
    chosen = chosen_data()
    st.markdown(chosen.line)
    if not {"test", "dev"} & set(chosen.labelled.splits):
        draw_note(
            "No test split: the fast method is cross-validated, others are trained but not evaluated. Add a column "
            "named split with the values train and test, or hold out a share on the Data page."
        )
    choices, start, details = (st.container(key=key) for key in ("choices", "start-run", "details"))
    name, plan = draw_form(chosen, choices, details)
    with start:
        if not isinstance(plan, str):
            draw_estimate(chosen.token, plan)
        draw_start_button(TRAIN_PAGE, name, plan, WATCHED_RUN)
    if not isinstance(plan, str):
        draw_notebook_button(name, plan[0], runs_root() / name, is_demo=chosen.is_demo)
    draw_try_all(chosen)


page()
