"""The list of runs as a table, and a run's state in words."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd

from app.forms.model_name import short_name
from app.panels.pretrained import mean_p_at_1
from app.state import config_of, is_from_scratch
from app.wording import literal, time_span
from emu_core.bench.papers import PAPERS
from emu_core.data.wording import counted
from emu_core.errors import RunError
from emu_core.methods.registry import methods
from emu_core.runs.config import RunConfig, Task
from emu_core.runs.run import Run, RunState, Status

P_AT_1 = "P@1"
PHASES = {
    "loading": "Loading the encoder and measuring it as it is",
    "encoding": "Encoding every sentence once",
    "fitting": "Fitting the head",
    "leaving intents out": "Measuring intents without labels",
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


def progress_line(status: Status, config: RunConfig | None = None) -> str:
    """Return where a running run is, in words, as markdown.

    Args:
        status: the run's.
        config: the run's.
    """
    left = status.seconds_left
    if config is not None and config.task is Task.BENCH:
        if not status.steps:
            return "Starting ..."
        line = literal(f"{status.phase}: {status.step} of {counted(status.steps, 'cell')}", 300)
        # The base encoder alone, which trains nothing, is no pace.
        return line if left is None or status.step < 2 else f"{line}, about {time_span(left)} left"
    line = PHASES.get(status.phase, "Starting")
    if status.phase != "training":
        return f"{line} ..."
    may_end_early = config is not None and "patience" in config.hyperparameters
    most = "at most " if may_end_early else ""
    line += f": step {status.step:,} of {most}{status.steps:,}, epoch {max(1, status.epoch)} of {most}{status.epochs}"
    return line if left is None else f"{line}, {'at most' if most else 'about'} {time_span(left)} left"


def runs_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each run: what it is, what it was trained on, mean Acc@1 before, after, gain, start, time.

    Where one trained an encoder from scratch there is a column `P_AT_1`, too.
    """
    frame = pd.DataFrame(
        [_row(run) for run in runs],
        columns=[
            "Run",
            "State",
            "Method",
            "Encoder",
            "Trained on",
            "Before",
            "After",
            "Gain",
            "Started",
            "Took",
            P_AT_1,
        ],
    )
    return frame if any(map(is_from_scratch, runs)) else frame.drop(columns=P_AT_1)


def _row(run: Run) -> tuple[object, ...]:
    status, config = status_of(run), config_of(run)
    try:
        metrics = run.metrics()
    except RunError:
        metrics = {}
    before, after = metrics.get("mean_base"), metrics.get("mean_specialised")
    gain = after - before if before is not None and after is not None else None
    began = datetime.fromtimestamp(status.started_at, tz=UTC) if status.started_at else None
    took = status.updated_at - status.started_at if status.started_at and status.state.is_over else None
    return (
        run.name,
        status.state.value,
        "" if config is None else method_title(config),
        "" if config is None else short_name(config.encoder) or "from scratch",
        "" if config is None else pairs_of(config) or ", ".join(config.train_languages),
        before,
        after,
        gain,
        began,
        "" if took is None else time_span(took),
        mean_p_at_1(metrics),
    )


def method_title(config: RunConfig) -> str:
    """Return the title of a run's method or paper; its bare name where the package that adds it is not installed."""
    method = PAPERS.get(config.method) if config.task is Task.BENCH else methods().get(config.method)
    return config.method if method is None else method.title


def pairs_of(config: RunConfig) -> str:
    """Return which languages' translations a run was trained on, such as "en-de, en-es"; "" if on labels."""
    return ", ".join("-".join(pair) for pair in config.pairs)
