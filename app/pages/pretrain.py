"""Pretrain: an encoder trained from scratch on parallel text."""

import streamlit as st

from app.cache import start_helpers
from app.forms.pretraining import PLACE, draw_form, draw_method
from app.forms.starting import draw_start_button
from app.monitor import draw_list, draw_runs
from app.pretraining.shown import draw_others, draw_parallel
from app.pretraining.texts import Kind, Read
from app.pretraining.upload import draw_box, keep_texts, texts_of
from app.state import is_from_scratch, runs_root
from emu_core.data.parallel.labelled import demo_pairs
from emu_core.runs.run import list_runs

WATCHED = "pretrain-watched"
OTHERS = (Kind.RUNNING, Kind.DIALOGUES, Kind.NLI)


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


def draw_texts() -> Read | None:
    """Take parallel text, or the example, and draw what was read."""
    st.subheader("Parallel text")
    draw_box(PLACE, Kind.PARALLEL)
    parallel = texts_of(PLACE, Kind.PARALLEL)
    if parallel is None or parallel.key != "example":
        st.caption(
            "No files at hand? The demo set has 504 sentences in each of six languages: small, but quick."
        )
        if st.button("Take the example", icon=":material/hotel:"):
            keep_texts(PLACE, Kind.PARALLEL, example())
            st.rerun()
    if parallel is not None:
        draw_parallel(parallel)
    return parallel


def draw_other_texts() -> dict[Kind, Read]:
    """Take what else a dual encoder learns from."""
    with st.expander("More to learn from (optional)", icon=":material/library_add:"):
        for kind in OTHERS:
            draw_box(PLACE, kind)
        found = {kind: read for kind in OTHERS if (read := texts_of(PLACE, kind)) is not None}
        draw_others(found)
        if found and st.button("Leave these out", icon=":material/close:"):
            for kind in OTHERS:
                keep_texts(PLACE, kind, None)
            st.rerun()
    return found


@st.cache_resource(show_spinner="Reading the demo set ...")
def example() -> Read:
    """Return the demo set as parallel text."""
    return Read("example", "Example: the demo set's translations", tuple(demo_pairs()))


page()
