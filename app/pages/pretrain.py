"""Pretrain: an encoder trained from scratch on parallel text."""

import streamlit as st

from app.cache import job_manager, start_helpers
from app.forms.hyper_parameters import draw_method
from app.monitor import draw_list, draw_runs
from app.pretrain_request import PretrainRequest, is_pretrained
from app.pretraining.form import draw_form, why_not, with_files
from app.pretraining.shown import draw_others, draw_parallel
from app.pretraining.texts import Kind, Read
from app.pretraining.upload import draw_box, keep_texts, texts_of
from app.starting import start_and_watch
from app.state import runs_root
from app.wording import sentence
from emu_core.data.parallel.labelled import demo_pairs
from emu_core.methods.method import Needs
from emu_core.runs.run import list_runs

PLACE, STARTED, WATCHED = "pretrain", "pretrained_started", "pretrain-watched"
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
    pretrained = [run for run in list_runs(runs_root()) if is_pretrained(run)]
    with runs:
        draw_runs(pretrained, WATCHED)
    if pretrained:
        st.subheader("All runs from scratch")
        draw_list(pretrained, from_nothing=True)


def draw_start() -> None:
    """Ask for texts and settings, and start a run."""
    parallel = draw_texts()
    method = draw_method(Needs.PARALLEL_TEXT, key="pretrain-method")
    others = draw_other_texts() if method.reads_tasks else {}
    pairs = "" if parallel is None else "-".join(dict.fromkeys(
        code for text in parallel.parallel for code in text.languages
    ))  # fmt: skip
    request = draw_form(method, pairs, st.session_state.setdefault(STARTED, 0))
    problem = why_not(request, parallel)
    if problem:
        st.warning(sentence(problem), icon=":material/block:")
    if st.button(
        "Start the run", type="primary", icon=":material/play_arrow:", disabled=bool(problem), width="stretch"
    ) and parallel is not None:  # fmt: skip
        start(request, {Kind.PARALLEL: parallel, **others})


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


def start(request: PretrainRequest, texts: dict[Kind, Read]) -> None:
    """Queue a run on the texts and watch it."""
    start_and_watch(lambda: job_manager().submit(with_files(request, texts)).name, WATCHED, STARTED)


page()
