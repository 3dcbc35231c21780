"""The runs on the Train page: the one that is watched, live, and the list of all."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.address import draw_link, linked
from app.context import as_b
from app.jobs import OUTDATED, job_manager
from app.panels.accuracy import draw_guard, draw_new_intents
from app.panels.pretrained import draw_held_out, draw_results, losses_of
from app.panels.run_table import P_AT_1, progress_line, runs_frame
from app.panels.widgets import draw_note, errors_shown, roomy_columns
from app.state import config_of, is_bench, is_from_scratch, is_mine, make_mine, runs_root, status_of
from app.wording import literal, sentence
from emu_core import charts
from emu_core.data.wording import counted
from emu_core.errors import RunError
from emu_core.runs.run import Run, RunState, Status, list_runs

WATCHED = "watched"
POLL_S = 1.0
STEPS_A_SECOND = 2_000  # a log of so many steps is read and drawn again each second, a longer one less often
SLOWEST_S = 20.0


def draw_runs(runs: Sequence[Run], key: str = WATCHED, label: str = "Run") -> Run | None:
    """Draw which of the page's runs, the newest first, is watched, and return it; page and run follow what happens."""
    if others := job_manager().count(runs_root())[1]:
        st.caption(
            f"{counted(others, 'job')} of other people {'waits or runs' if others == 1 else 'wait or run'}."
        )
    if not runs:
        st.info(f"{label}s appear here. Start the first one on the left.", icon=":material/arrow_back:")
        return None
    name = linked(key, label, [run.name for run in runs], key=key)
    run = next(run for run in runs if run.name == name)
    status, seen = status_of(run), _moving(list_runs(runs_root()))
    st.fragment(lambda: follow(run, seen), run_every=POLL_S if seen else None)()
    running = status.state is RunState.RUNNING
    slower_s = min(SLOWEST_S, max(POLL_S, status.steps / STEPS_A_SECOND))
    st.fragment(lambda: draw_curves(run), run_every=slower_s if running else None)()
    return run


def follow(run: Run, seen: set[tuple[str, str, str]]) -> None:
    """Draw a run's status; draw the whole page again when any run has come to another state or phase."""
    if _moving(list_runs(runs_root())) != seen:
        st.rerun()
    status = status_of(run)
    if status.state is RunState.RUNNING:
        st.progress(status.progress, text=progress_line(status, config_of(run)))
    elif status.state is RunState.QUEUED and not job_manager().holds(run):
        draw_queued_elsewhere(run)
    elif status.state is RunState.QUEUED:
        ahead = job_manager().ahead_of(run)
        st.info(
            f"Waiting for {ahead} other job{'s' * (ahead != 1)} on its device."
            if ahead
            else "About to start."
        )
    else:
        draw_end(run, status)
    if not status.state.is_over:
        draw_cancel(run)
    elif not _held(run, status):
        with st.container(horizontal=True):
            if _can_resume(run):
                draw_resume(run)
            draw_delete(run)


def draw_queued_elsewhere(run: Run) -> None:
    """Draw a run that this server has not queued, and offer to start it."""
    if not _can_resume(run):
        st.error(sentence(OUTDATED), icon=":material/error:")
        return
    st.info("Somebody else has queued it, or an earlier server has. It does not start by itself.")
    draw_resume(run, "Start", "It waits its turn on its device, and then begins or goes on.")


def draw_cancel(run: Run) -> None:
    """Offer to stop a run: at once to the session that began it, and after a question to any other."""
    place: Any = st
    label = "Stopping ..." if run.cancel_asked else "Cancel"
    if not (run.cancel_asked or is_mine(run)):
        place, label = st.popover("Cancel ...", icon=":material/stop_circle:"), "Cancel it anyway"
        place.markdown("It was begun in another browser session, or before this page was reloaded.")
    if place.button(
        label, icon=":material/stop_circle:", disabled=run.cancel_asked, key=f"cancel-{run.name}"
    ):
        job_manager().cancel(run)
        st.rerun()  # of the whole page: the click may have come with a run of all of it


def draw_resume(run: Run, label: str = "Resume", explanation: str = "") -> None:
    """Offer to go on with a run."""
    if st.button(
        label,
        icon=":material/resume:",
        key=f"resume-{run.name}",
        help=explanation
        or "It goes on from where it was last saved, to the same results as if it had never stopped.",
    ):
        try:
            job_manager().resume(run)
        except (RunError, OSError) as error:
            st.error(sentence(error), icon=":material/error:")
            return
        make_mine(run)
        st.rerun()


def draw_delete(run: Run) -> None:
    """Offer to delete a run that is over, after a question."""
    place = st.popover("Delete ...", icon=":material/delete:", key=f"ask-delete-{run.name}")
    place.markdown(
        "Its encoder, figures and log go for good. Runs that were trained on top of its encoder stay, and can't be "
        "compared with it any more."
    )
    if place.button("Delete it", icon=":material/delete:", key=f"delete-{run.name}"):
        with errors_shown():
            job_manager().delete(run)
            st.rerun()


