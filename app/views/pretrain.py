"""Pretrain: an encoder trained from scratch on parallel text."""

import streamlit as st

from app.cache import start_helpers
from app.forms.pretraining import PLACE, draw_form, draw_method
from app.forms.starting import draw_start_button
from app.panels.monitor import draw_list, draw_runs
from app.state import is_from_scratch, runs_root
from app.uploads.shown import draw_other_texts, draw_texts
from app.uploads.texts import Kind
from emu_core.runs.run import list_runs

WATCHED = "pretrain-watched"


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Pretrain")
    st.caption(
        "Train an encoder of your own from scratch, on sentences and their translations. A run goes on when you leave "
        "this page or close the tab."
    )
    settings, runs = st.columns([5, 7], gap="large")
    with settings:
        draw_start()
    pretrained = [run for run in list_runs(runs_root()) if is_from_scratch(run)]
    with runs:
        draw_runs(pretrained, WATCHED)
    if pretrained:
        st.subheader("All runs from scratch")
        draw_list(pretrained, from_scratch=True)


def draw_start() -> None:
    """Ask for texts and settings, and start a run."""
    parallel = draw_texts()
    method = draw_method()
    others = draw_other_texts() if method.reads_tasks else {}
    texts = others if parallel is None else {Kind.PARALLEL: parallel, **others}
    name, plan = draw_form(method, texts)
    draw_start_button(PLACE, name, plan, WATCHED)


page()
