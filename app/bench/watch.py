"""The benchmark that is watched: how far it is, Cancel, Go on; and the list of all."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from app.bench.folder import Bench
from app.bench.form import TABLES
from app.bench.start import go_on
from app.bench.status import BenchStatus, status_of
from app.cache import job_manager
from app.forms.model_name import short_name
from app.state import runs_root
from app.wording import literal, sentence
from emu_core.bench.plan import Part
from emu_core.data.wording import counted
from emu_core.errors import RunError
from emu_core.runs.run import RunState

WATCHED = "bench-watched"
POLL_S = 1.0
STOPPED = (RunState.CANCELLED, RunState.INTERRUPTED, RunState.FAILED)


def draw_watched(benches: Sequence[Bench]) -> Bench | None:
    """Draw the one that is watched, which follows what happens; None where there is no benchmark yet."""
    if not benches:
        st.info("Benchmarks appear here. Start the first one on the left.", icon=":material/arrow_back:")
        return None
    name = st.selectbox("Benchmark", [bench.name for bench in benches], key=WATCHED, persist_state="session")
    bench = next((bench for bench in benches if bench.name == name), benches[0])
    _draw_asked(bench)
    state = status_of(bench).state
    st.fragment(lambda: follow(bench, state), run_every=POLL_S if state is RunState.RUNNING else None)()
    return bench


def follow(bench: Bench, seen: RunState) -> None:
    """Draw how far a benchmark is; draw the whole page again when it has come to another state."""
    status = status_of(bench)
    if status.state is not seen:
        st.rerun()
    if status.state is RunState.RUNNING:
        st.progress(status.progress, text=literal(status.line, 300))
        if st.button(
            "Stopping ..." if bench.cancel_asked else "Cancel",
            icon=":material/stop_circle:",
            disabled=bench.cancel_asked,
            key=f"bench-cancel-{bench.name}",
        ):
            bench.cancel()
            st.rerun(scope="fragment")
    elif status.state in STOPPED:
        _draw_stopped(bench, status)
    else:
        st.success(f"Finished: {counted(status.total, 'cell')}.", icon=":material/check_circle:")


def draw_go_on(bench: Bench, label: str, explanation: str) -> None:
    """Offer to run what is not finished."""
    if st.button(label, icon=":material/resume:", key=f"bench-go-on-{bench.name}", help=explanation):
        try:
            go_on(runs_root(), job_manager(), bench)
        except (RunError, OSError) as error:
            st.error(sentence(error), icon=":material/error:")
            return
        st.rerun()


def draw_list(benches: Sequence[Bench]) -> None:
    """Draw all benchmarks, the newest first."""
    st.dataframe(
        pd.DataFrame(
            [_row(bench) for bench in benches],
            columns=[
                "Benchmark",
                "State",
                "Data",
                "Encoder",
                "Tables",
                "Seeds",
                "Labels",
                "Cells",
                "Started",
            ],
        ),
        hide_index=True,
        placeholder="",
        column_config={"Started": st.column_config.DatetimeColumn(format="calendar")},
        key="benches",
    )


def _draw_stopped(bench: Bench, status: BenchStatus) -> None:
    where = f" after {status.done} of {counted(status.total, 'cell')}" if status.total else ""
    if status.state is RunState.FAILED:
        st.error(sentence(status.message), icon=":material/error:")
    else:
        how = (
            "Cancelled"
            if status.state is RunState.CANCELLED
            else "Its process ended before the benchmark did,"
        )
        st.warning(f"{how}{where}.", icon=":material/block:")
    draw_go_on(bench, "Go on", "The cells that are finished are kept; it goes on with the next one.")


def _draw_asked(bench: Bench) -> None:
    try:
        request = bench.request()
    except RunError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    tables = ", ".join(_short(part) for part in request.parts)
    st.caption(
        f"{literal(tables, 200)} on {literal(request.title, 60)} with {literal(request.encoder, 80)}; labels: "
        f"{literal(', '.join(request.train_languages), 80)}; {counted(len(request.seeds), 'seed')}; "
        f"{literal(request.device, 20)}"
    )


def _row(bench: Bench) -> tuple[object, ...]:
    status = status_of(bench)
    cells = f"{status.total if status.state is RunState.FINISHED else status.done} of {status.total}"
    at = datetime.fromtimestamp(bench.started_at, tz=UTC) if bench.started_at else None
    try:
        request = bench.request()
    except RunError:
        return (bench.name, status.state.value, "", "", "", None, "", cells, at)
    return (
        bench.name,
        status.state.value,
        request.title,
        short_name(request.encoder),
        ", ".join(_short(part) for part in request.parts),
        len(request.seeds),
        ", ".join(request.train_languages),
        cells,
        at,
    )


def _short(part: str) -> str:
    """A table's name before its colon."""
    return TABLES[part].split(":")[0] if part in list(Part) else part
