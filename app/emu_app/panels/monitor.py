"""The runs of a page: the watched one, live, and the list of all."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st
from msgspec import UNSET

from emu_app.panels.context import as_b
from emu_app.panels.differences import (
    AGAINST,
    choose_baseline,
    draw_differences,
    gain_against,
    run_facts,
    run_results,
)
from emu_app.panels.live_map import live_map_fragment
from emu_app.panels.run_table import (
    MINUTES,
    STARTED,
    epochs_told,
    found_runs,
    language_columns,
    progress_line,
    runs_frame,
    together,
)
from emu_app.panels.started import scroll_to_started
from emu_app.panels.verdict import draw_measure, draw_measures, draw_verdict
from emu_app.shell.address import TAKE_AWAY, choices_of_session, draw_link, keep, keep_renamed, linked
from emu_app.shell.glossary import Word, help_on
from emu_app.shell.model_name import RUN_PREFIX
from emu_app.shell.session import Remembered
from emu_app.shell.state import (
    can_resume,
    config_of,
    data_sha_of,
    is_bench,
    is_from_scratch,
    is_mine,
    make_mine,
    metrics_of,
    remarks_of,
    runs_root,
    status_of,
)
from emu_app.shell.widgets import (
    ADDRESSED,
    KEPT,
    draw_chart,
    draw_note,
    draw_rows_to_tick,
    draw_table,
    errors_shown,
    then_rerun,
)
from emu_app.shell.wording import literal, sentence
from emu_app.work.jobs import UNDO_S, job_manager
from emu_core import charts
from emu_core.data.languages import language_name, split_pair
from emu_core.data.wording import counted, shown
from emu_core.errors import Message
from emu_core.evaluation.run_metrics import Metrics
from emu_core.reports import figures
from emu_core.reports.figures import Figure
from emu_core.reports.verdict import RIGHT_INTENTS, SIMILAR_SENTENCES, run_verdict
from emu_core.runs.forgetting import read_forgetting
from emu_core.runs.log import Record
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

WATCHED_RUN = "watched"
FOUND = ("Direction", "P@1", "95 % interval", "P@3", "P@10", "Among", "Trained on")
_LOSSES = {"hinge": "Hinge loss", "l2": "L2 penalty"}
_EDITS = Remembered("edits-of-runs", 0)
_POLL_S = 1.0
STEPS_A_SECOND = 2_000  # a log of this many steps is redrawn each second, a longer one less often
SLOWEST_S = 20.0


def draw_form_and_runs(
    draw_form: Callable[[], None],
    wanted: Callable[[Run], bool],
    key: str,
    label: str = "Run",
    *,
    data_sha: str = "",
) -> tuple[list[Run], Run | None]:
    """Draw a form that starts runs beside the wanted runs; return those, the newest first, and the watched one.

    `key` is the parameter of the address that names the watched run. With the hash of a set, the runs on that set come
    first, and others are marked.
    """
    settings, watched = st.container(key="form-and-runs").columns([5, 7], gap="large")
    watched = watched.container(key="watched-run")
    with settings:
        draw_form()
    runs = [run for run in list_runs(runs_root()) if wanted(run)]
    with watched:
        watched_run = _draw_runs(runs, key, label, data_sha)
    scroll_to_started()
    return runs, watched_run


def _draw_runs(runs: Sequence[Run], key: str, label: str, data_sha: str) -> Run | None:
    if jobs := job_manager().count(runs_root())[1]:
        waiting = "job of other people waits or runs", "jobs of other people wait or run"
        st.caption(f"{counted(jobs, *waiting)}.")
    if not runs:
        draw_note(f"{label}s appear here. Start the first one with the form.")
        _draw_undo(key)
        return None
    others = {run.name: _other_data(run, data_sha) for run in runs}
    _forget_other_data(key, others, data_sha)
    names = sorted(others, key=lambda name: bool(others[name]))

    def title(name: str) -> str:
        return f"{name}, trained on {shown(others[name], 40)}" if others.get(name) else name

    name = linked(key, label, names, key=key, format_func=title)
    run = next(run for run in runs if run.name == name)
    if others[name]:
        draw_note(f"Trained on {literal(others[name], 60)}, not on the data chosen above.")
    _draw_keeping(run, key)
    status, seen = status_of(run), _moving()
    st.fragment(lambda: _follow(run, seen), run_every=_POLL_S if seen else None)()
    live_map_fragment(run, is_moving=status.state is RunState.RUNNING, every_s=_POLL_S)
    moving = status.state is RunState.RUNNING and status.phase not in BESIDE_STEPS
    slower_s = min(SLOWEST_S, max(_POLL_S, status.steps / STEPS_A_SECOND))
    st.fragment(lambda: _draw_curves(run), run_every=slower_s if moving else None)()
    return run


def _other_data(run: Run, data_sha: str) -> str:
    """Return the name of a run's data if it isn't the set with this hash; "" if it is, or if that is unknown."""
    config = config_of(run) if data_sha else None
    return "" if config is None or data_sha_of(run) in ("", data_sha) else config.data


def _forget_other_data(key: str, others: Mapping[str, str], data_sha: str) -> None:
    """Drop the watched run when another set is chosen, unless it was trained on that, or is still moving."""
    of_data = Remembered(f"{key}-of-data", data_sha)
    before = of_data.get()
    of_data.set(data_sha)
    watched = choices_of_session().get(key, "")
    if before != data_sha and others.get(watched) and watched not in {name for name, *_ in _moving()}:
        del choices_of_session()[key]


def _follow(run: Run, seen: set[tuple[str, str, str]]) -> None:
    """Draw a run's status; run the whole page again when any run's state or phase has changed."""
    if _moving() != seen:
        st.rerun()
    status = status_of(run)
    if status.state is RunState.RUNNING:
        st.progress(status.progress, text=progress_line(status, config_of(run)))
    elif status.state.is_over:
        _draw_end(run, status)
        if not job_manager().holds(run) and can_resume(run):
            draw_resume(run)
        return
    elif job_manager().holds(run):
        ahead = job_manager().ahead_of(run)
        waiting = f"Waiting for {counted(ahead, 'other job')} on its device."
        st.info(waiting if ahead else "About to start.")
    elif can_resume(run):
        st.info("It was queued by somebody else or by an earlier server. It does not start by itself.")
        draw_resume(run, "Start", "It waits for its device, and then starts or resumes.")
    else:
        st.error("The data that it was queued with is gone. Start it again.", icon=":material/error:")
    _draw_cancel(run)


def _draw_cancel(run: Run) -> None:
    """Offer to stop a run; a browser in which it was not started confirms first."""
    container: Any = st
    label = "Stopping ..." if run.cancel_asked else "Cancel"
    if not (run.cancel_asked or is_mine(run)):
        container, label = st.popover("Cancel ...", icon=":material/stop_circle:"), "Cancel it anyway"
        container.markdown("It was not started in this browser.")
    icon, key = ":material/stop_circle:", f"cancel-{run.name}"
    if container.button(label, icon=icon, disabled=run.cancel_asked, key=key):
        job_manager().cancel(run)
        st.rerun()  # the whole page, which the click may have run


def draw_resume(run: Run, label: str = "Resume", explanation: str = "") -> None:
    """Offer to resume a run."""
    usual = "It continues from its last checkpoint, with the same results as if it had never stopped."
    if st.button(label, icon=":material/resume:", key=f"resume-{run.name}", help=explanation or usual):
        with then_rerun():
            job_manager().resume(run)
            make_mine(run)


def _draw_keeping(run: Run, key: str) -> None:
    is_over = status_of(run).state.is_over and not job_manager().holds(run)
    note, tags = remarks_of(run)
    if tags:
        st.markdown(" ".join(f":gray-badge[{literal(tag)}]" for tag in tags))
    if note:
        st.text(note)
    edits = _EDITS.get()  # a new key closes the box
    with st.container(horizontal=True, key="keeping"):
        with st.popover("Name, tags, note", icon=":material/edit_note:", key=f"edit-{run.name}-{edits}"):
            _draw_edit(run, is_over=is_over)
        if is_over and st.button(
            "Delete",
            icon=":material/delete:",
            key=f"delete-{run.name}",
            help="Deletes its encoder, figures and log. This can be undone for an hour, unless the app is restarted. "
            "Runs that were trained on top of it are kept, but can no longer be compared with it.",
        ):
            with then_rerun():
                job_manager().delete(run)
                keep_renamed(run.name)
        _draw_undo(key)


def _draw_edit(run: Run, *, is_over: bool) -> None:
    old_note, old_tags = remarks_of(run)
    known = sorted({tag for other in list_runs(runs_root()) for tag in remarks_of(other)[1]})
    with st.form(f"keep-{run.name}", border=False):
        why = "It can be changed once the run is over."
        name = st.text_input("Name", run.name, max_chars=80, disabled=not is_over, help=why)
        tags = st.multiselect(
            "Tags",
            known,
            old_tags,
            accept_new_options=True,
            placeholder="Choose or type tags",
            max_selections=MOST_TAGS,
        )
        note = st.text_area("Note", old_note, max_chars=MOST_NOTE)
        if not st.form_submit_button("Save", icon=":material/save:", type="primary"):
            return
    with then_rerun():
        run.annotate(note=note, tags=tags)
        if is_over and name.strip() != run.name:
            keep_renamed(run.name, job_manager().rename(run, name.strip()).name)
        _EDITS.set(_EDITS.get() + 1)


def _draw_undo(key: str) -> None:
    """Offer to restore the run that was deleted last, within the hour."""
    empty_trash(runs_root(), UNDO_S)
    for run in in_trash(runs_root())[:1]:
        if st.button(f"Undo: restore {run.name}", icon=":material/undo:", key=f"undo-{key}"):
            with then_rerun():
                keep(key, run.put_back().name)


def _draw_end(run: Run, status: Status) -> None:
    if status.state is RunState.FAILED:
        st.error(sentence(status.message), icon=":material/error:")
    elif status.state is not RunState.FINISHED:
        stopped = f" after {status.step} of {counted(status.steps, 'run')}"
        cells = stopped if is_bench(run) and status.steps else ""
        st.warning(sentence(_stopped(status, cells)), icon=":material/block:")
    elif is_bench(run):
        st.success(f"Finished: {counted(status.steps, 'run')}.", icon=":material/check_circle:")
    else:
        with errors_shown():  # a run's folder may be damaged
            _draw_figures(run)


def _stopped(status: Status, cells: str) -> Message:
    """Return why a run stopped: its message, after the state where that does not say it itself."""
    state, why = f"{status.state.value}{cells}", status.message
    if not str(why):
        return Message(state)
    return why if not cells and str(why).startswith(state) else Message(f"{state}: ", why)


def _draw_figures(run: Run) -> None:
    """Draw the verdict on a finished run, every other figure, and where to go from here."""
    metrics, is_scratch = run.metrics(), is_from_scratch(run)
    verdict = run_verdict(metrics, read_forgetting(run))
    draw_verdict(verdict)
    if metrics.note:
        draw_note(
            "Hold out a share of the sentences on the Data page before you train, or measure on other data on the "
            "page Compare."
        )
    draw_measures(verdict, "bars")
    if is_scratch:
        encoder = f"{RUN_PREFIX}{run.name}"
        draw_link("translations", "Look at what it finds", ":material/g_translate:", encoder=encoder)
        st.caption("The Train page offers it as an encoder to specialise with labelled sentences.")
    else:
        with st.container(horizontal=True):
            draw_link("workbench", "Compare the two in detail", ":material/compare_arrows:", **as_b(run))
            draw_link("workbench", TAKE_AWAY, ":material/download:", **as_b(run), tab=TAKE_AWAY)
    if metrics.parts is not None:
        st.caption("Similar sentences are those of the meaning embedding, which was trained on translations.")
        draw_link("split", "See how it splits a sentence", ":material/call_split:", run=run.name)
    told = [figure for figure in figures.FIGURES if figure.value(metrics) not in (UNSET, None)]
    if told:
        with st.container() if is_scratch else st.expander("Every figure", icon=":material/table:"):
            for figure in told:
                _OWN.get(figure.name, _draw_figure)(figure, metrics)


def _draw_figure(figure: Figure, metrics: Metrics) -> None:
    """Draw a figure as its row tells it."""
    text = figure.told(metrics)
    if text is None:
        return
    st.markdown(f"**{literal(figure.title)}**")
    for told in text.sentences:
        (st.warning if told.kind == "worse" else st.markdown)(literal(told.text))
    for number, chart in enumerate(figure.charts(figure.value(metrics)), start=1):
        draw_chart(chart, f"{figure.name}-{number}", f"{figure.title}, chart {number}.")
    if text.table is not None:
        table = pd.DataFrame(list(text.table.rows), columns=list(text.table.head))
        draw_table(table, f"{figure.name}-table", f"emu-{figure.name.replace('_', '-')}.csv")
    if text.note:
        st.caption(literal(text.note))


def _draw_found(figure: Figure, metrics: Metrics) -> None:
    """Draw how many translations an encoder from scratch finds."""
    if metrics.translation is None:
        return
    table = found_table(metrics)
    st.markdown(f"**Translations found**, on {metrics.measured_on}")
    column = st.column_config.NumberColumn
    about = help_on(Word.TRANSLATION_FOUND)
    draw_table(
        table,
        "pretrained-found",
        "emu-translations-found.csv",
        {
            "Direction": st.column_config.TextColumn("Language pair", help=help_on(Word.PAIR)),
            "P@1": column("Nearest, %", format="%.1f", help=about),
            "P@3": column("Among 3 nearest", format="%.1f", help=about),
            "P@10": column("Among 10 nearest", format="%.1f", help=about),
            "Among": column("Searched", format="localized", help="Sentences to choose from."),
        },
    )
    if (table["Trained on"] == "no").any():
        st.caption(
            "Two languages that were not trained on as a pair are linked by a third one that both were paired with."
        )


def _draw_measure(figure: Figure, metrics: Metrics) -> None:
    """Draw a measure of the verdict by language."""
    verdict, charts_of = run_verdict(metrics), figure.charts(figure.value(metrics))
    measure = verdict.intents if figure.title == RIGHT_INTENTS else verdict.similar
    st.markdown(f"**{figure.title}**")
    chart = charts_of[0] if charts_of else None
    draw_measure(
        measure, chart, figure.name.replace("_", "-"), is_folded=False
    )  # as all figures of the run together


_OWN: Mapping[str, Callable[[Figure, Metrics], None]] = {  # figures that the app draws in its own way
    "right_intents": _draw_measure,
    "similar_sentences": _draw_measure,
    "translation": _draw_found,
}


def found_table(metrics: Metrics) -> pd.DataFrame:
    """Return the columns of `FOUND`, as in the CSV file, a row for each direction of a run from scratch."""
    rows = []
    for way, ranking in (metrics.translation or {}).items():
        direction = " → ".join(map(language_name, split_pair(way) or [way]))
        interval, trained = f"{ranking.low:.1f} to {ranking.high:.1f}", "yes" if ranking.trained else "no"
        precisions = ranking.p_at_3, ranking.p_at_10
        rows.append((direction, ranking.p_at_1, interval, *precisions, ranking.candidates, trained))
    return pd.DataFrame(rows, columns=list(FOUND))


def losses_of(history: Sequence[Record]) -> list[Record]:
    """Return the log without P@1 and, if there are several tasks, with a separate loss for each."""
    several = len({record.texts["task"] for record in history if "task" in record.texts}) > 1
    losses = []
    for record in history:
        loss = record.loss
        named = {_LOSSES.get(name, name): value for name, value in record.figures.items()}
        if several and (task := record.texts.get("task")):
            loss, named[f"loss of {task}"] = math.nan, loss
        losses.append(replace(record, loss=loss, figures=named, dev_accuracy=None))
    return losses


def _draw_curves(run: Run) -> None:
    """Draw a run's losses so far, and the last epoch's alarm if it gave one."""
    history = run.history()
    if is_from_scratch(run):
        if any(record.dev_accuracy is not None for record in history):
            st.markdown(
                "**Translations found on held-out pairs, after each epoch**",
                help=help_on(Word.TRANSLATION_FOUND),
            )
            draw_chart(
                charts.held_out_curves({"": history}),
                "held-out",
                "Translations found on held-out pairs, after each epoch.",
            )
        history = losses_of(history)
    elif status_of(run).state is not RunState.FINISHED:  # which has the alarm among its warnings
        last = next((record for record in reversed(history) if not record.is_step), None)
        if last is not None and (alarm := last.texts.get("alarm")):
            text = f"Epoch {last.epoch}: {sentence(alarm)}"
            st.error(text, icon=":material/notification_important:")
    if history:
        st.markdown("**Training, step by step**")
        if told := epochs_told(history, status_of(run).state, config_of(run), metrics_of(run).selected_epoch):
            st.caption(told, help=help_on(Word.EPOCH))
        draw_chart(
            charts.loss_curves(history),
            "losses",
            "Each part of the loss, and the accuracy on dev, over the steps of training.",
        )


def draw_list(runs: Sequence[Run], key: str, *, from_scratch: bool = False) -> None:
    """Draw a table of runs with a search, a baseline, and what differs between the ticked ones.

    `key` is the parameter of the address that names the watched run: a click on a row sets it. Without figures of a
    base if all runs were trained from scratch.
    """
    baseline = None
    if len(runs) > 1:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            asked = st.text_input(
                "Search the runs",
                placeholder="a name, a tag, words of a note, a method, data ...",
                key="runs-search",
                width=420,
                **KEPT,
            )
            baseline = choose_baseline(runs, "pretrain-baseline" if from_scratch else "baseline")
            is_grouped = st.toggle("Group by data", key=f"runs-{key}-grouped", **ADDRESSED)
        pinned = [baseline] if baseline else []
        found = [run for run in found_runs(runs, asked) if run not in pinned]
        runs = [*pinned, *(together(found) if is_grouped else found)]
        if not runs:
            draw_note("No run contains all of these words.")
            return
    table = runs_frame(runs)
    if from_scratch:
        table = table.drop(columns="Encoder")
    if baseline is not None:
        table.insert(list(table).index(STARTED), AGAINST, [gain_against(run, baseline) for run in runs])
    measures = {RIGHT_INTENTS: Word.RIGHT_INTENTS, SIMILAR_SENTENCES: Word.SIMILAR}
    by_name = {run.name: run for run in runs}
    ticked = draw_rows_to_tick(
        table,
        list(by_name),
        f"runs-{key}",
        lambda name: keep(key, name),
        placeholder="",
        column_config={
            **{
                column.head: st.column_config.NumberColumn(format=column.format)
                for figure in figures.FIGURES
                for column in figure.columns
            },
            "Run": st.column_config.TextColumn(width=190),  # names are long and start alike
            **{
                language: st.column_config.NumberColumn(
                    format="%.1f",
                    help=help_on(Word.RIGHT_INTENTS, text="Percent, of this language's sentences."),
                )
                for language in language_columns(runs)
            },
            **{
                title: st.column_config.NumberColumn(
                    format="%.1f", help=help_on(word, text="Percent, the mean.")
                )
                for title, word in measures.items()
            },
            AGAINST: st.column_config.NumberColumn(
                format="%+.1f",
                help="Percentage points that the result is above the baseline's; empty for runs on other data.",
            ),
            "P@1": st.column_config.NumberColumn(
                "Translations found",
                format="%.1f",
                help=help_on(
                    Word.TRANSLATION_FOUND,
                    text="Of encoders trained from scratch: the percentage of held-out sentences whose nearest one in "
                    "the other language is their translation; the mean over the language pairs trained on.",
                ),
            ),
            STARTED: st.column_config.DatetimeColumn(format="calendar", width=140),
            MINUTES: st.column_config.NumberColumn(format="%.1f", help="From its start to its end."),
            "Tags": st.column_config.ListColumn(),
            "Note": st.column_config.TextColumn(width="medium"),
        },
    )
    names = list(dict.fromkeys([*([baseline.name] if baseline else []), *ticked]))
    if len(names) > 1:
        compared = [by_name[name] for name in names]
        facts = {run.name: run_facts(run) for run in compared}
        draw_differences(facts, f"runs-{key}", run_results(compared, baseline))
        _draw_overlaid(compared)
    elif len(runs) > 1:
        other = "one more run" if baseline else "two runs or more"
        st.caption(f"Click a run to see it above. Tick {other} to see what differs between them.")


def _draw_overlaid(runs: Sequence[Run]) -> None:
    """Draw the curves of several runs over each other; methods that are fitted in one step have none."""
    histories = {run.name: losses_of(history) for run in runs if (history := run.history())}
    if histories:
        about = "Each part of the loss over the steps of training; a line for each run."
        draw_chart(charts.loss_curves(histories), "losses-overlaid", about)


def _moving() -> set[tuple[str, str, str]]:
    """Return name, state and phase of each run that runs or is queued, or whose process is about to end."""
    return {
        (run.name, status.state.value, status.phase)
        for run in list_runs(runs_root())
        if (status := status_of(run)).state is RunState.RUNNING or job_manager().holds(run)
    }
