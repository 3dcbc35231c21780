"""The table of runs, and a run's state in words."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import pandas as pd
from msgspec import UnsetType

from emu_app.shell.model_name import plain_name
from emu_app.shell.state import config_of, data_sha_of, is_from_scratch, metrics_of, remarks_of, status_of
from emu_app.shell.wording import literal, time_span
from emu_core.bench.papers import PAPERS
from emu_core.data.languages import language_name, ordered
from emu_core.data.wording import counted, pace
from emu_core.methods.registry import method_title
from emu_core.reports import figures
from emu_core.runs.config import Plan, RunConfig, RunTask
from emu_core.runs.log import Record
from emu_core.runs.run import Run, RunState, Status

STARTED, MINUTES = "Started", "Minutes"
_FACTS = ("Run", "State", "Data", "Method", "Encoder", "Trained on")
MOST_LANGUAGES = 12  # columns of the table, those that most runs were measured in
PHASES = {
    "": "Starting",
    "loading": "Loading the encoder and measuring it as it is",
    "encoding": "Encoding every sentence once",
    "fitting": "Fitting the head",
    "leaving intents out": "Measuring intents without labels",
    "cross-validating": "Cross-validating",
    "training": "Training",
    "measuring the parts": "Measuring each part of the vectors",
    "evaluating": "Measuring the trained encoder",
    "saving": "Saving",
}


def progress_line(status: Status, config: Plan | None = None) -> str:
    """Return a running run's progress in words, as markdown."""
    left = status.seconds_left
    if config is not None and config.task is RunTask.BENCH:
        if not status.steps:
            return "Starting ..."
        line = literal(f"{status.phase}: {status.step} of {counted(status.steps, 'run')}", 300)
        # The base encoder alone, which is not trained, does not predict the time of the others.
        return line if left is None or status.step < 2 else f"{line}, about {time_span(left)} left"
    line = PHASES.get(status.phase, literal(status.phase.capitalize(), 80))  # a method's own
    line = f"{literal(status.part, 80)}: {line}" if status.part else line
    if status.phase != "training":
        # Counts down between two batches.
        left = 0 if left is None else left - (time.time() - status.updated_at)
        line += pace(status.sentences_per_s)
        return f"{line}, about {time_span(left)} left" if left > 0 else f"{line} ..."
    may_end_early = config is not None and any(
        "patience" in part.hyperparameters for part in config.by_part()
    )
    most = "at most " if may_end_early else ""
    line += f": step {status.step:,} of {most}{status.steps:,}, epoch {max(1, status.epoch)} of {most}{status.epochs}"
    line += pace(status.sentences_per_s)
    return line if left is None else f"{line}, {'at most' if most else 'about'} {time_span(left)} left"


def epochs_told(history: Sequence[Record], state: RunState, config: Plan | None, selected: int) -> str:
    """Return which epoch is the best so far, or was chosen, and when training ends early; "" without epochs.

    `selected` is the epoch of a finished run.
    """
    epochs = [record for record in history if not record.is_step]
    if not epochs or any(record.title for record in epochs):  # each part or stage has an epoch of its own
        return ""
    settings = {} if config is None else config.hyperparameters
    patience, last = settings.get("patience"), epochs[-1].epoch
    measured = [record for record in epochs if record.dev_accuracy is not None]
    best = max(measured, key=lambda record: record.dev_accuracy or 0.0, default=None)
    without = "" if patience is None else f" after {patience} epochs without a better one"
    if state is RunState.FINISHED:
        early = isinstance(most := settings.get("epochs"), int) and last < most
        return (
            ""
            if best is None or not selected
            else f"Best epoch: {selected} of {last}; its weights are the result."
            + (f" Training ended early{without}: at most {most} epochs were asked for." if early else "")
        )
    if best is None:
        return (
            "No epoch is chosen: the last one's weights are the result." if state is RunState.RUNNING else ""
        )
    ends = f" Training ends{without}." if without and state is RunState.RUNNING else ""
    return f"Best epoch so far: {best.epoch} of {last}, with {best.dev_accuracy:.1f} % on dev.{ends}"


