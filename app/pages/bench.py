"""Evidence: the paper's experiments and today's peers on the chosen data, started, followed and read."""

import streamlit as st

from app.bench.folder import Bench, list_benches
from app.bench.form import Asked, draw_form
from app.bench.shown import draw_report
from app.bench.start import in_the_way, start
from app.bench.status import status_of
from app.bench.watch import POLL_S, WATCHED, draw_go_on, draw_list, draw_watched
from app.cache import job_manager, start_helpers
from app.datafile import save_data
from app.forms.starting import start_and_watch
from app.state import ChosenData, chosen_data, runs_root
from app.wording import sentence
from emu_core.data.demo import DEMO
from emu_core.runs.run import RunState

STARTED = "benches_started"


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Evidence")
    st.caption(
        "The paper's tables and what others do today, measured on your data with one encoder: what each method gains, "
        "how sure that is, and what it costs. A benchmark goes on when you leave this page or close the tab."
    )
    settings, watched = st.columns([5, 7], gap="large")
    with settings:
        draw_start(chosen_data())
    benches = list_benches(runs_root())
    with watched:
        bench = draw_watched(benches)
    if bench is not None and (bench.out / "report.html").is_file():
        draw_found(bench)
    if benches:
        st.subheader("All benchmarks")
        draw_list(benches)


def draw_found(bench: Bench) -> None:
    """Draw a report, and offer the other try that it needs."""
    over = status_of(bench).state is RunState.FINISHED
    if not over:
        st.info("This is the report as it was before.", icon=":material/history:")
    report = draw_report(bench)
    if over and report is None:
        draw_go_on(bench, "Write the report again", "The cells that are finished are kept.")
    elif over and report is not None and report.retry:
        draw_go_on(
            bench,
            "Try again what was not measured",
            "After the mend, such as installing a package: the cells that are finished are kept.",
        )


def draw_start(chosen: ChosenData) -> None:
    """Ask what to measure, and start it."""
    st.markdown(chosen.line)
    asked = draw_form(chosen, st.session_state.setdefault(STARTED, 0))
    if asked.problem:
        st.warning(sentence(asked.problem), icon=":material/block:")
    way = in_the_way(runs_root(), job_manager(), asked.request.device)
    if way:
        st.info(sentence(way), icon=":material/hourglass_top:")
        st.fragment(lambda: _wait_for_way(asked.request.device), run_every=POLL_S)()
    if st.button(
        "Start the benchmark",
        type="primary",
        icon=":material/play_arrow:",
        disabled=bool(asked.problem or way),
        width="stretch",
    ):
        begin(chosen, asked)


def begin(chosen: ChosenData, asked: Asked) -> None:
    """Start a benchmark on the chosen data and watch it."""

    def begun() -> str:
        root, own = runs_root(), (chosen.labelled, chosen.sha256, chosen.translations)
        data = DEMO if chosen.is_demo else str(save_data(root, *own))
        return start(root, job_manager(), asked.name, asked.request.on(data)).name

    start_and_watch(begun, WATCHED, STARTED)


def _wait_for_way(device: str) -> None:
    """Draw the page again when nothing is in the way any more."""
    if not in_the_way(runs_root(), job_manager(), device):
        st.rerun()


page()
