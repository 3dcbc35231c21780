"""A benchmark as a run: its folder is created, its cells are run and its report is written; it can be resumed."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from emu_core.api.execute import record_failure
from emu_core.bench.experiment import FIXED, Experiment, fixed_of, in_process
from emu_core.bench.papers import paper_named
from emu_core.bench.report import BenchReport
from emu_core.bench.results import Cell, CellResult, Results
from emu_core.errors import Fix, Message, RunError, TrainingError
from emu_core.runs.config import RunConfig, RunTask
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, RunState, Status, Storable, create_run

RunCell = Callable[[Experiment, Cell], CellResult]
RESULTS = "results.parquet"


def create_bench(folder: str | Path, config: RunConfig, data: Storable) -> Run:
    """Create the queued run of a benchmark, or queue an existing one again with other seeds or tables.

    Finished cells of the same benchmark in the folder are kept. For the configuration and data see `Paper.plan`.

    Raises:
        RunError: the folder is in use, or holds cells of other data or settings.
    """
    run = Run(Path(folder))
    if not (run.folder / "status.json").exists():
        return create_run(run.folder, config, data)
    with run.locked():
        elsewhere, old = Message("choose another folder (", Fix("out"), ")"), run.config()
        if old.task is not RunTask.BENCH:
            raise RunError(f"{folder} is in use and holds no benchmark; ", elsewhere)
        if old.method != config.method:
            raise RunError(f"{folder} holds the benchmark of another paper; ", elsewhere)
        facts = data.facts(config)
        before, now = fixed_of(old, run.data(type(facts))), fixed_of(config, facts)
        for name, words in FIXED.items():
            if before[name] != now[name]:
                values = "" if name.endswith("sha256") else f" ({before[name]}, not {now[name]})"
                raise RunError(f"{folder} holds cells that differ in {words}{values}; ", elsewhere)
        run.write("config.json", config.to_json())
        return queue_again(run)


def queue_again(run: Run) -> Run:
    """Queue an ended benchmark again, to retry cells that could not be measured. Raises RunError if it is running."""
    if run.status().state is RunState.RUNNING:
        raise RunError(f"{run.folder} is running; cancel it first, or wait until it is over")
    run.uncancel()
    run.write_status(Status())
    return run


def run_bench(
    run: Run,
    on_progress: OnProgress | None = None,
    *,
    run_cell: RunCell | None = None,
) -> BenchReport:
    """Run every unfinished cell of a benchmark, and write the report into the run's folder.

    Args:
        run: made by `create_bench`; after a kill, a cancellation or a failure it continues where it stopped.
        on_progress: called with the run's status whenever it changes; its steps are the cells.
        run_cell: runs a cell; None runs it in a process of its own.

    Raises:
        EmuError: the first cell can't be measured, in which case none can; a finished cell has other settings; or
            the run was cancelled.
    """
    with run.locked():
        experiment = open_bench(run)
        make_report = paper_named(experiment.config.method).load_report()
        with record_failure(run, on_progress) as progress:
            cells = experiment.cells()
            # All are read before any is run, so that a cell of other settings is refused at once.
            finished = {cell: result for cell in cells if (result := experiment.read(cell)) is not None}
            since = progress.status.started_at - sum(result.seconds_whole for result in finished.values())
            progress.status = replace(progress.status, steps=len(cells), training_since=since)
            for cell in cells:
                if cell in finished:
                    continue
                progress.status = replace(progress.status, step=len(finished))
                progress.phase(cell.label)
                finished[cell] = (run_cell or in_process)(experiment, cell)
                if not finished[cell].error:
                    experiment.write(cell, finished[cell])
                elif cell == cells[0]:
                    raise TrainingError(f"{experiment.first} can't be measured: {finished[cell].error}")
            progress.status = replace(progress.status, step=len(cells))
            progress.phase("the report")
            results = Results({cell: finished[cell] for cell in cells}, experiment.seeds)
            errors = {
                cell.key: cell_result.error
                for cell, cell_result in results.cells.items()
                if cell_result.error
            }
            report = replace(make_report(experiment, results), errors=errors, folder=run.folder)
            report.write()
            results.frame.to_parquet(run.folder / RESULTS)
            shutil.rmtree(run.training_folder / "cache", ignore_errors=True)
            first = next(iter(errors.values()), "")
            message = f"{len(errors)} of the cells could not be measured, the first because {first}"
            progress.end(RunState.FINISHED, Message(message if errors else ""))
        return report


def resume_bench(run: Run, on_progress: OnProgress | None = None) -> BenchReport:
    """Start a queued benchmark, resume a stopped one, or retry the missing cells of a finished one.

    Raises:
        EmuError: it is running, or what `run_bench` raises.
    """
    with run.locked():
        if run.status().state is not RunState.QUEUED:
            queue_again(run)
        return run_bench(run, on_progress)


def open_bench(run: Run) -> Experiment:
    """Open the experiment in a run's folder. Raises RunError if it is damaged."""
    return paper_named(run.config().method).load().open(run)


def experiment_of(config: RunConfig, data: Any, folder: str | Path = "") -> Experiment:
    """Return the experiment of a benchmark that need not exist on disk."""
    return paper_named(config.method).load()(config, data, Path(folder))


def bench(
    paper: str,
    data: Any,
    *,
    out: str | Path,
    on_progress: OnProgress | None = None,
    run_cell: RunCell | None = None,
    **options: Any,
) -> BenchReport:
    """Run a paper's experiments on a user's data, and today's peers if the benchmark has any.

    Each finished cell is written to a file. Calling this again after a kill continues where it stopped; more seeds or
    parts add cells. A cell that can't be measured (a package is missing, the set is not parallel) is reported with the
    reason, and retried by the next call.

    Args:
        paper: "emu", "fmda", "bicvm" or "dual-encoder".
        data: see `gather` of the paper's experiment.
        out: the run's folder, where the report is written.
        on_progress: see `run_bench`; so for run_cell.
        run_cell: see `run_bench`.
        options: of `Paper.plan` and `gather`: encoder, seeds, epochs, parts, device and others.

    Raises:
        EmuError: the data can't be read, or the folder holds cells of other data or settings.
    """
    run = create_bench(out, *paper_named(paper).plan(data, **options))
    return run_bench(run, on_progress, run_cell=run_cell)
