"""Evidence: the papers' experiments and today's peers on data of one's own, started, followed and read."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import streamlit as st

from app.cache import start_helpers
from app.forms.bench import PLACE, draw_form
from app.forms.model_name import short_name
from app.forms.starting import draw_start_button
from app.panels.monitor import draw_resume, draw_runs, watched_run
from app.panels.report import draw_report
from app.panels.run_table import method_title, pairs_of, status_of
from app.state import chosen_data, config_of, is_bench, runs_root
from emu_core.bench.report import JSON
from emu_core.runs.run import Run, RunState, list_runs

WATCHED = "bench-watched"


def page() -> None:
    """Draw the page."""
    start_helpers()
    st.title("Evidence")
    st.caption(
        "The papers' tables and what others do today, measured on your data: what each system gains, how sure that is, "
        "and what it costs. A benchmark goes on when you leave this page or close the tab."
    )
    form, watched = st.columns([5, 7], gap="large")
    with form:
        name, plan = draw_form(chosen_data())
        draw_start_button(PLACE, name, plan, WATCHED, "Start the benchmark")
    benches = [run for run in list_runs(runs_root()) if is_bench(run)]
    with watched:
        draw_runs(benches, WATCHED, "Benchmark")
    if benches and (run := watched_run(benches, WATCHED)) and (run.folder / JSON).is_file():
        draw_found(run)
    if benches:
        st.subheader("All benchmarks")
        draw_list(benches)
    draw_earlier()


def draw_found(run: Run) -> None:
    """Draw a report, and offer the other try that it needs."""
    over = status_of(run).state is RunState.FINISHED
    if not over:
        st.info("This is the report as it was before.", icon=":material/history:")
    report = draw_report(run.name, run.folder)
    if over and report is None:
        draw_resume(run, "Write the report again", "The cells that are finished stay.")
    elif over and report is not None and report.errors:
        draw_resume(
            run,
            "Try again what was not measured",
            "Once it is fixed, such as by installing a package: the cells that are finished stay.",
        )


def draw_list(benches: Sequence[Run]) -> None:
    """Draw all benchmarks, the newest first."""
    st.dataframe(
        pd.DataFrame(map(_row, benches)),
        hide_index=True,
        placeholder="",
        column_config={"Started": st.column_config.DatetimeColumn(format="calendar")},
        key="benches",
    )


def draw_earlier() -> None:
    """Draw the report of a benchmark that an earlier version of this app has run, if there is one."""
    reports: dict[str, Path] = {
        path.parents[1].name: path.parent for path in sorted((runs_root() / ".bench").glob(f"*/out/{JSON}"))
    }
    if not reports:
        return
    st.subheader("Reports of an earlier version")
    name = st.selectbox("Report", list(reports), index=None, placeholder="Choose one", key="bench-earlier")
    if name is not None:
        draw_report(name, reports[name])


def _row(run: Run) -> dict[str, object]:
    status, config = status_of(run), config_of(run)
    if config is None:
        return {"Benchmark": run.name, "State": status.state.value}
    settings = config.hyperparameters
    return {
        "Benchmark": run.name,
        "State": status.state.value,
        "Paper": method_title(config),
        "Data": config.data,
        "Encoder": short_name(config.encoder) or "from scratch",
        "Trained on": pairs_of(config) or ", ".join(config.train_languages),
        "Parts": _listed(settings.get("parts")),
        "Seeds": _listed(settings.get("seeds")),
        "Cells": f"{status.steps if status.state is RunState.FINISHED else status.step} of {status.steps}",
        "Started": datetime.fromtimestamp(status.started_at, tz=UTC) if status.started_at else None,
    }


def _listed(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""


page()