def draw_end(run: Run, status: Status) -> None:
    """Draw what came of a run."""
    if status.state is RunState.FAILED:
        st.error(sentence(status.message), icon=":material/error:")
    elif status.state is not RunState.FINISHED:
        cells = (
            f" after {status.step} of {counted(status.steps, 'cell')}"
            if is_bench(run) and status.steps
            else ""
        )
        st.warning(sentence(f"{status.state.value}{cells}: {status.message}"), icon=":material/block:")
    elif is_bench(run):
        st.success(f"Finished: {counted(status.steps, 'cell')}.", icon=":material/check_circle:")
    else:
        with errors_shown():  # of a damaged run folder
            if is_from_scratch(run):
                draw_results(run)
            else:
                draw_gain(run)


def draw_gain(run: Run) -> None:
    """Draw a finished run's mean accuracy before and after."""
    metrics = run.metrics()
    if "mean_base" not in metrics:
        draw_note(sentence(metrics.get("note", "nothing was measured")))
    else:
        base, specialised = metrics["mean_base"], metrics["mean_specialised"]
        before, after = roomy_columns(2, 220, "gain", border=True)
        before.metric("Base encoder, mean Acc@1", f"{base:.1f} %")
        after.metric(
            "Specialised, mean Acc@1",
            f"{specialised:.1f} %",
            delta=f"{specialised - base:+.1f} points",
            help="Acc@1: how often a test sentence's nearest neighbour, in another language or the same, has its "
            f"intent. Mean over the {literal(metrics.get('mean_over', 'directions'))}.",
        )
        if "parts" in metrics:
            st.caption(
                "Of the meaning, as a vector of its own. It was trained on translations, and not on intents."
            )
        if metrics.get("guard"):  # a run of an earlier version has none
            draw_guard(metrics["guard"], key="guard")
    if "new_intents" in metrics:  # of a method that takes seconds
        draw_new_intents(metrics["new_intents"])
    draw_link("views/workbench.py", "Compare the two in detail", ":material/compare_arrows:", **as_b(run))
    if "parts" in metrics:
        draw_link(
            "views/split.py", "See what it splits a sentence into", ":material/call_split:", run=run.name
        )
    for warning in metrics.get("warnings", []):
        st.warning(sentence(warning), icon=":material/info:")


def draw_curves(run: Run) -> None:
    """Draw a run's losses so far, and an alarm where the last epoch gave one."""
    history = run.history()
    if is_from_scratch(run):
        draw_held_out(history)
        history = losses_of(history)
    elif status_of(run).state is not RunState.FINISHED:  # then the alarm is among its warnings
        draw_alarm(history)
    if history:
        st.markdown("**Training, step by step**")
        st.plotly_chart(charts.loss_curves(history), key="losses")


def draw_alarm(history: Sequence[dict[str, Any]]) -> None:
    """Draw what the last epoch that is over says of collapse, if it says anything."""
    last = next((record for record in reversed(history) if record.get("kind") == "epoch"), None)
    if last is not None and (alarm := last.get("alarm")):
        st.error(f"Epoch {int(last['epoch'])}: {sentence(alarm)}", icon=":material/notification_important:")


def draw_list(runs: Sequence[Run], *, from_scratch: bool = False) -> None:
    """Draw runs, the newest first; those that were all trained from scratch have no base."""
    table = runs_frame(runs)
    accuracy = st.column_config.NumberColumn(format="%.1f", help="Mean Acc@1 on the test rows, percent.")
    st.dataframe(
        table.drop(columns=["Encoder", "Before", "After", "Gain"]) if from_scratch else table,
        hide_index=True,
        placeholder="",
        column_config={
            "Run": st.column_config.TextColumn(width=190),  # names are long, and alike at the beginning
            "Before": accuracy,
            "After": accuracy,
            "Gain": st.column_config.NumberColumn(format="%+.1f", help="Percentage points."),
            P_AT_1: st.column_config.NumberColumn(
                format="%.1f",
                help="Of encoders trained from scratch: how often a held-out sentence's nearest one in the other "
                "language is its translation, percent; the mean of the directions trained on.",
            ),
            "Started": st.column_config.DatetimeColumn(format="calendar", width=140),
        },
        key="runs",
    )


def _moving(runs: Sequence[Run]) -> set[tuple[str, str, str]]:
    """Return name, state and phase of each run that runs, or is about to begin or to go on."""
    found = [(run, status_of(run)) for run in runs]
    moving = {
        (run.name, s.state.value, s.phase)
        for run, s in found
        if s.state is RunState.RUNNING or (s.state is RunState.QUEUED and job_manager().holds(run))
    }
    return moving | {(run.name, "held", "") for run, s in found if _held(run, s)}


def _held(run: Run, status: Status) -> bool:
    """Return whether a run that is over still has a process, which has only just come to its end."""
    return status.state.is_over and job_manager().holds(run)


def _can_resume(run: Run) -> bool:
    try:
        return run.can_resume
    except RunError:  # the folder is damaged, and the page says so
        return False
