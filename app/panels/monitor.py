"""The runs on the Train page: the one that is watched, live, and the list of all."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.address import draw_link, keep, keep_renamed, linked
from app.context import as_b
from app.jobs import OUTDATED, UNDO_S, job_manager
from app.panels.accuracy import draw_guard, draw_new_intents
from app.panels.pretrained import draw_held_out, draw_results, losses_of
from app.panels.run_table import P_AT_1, found_runs, progress_line, runs_frame
from app.panels.widgets import draw_note, errors_shown, roomy_columns
from app.state import (
    config_of,
    is_bench,
    is_from_scratch,
    is_mine,
    make_mine,
    note_of,
    runs_root,
    status_of,
    tags_of,
)
from app.wording import literal, sentence
from emu_core import charts
from emu_core.data.wording import counted
from emu_core.errors import RunError
from emu_core.evaluation.metric_rows import cross_validation_sentence
from emu_core.runs.run import (
    BESIDE_STEPS,
    MOST_NOTE,
    MOST_TAGS,
    Run,
    RunState,
    Status,
    empty_trash,
    in_trash,
    list_runs,
)

WATCHED = "watched"
_EDITS = "edits-of-runs"
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
        draw_undo(key)
        return None
    name = linked(key, label, [run.name for run in runs], key=key)
    run = next(run for run in runs if run.name == name)
    draw_keeping(run, key)
    status, seen = status_of(run), _moving(list_runs(runs_root()))
    st.fragment(lambda: follow(run, seen), run_every=POLL_S if seen else None)()
    moving = (
        status.state is RunState.RUNNING and status.phase not in BESIDE_STEPS
    )  # else they stay as they are
    slower_s = min(SLOWEST_S, max(POLL_S, status.steps / STEPS_A_SECOND))
    st.fragment(lambda: draw_curves(run), run_every=slower_s if moving else None)()
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
    elif not _held(run, status) and _can_resume(run):
        draw_resume(run)


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


def draw_keeping(run: Run, key: str) -> None:
    """Draw a run's tags and note, and ways to change them and its name, to delete it and to bring it back."""
    is_over = status_of(run).state.is_over and not job_manager().holds(run)
    tags, note = tags_of(run), note_of(run)
    if tags:
        st.markdown(" ".join(f":gray-badge[{literal(tag)}]" for tag in tags))
    if note:
        st.text(note)
    edits = st.session_state.setdefault(_EDITS, 0)  # a new key closes the box
    with st.container(horizontal=True, key="keeping"):
        with st.popover("Name, tags, note", icon=":material/edit_note:", key=f"edit-{run.name}-{edits}"):
            draw_edit(run, key, is_over=is_over)
        if is_over and st.button(
            "Delete",
            icon=":material/delete:",
            key=f"delete-{run.name}",
            help="Its encoder, figures and log. It can be undone for an hour, until the app starts again. Runs that "
            "were trained on top of it stay, and can't be compared with it any more.",
        ):
            with errors_shown():
                job_manager().delete(run)
                keep_renamed(run.name)
                st.rerun()
        draw_undo(key)


def draw_edit(run: Run, key: str, *, is_over: bool) -> None:
    """Ask for a run's name, tags and note, and keep them."""
    known = sorted({tag for one in list_runs(runs_root()) for tag in tags_of(one)})
    with st.form(f"keep-{run.name}", border=False):
        name = st.text_input(
            "Name",
            run.name,
            max_chars=80,
            disabled=not is_over,
            help="It can be changed once the run is over.",
        )
        tags = st.multiselect(
            "Tags",
            known,
            tags_of(run),
            accept_new_options=True,
            placeholder="Choose or type some",
            max_selections=MOST_TAGS,
        )
        note = st.text_area("Note", note_of(run), max_chars=MOST_NOTE)
        if not st.form_submit_button("Save", icon=":material/save:", type="primary"):
            return
    with errors_shown():
        run.annotate(note=note, tags=tags)
        if is_over and name.strip() != run.name:
            new = job_manager().rename(run, name.strip())
            keep_renamed(run.name, new.name)
            if is_mine(run):
                make_mine(new)
        st.session_state[_EDITS] += 1
        st.rerun()


def draw_undo(key: str) -> None:
    """Offer to bring back the run that was deleted last, within the hour."""
    empty_trash(runs_root(), UNDO_S)
    for run in in_trash(runs_root())[:1]:
        if st.button(f"Undo: bring back {run.name}", icon=":material/undo:", key=f"undo-{key}"):
            with errors_shown():
                keep(key, job_manager().undelete(run).name)
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
        if "cross_validation" in metrics:
            st.markdown(literal(cross_validation_sentence(metrics["cross_validation"])))
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
    if len(runs) > 1:
        asked = st.text_input(
            "Search the runs",
            placeholder="a name, a tag, words of a note, a method, data ...",
            key="runs-search",
            persist_state="session",
            width=420,
        )
        runs = found_runs(runs, asked)
        if not runs:
            draw_note("No run has all of these words.")
            return
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
            "Tags": st.column_config.ListColumn(),
            "Note": st.column_config.TextColumn(width="medium"),
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
