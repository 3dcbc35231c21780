"""The list of runs as a table, and a run's state in words."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from app.encoders import pairs_of
from app.model_name import short_name
from app.pretrain_request import is_pretrained
from app.pretraining.results import mean_p_at_1
from app.wording import time_span
from emu_core.errors import RunError
from emu_core.methods.registry import methods
from emu_core.runs.run import Run, RunState, Status

P_AT_1 = "P@1"
PHASES = {
    "loading": "Loading the encoder and measuring it as it is",
    "encoding": "Encoding every sentence once",
    "fitting": "Fitting the posterior",
    "training": "Training",
    "evaluating": "Measuring the trained encoder",
    "saving": "Saving",
}


def status_of(run: Run) -> Status:
    """Return a run's status; a failure that says so where the folder is damaged."""
    try:
        return run.status()
    except RunError as error:
        return Status(state=RunState.FAILED, message=str(error))


def progress_line(status: Status, *, may_end_early: bool = False) -> str:
    """Return where a running run is, in words.

    Args:
        status: the run's.
        may_end_early: its epochs are the most there can be.
    """
    line = PHASES.get(status.phase, "Starting")
    if status.phase != "training":
        return f"{line} ..."
    most = "at most " if may_end_early else ""
    line += f": step {status.step:,} of {most}{status.steps:,}, epoch {max(1, status.epoch)} of {most}{status.epochs}"
    left = status.seconds_left
    return line if left is None else f"{line}, {'at most' if most else 'about'} {time_span(left)} left"


def runs_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each run: what it is, what it learnt from, mean Acc@1 before, after, gain, start, time.

    Where one trained an encoder from scratch there is a column `P_AT_1`, too.
    """
    frame = pd.DataFrame(
        [_row(run) for run in runs],
        columns=[
            "Run",
            "State",
            "Method",
            "Encoder",
            "Learnt from",
            "Before",
            "After",
            "Gain",
            "Started",
            "Took",
            P_AT_1,
        ],
    )
    return frame if any(map(is_pretrained, runs)) else frame.drop(columns=P_AT_1)


def _row(run: Run) -> tuple[object, ...]:
    status = status_of(run)
    config, metrics = None, dict[str, Any]()
    with suppress(RunError):
        config, metrics = run.config(), run.metrics()
    before, after = metrics.get("mean_base"), metrics.get("mean_specialised")
    gain = after - before if before is not None and after is not None else None
    began = datetime.fromtimestamp(status.started_at, tz=UTC) if status.started_at else None
    took = status.updated_at - status.started_at if status.started_at and status.state.is_over else None
    method = None if config is None else methods().get(config.method)
    return (
        run.name,
        status.state.value,
        "" if config is None else config.method if method is None else method.title,
        "" if config is None else short_name(config.encoder) if config.encoder else "from scratch",
        "" if config is None else pairs_of(config) or ", ".join(config.train_languages),
        before,
        after,
        gain,
        began,
        "" if took is None else time_span(took),
        mean_p_at_1(metrics),
    )