def runs_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row for each of one or more runs.

    Figures are left out that only runs of the other kind have, from scratch or not, and tags and notes if there are
    none.
    """
    frame = pd.DataFrame(map(run_row, runs))
    for column, numbers in language_columns(runs).items():
        frame.insert(list(frame).index(STARTED), column, numbers)
    empty = [column for column in ("Tags", "Note") if not frame[column].map(bool).any()]
    kinds = {is_from_scratch(run) for run in runs}
    others = [
        column.head
        for figure in figures.FIGURES
        if figure.is_of_scratch not in (None, *kinds)
        for column in figure.columns
    ]
    return frame.drop(columns=[*empty, *others])


def language_columns(runs: Sequence[Run]) -> dict[str, list[float | None]]:
    """Return the right intents of each run in percent, by the name of a language; None where it was not measured."""
    changes = [metrics_of(run).right_intents for run in runs]
    by_run = [
        {} if isinstance(of_run, UnsetType) or of_run is None else of_run.by_language for of_run in changes
    ]
    counts = Counter(code for of_run in by_run for code in of_run)
    codes = ordered(code for code, _ in counts.most_common(MOST_LANGUAGES))
    return {
        language_name(code): [of_run[code].specialised if code in of_run else None for of_run in by_run]
        for code in codes
    }


def together(runs: Sequence[Run]) -> list[Run]:
    """Return runs with those on the same data beside each other, in the order of the first of each data."""
    keys = [data_sha_of(run) or getattr(config_of(run), "data", "") for run in runs]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    return [run for _, run in sorted(zip(keys, runs, strict=True), key=lambda pair: first[pair[0]])]


def found_runs(runs: Sequence[Run], asked: str) -> list[Run]:
    """Return the runs that contain every word asked for in name, state, method, encoder, data, tags or note."""
    words = asked.casefold().split()

    def text(run: Run) -> str:
        config, row = config_of(run), run_row(run)
        parts = [row[name] for name in (*_FACTS, "Note")] + [
            *remarks_of(run)[1],
            *((config.data, config.encoder) if config else ()),  # the table has the encoder's full name
        ]
        return " ".join(map(str, parts)).casefold()

    return [run for run in runs if all(word in text(run) for word in words)] if words else list(runs)


def run_row(run: Run) -> dict[str, object]:
    """Return a run's state, facts and figures, by the names of the table's columns."""
    status, config, metrics, (note, tags) = status_of(run), config_of(run), metrics_of(run), remarks_of(run)
    row: dict[str, object] = {
        "Run": run.name,
        "State": status.state.value,
        **dict.fromkeys(_FACTS[2:], ""),
        **{column.head: column.number(metrics) for figure in figures.FIGURES for column in figure.columns},
        STARTED: datetime.fromtimestamp(status.started_at, tz=UTC) if status.started_at else None,
        MINUTES: None,
        "Tags": list(tags),
        "Note": note,
    }
    if status.started_at and status.state.is_over:
        row[MINUTES] = (status.updated_at - status.started_at) / 60
    if config is not None:
        row["Data"], row["Method"] = config.data, method_words(config)
        row["Encoder"] = plain_name(config.encoder) or "from scratch"
        row["Trained on"] = _trained_pairs(config) or ", ".join(
            config.train_languages or config.unlabelled_languages
        )
    return row


def method_words(config: RunConfig) -> str:
    """Return the title of a run's method, or of the paper whose benchmark it is."""
    if config.task is RunTask.BENCH:
        return PAPERS[config.method].title if config.method in PAPERS else config.method
    return method_title(config.method)


def _trained_pairs(config: RunConfig) -> str:
    """Return the language pairs that a run was trained on, such as "en-de, en-es"; "" if on labels."""
    return ", ".join("-".join(pair) for pair in config.pairs)


def run_facts(run: Run) -> str:
    """Describe how a run was trained, in a line of markdown."""
    config = run.config()
    labels, unlabelled = ", ".join(config.train_languages), ", ".join(config.unlabelled_languages) or "none"
    pairs = _trained_pairs(config)
    if pairs:
        data = f"translations: {pairs}"
    else:
        data = "; ".join(filter(None, (f"labels: {labels}" if labels else "", f"unlabelled: {unlabelled}")))
    base = plain_name(config.encoder) if config.encoder else "from scratch"
    return literal(f"{method_words(config)}; {base}; {data}; seed {config.seed}", 300)
