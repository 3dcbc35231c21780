"""What a run will take, in memory and time, before it is started."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from emu_app.forms.starting import RunPlan
from emu_app.shell.state import config_of, facts_of_run, metrics_of, status_of
from emu_app.shell.users import runs_root
from emu_app.shell.wording import literal, time_span
from emu_core.data.wording import counted
from emu_core.errors import EmuError
from emu_core.methods.registry import parts_of_run
from emu_core.runs.config import Plan
from emu_core.runs.data_facts import DataFacts, LabelledFacts, ParallelFacts
from emu_core.runs.run import Run, RunState, list_runs
from emu_core.runs.stored_data import StoredData
from emu_core.training.memory import forecast

# Of the demo run in the package, which was trained on another machine. (Its module imports torch, which no page does.)
_PACKED = Path(__file__).parents[1] / "work" / "demo_run" / "metrics.json"
_PER_S = 150  # sentences encoded a second, where nothing was measured: the order of magnitude of two cores
_STEP = 3  # a training step on a sentence takes as long as it takes to encode three: forwards and backwards


def draw_estimate(token: str, plan: RunPlan) -> None:
    """Draw the memory and the time that a run will take; `token` identifies the plan's data."""
    st.caption(f"{_memory(token, asdict(plan[0]), plan)}. {expected_time(*plan, earlier_runs()).line}.")


@st.cache_data(max_entries=4, show_spinner=False)
def _memory(token: str, values: object, _plan: RunPlan) -> str:
    config, data = _plan
    if not isinstance(data, StoredData):
        return ""
    unknown = f"{data.size(config)}: memory was not measured for this"
    try:
        first, student = (config, None) if config.teacher is None else (config.teacher, config)
        expected = forecast(parts_of_run(first), data, first, student=student)
    except EmuError:  # other programs have taken memory since the plan was made: the run reports it
        return unknown
    return unknown if expected is None else expected.line


@dataclass(frozen=True)
class ExpectedTime:
    """The time that a run will take: in seconds, and as a line of Markdown.

    It is measured if a run was timed on this machine from which it follows.
    """

    seconds: float
    line: str
    is_measured: bool = True


EarlierRuns = Sequence[tuple[Run, Plan]]


def earlier_runs() -> EarlierRuns:
    """Return the runs here whose configuration can be read, the newest first."""
    return [(run, config) for run in list_runs(runs_root()) if (config := config_of(run)) is not None]


def expected_time(config: Plan, data: object, earlier: EarlierRuns) -> ExpectedTime:
    """Return the time by the newest earlier run of the same kind, or of the same encoder, or else a guess."""
    facts = data.facts(config) if isinstance(data, StoredData) else DataFacts()
    work = _work(config, facts)
    for kind, suffix in ((_kind, ""), (_encoder, ", by another method")):
        run = next((run for run, other in earlier if kind(other) == kind(config) and _is_timed(run)), None)
        if run is not None and (worked := _work(config_of(run), facts_of_run(run))):
            took = metrics_of(run).seconds
            seconds = took * work / worked
            line = f"About {time_span(seconds)}: {literal(run.name)} took {time_span(took)} here{suffix}"
            return ExpectedTime(seconds, line)
    if config.teacher is None and all(part.method.fit_frozen for part in parts_of_run(config)):
        rows = facts.rows if isinstance(facts, LabelledFacts) else 0
        line = f"Seconds, once {counted(rows, 'sentence')} are encoded, which depends on the encoder"
    else:
        line = "Minutes on a CPU, hours for a large set; the page says how many after the first steps"
    return ExpectedTime(work / _PER_S, line, is_measured=False)


def _is_timed(run: Run) -> bool:
    """Return whether a run is finished and was timed on this machine."""
    return (
        status_of(run).state is RunState.FINISHED
        and metrics_of(run).seconds > 0
        and (run.folder / _PACKED.name).read_bytes() != _PACKED.read_bytes()
    )


def _encoder(config: Plan) -> tuple[object, ...]:
    """Return what determines how long a sentence takes; with a teacher, two encoders do."""
    teacher = None if config.teacher is None else _kind(config)
    return config.encoder, config.device, config.precision, teacher


def _kind(config: Plan) -> tuple[object, ...]:
    teacher = None if config.teacher is None else _kind(config.teacher)
    return config.method, config.encoder, config.device, config.precision, teacher


def _work(config: Plan | None, facts: DataFacts) -> int:
    """Return how much a run has to do: the sentences that it encodes, before and after training, and in each epoch."""
    epochs = 0
    for part in () if config is None else config.by_part():
        value = part.hyperparameters.get("epochs", 0)
        epochs += value if isinstance(value, int) else 0
    if isinstance(facts, LabelledFacts):
        return 2 * facts.rows + _STEP * epochs * (facts.labelled or facts.rows)
    if isinstance(facts, ParallelFacts):
        return (
            _STEP
            * max(1, epochs)
            * (sum(facts.pairs.values()) + facts.dialogues + facts.running_text + facts.nli)
        )
    return 0
