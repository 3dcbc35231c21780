"""A benchmark as a run: its folder is created, worked on until its report is written, and gone on with after a stop."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from emu_core.api.execute import record_failure
from emu_core.bench.experiment import FIXED, Experiment, RunCell, fixed_of, in_process, run_cells
from emu_core.bench.papers import paper_named
from emu_core.bench.report import Report
from emu_core.errors import RunError
from emu_core.runs.config import RunConfig, Task
from emu_core.runs.progress import OnProgress
from emu_core.runs.run import Run, RunState, Status, Storable, create_run

RESULTS = "results.parquet"
_OLD = "bench.json"  # of the folders of earlier versions


def create_bench(folder: str | Path, config: RunConfig, data: Storable) -> Run:
    """Make the queued run of a benchmark, or queue one again that is there, with other seeds or tables.

    Args:
        folder: the run's folder; one of the same benchmark goes on, its finished cells staying.
        config: see `bench_config`.
        data: what is trained on and measured.

    Raises:
        RunError: the folder is in use, or holds cells of other data or settings.
    """
    run = Run(Path(folder))
    if (run.folder / _OLD).exists():
        raise RunError(
            f"{folder} holds a benchmark of an earlier version, whose report is still in report.html; choose another "
            "folder with --out"
        )
    if not (run.folder / "status.json").exists():
        return create_run(run.folder, config, data)
    if run.config().task is not Task.BENCH:
        raise RunError(f"{folder} is in use and holds no benchmark; choose another folder with --out")
    with run.locked():
        return _extend(run, config, data)


def _extend(run: Run, config: RunConfig, data: Storable) -> Run:
    if run.config().method != config.method:
        raise RunError(f"{run.folder} holds the benchmark of another paper; choose another folder with --out")
    before, now = fixed_of(run.config(), run.data()), fixed_of(config, data.facts(config))
    for name, words in FIXED.items():
        if before[name] != now[name]:
            values = "" if name.endswith("sha256") else f" ({before[name]}, not {now[name]})"
            raise RunError(
                f"{run.folder} holds cells that differ in {words}{values}; choose another folder with --out"
            )
    run.write("config.json", config.to_json())
    return queue_again(run)


def queue_again(run: Run) -> Run:
    """Queue a benchmark that is over once more: cells that could not be measured are then tried again.

    Raises:
        RunError: it is running.
    """
    if run.status().state is RunState.RUNNING:
        raise RunError(f"{run.folder} is running; cancel it first, or wait until it is over")
    run.uncancel()
    run.write_status(Status())
    return run


def run_bench(run: Run, on_progress: OnProgress | None = None, *, run_cell: RunCell | None = None) -> Report:
    """Run every cell of a benchmark that is not finished, and write the report.

    Args:
        run: made by `create_bench`; one that was killed, cancelled or failed goes on where it stopped.
        on_progress: called with the run's status as it moves; its steps are the cells.
        run_cell: runs a cell; None runs it in a process of its own.

    Returns:
        The report, whose files are in the run's folder.

    Raises:
        EmuError: the first cell can't be measured, a finished cell is of other settings, or the run was cancelled.
    """
    with run.locked():
        return _run_bench(run, on_progress, in_process if run_cell is None else run_cell)


def _run_bench(run: Run, on_progress: OnProgress | None, run_cell: RunCell) -> Report:
    experiment = open_bench(run)
    make_report = paper_named(experiment.config.method).load_report()

    def on_cell(done: int, total: int, label: str) -> None:
        progress.status = replace(progress.status, step=done, steps=total)
        progress.phase(label)

    with record_failure(run, on_progress) as progress:
        before = [result for cell in experiment.cells() if (result := experiment.read(cell)) is not None]
        spent = sum(result.seconds_whole for result in before)
        progress.status = replace(progress.status, training_since=progress.status.started_at - spent)
        results = run_cells(experiment, on_cell, run_cell)
        on_cell(len(results.cells), len(results.cells), "the report")
        errors = {cell.key: one.error for cell, one in results.cells.items() if one.error}
        report = replace(make_report(experiment, results), errors=errors, folder=run.folder)
        report.write()
        results.frame().to_parquet(run.folder / RESULTS)
        shutil.rmtree(run.training_folder / "cache", ignore_errors=True)
        progress.end(RunState.FINISHED, _message(errors))
    return report


def resume_bench(run: Run, on_progress: OnProgress | None = None) -> Report:
    """Start a queued benchmark, or go on with one that is over; cells that could not be measured are tried again.

    Raises:
        EmuError: it is running, or what `run_bench` raises.
    """
    with run.locked():
        if run.status().state is not RunState.QUEUED:
            queue_again(run)
        return run_bench(run, on_progress)


def open_bench(run: Run) -> Experiment:
    """Return the experiment in a run's folder. Raises RunError where it is damaged."""
    return paper_named(run.config().method).load().open(run)


def experiment_of(config: RunConfig, data: Any, folder: str | Path = "") -> Experiment:
    """Return the experiment that a benchmark would be; nothing is written."""
    return paper_named(config.method).load()(config, data, Path(folder))


def _message(errors: Mapping[str, str]) -> str:
    if not errors:
        return ""
    first = next(iter(errors.values()))
    return f"{len(errors)} of the cells could not be measured, the first because {first}"


def bench(
    paper: str,
    data: Any,
    *,
    out: str | Path,
    on_progress: OnProgress | None = None,
    run_cell: RunCell | None = None,
    **options: Any,
) -> Report:
    """Run a paper's experiments on a user's data, and today's peers where there are any.

    Each cell runs in a process of its own and is written to a file. The same call after a kill goes on where it
    stopped; more seeds or more parts add cells. A cell that can't be measured (a package is missing, the set is not
    parallel) is shown with the reason, and tried again by the next call.

    Args:
        paper: "emu", "fmda", "bicvm" or "dual-encoder".
        data: see `plan` of the paper's experiment.
        out: the folder of the benchmark's run.
        on_progress: called with the run's status as it moves; its steps are the cells.
        run_cell: runs a cell; None runs it in a process of its own.
        options: what else `plan` takes: encoder, seeds, epochs, parts, device and others.

    Returns:
        The report, whose files are in `out`.

    Raises:
        EmuError: what can't be read, or a folder that holds cells of other data or settings.
    """
    config, stored = paper_named(paper).load().plan(data, **options)
    run = create_bench(out, config, stored)
    return run_bench(run, on_progress, run_cell=run_cell)


bench_emu = partial(bench, "emu")
bench_fmda = partial(bench, "fmda")
bench_bicvm = partial(bench, "bicvm")
bench_dual_encoder = partial(bench, "dual-encoder")
