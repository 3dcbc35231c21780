"""`emu train`, `emu pretrain` and `emu resume`."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu_core.cli import options as shared
from emu_core.cli.bench import cells_line, report_of
from emu_core.cli.hyper_parameters import add_method, changed
from emu_core.cli.printing import PrintedLine, print_figure
from emu_core.cli.verb import Output, add_verb, option
from emu_core.encoders.specs import JOIN
from emu_core.methods.presets import presets
from emu_core.methods.registry import configure, default_encoder, default_method, methods_that_need
from emu_core.processes import is_main
from emu_core.runs.config import RunTask
from emu_core.runs.run import Run, RunState, Status, check_name, new_run_folder
from emu_core.settings import Settings
from emu_core.training.method import Needs

if TYPE_CHECKING:
    from emu_core.training.memory import Forecast


def add_train(verbs: Any) -> None:
    """Add `emu train DATA`."""
    parser = add_verb(verbs, "train", _train)
    parser.usage = "%(prog)s DATA [DATA ...] [options]"
    shared.add_data(parser)
    shared.add_intents(parser)
    methods = methods_that_need(Needs.INTENTS, Needs.SENTENCES, Needs.SLOTS)
    add_method(parser, methods, default_method(), presets())
    option(parser, "--encoder SPEC", f"{shared.SPECS} (by method)")
    shared.add_train_languages(parser)
    about = "language of DATA used without labels; repeatable (default: all others)"
    option(parser, "--unlabelled-language CODE", about, action="append", dest="unlabelled_languages")
    option(
        parser,
        "--unlabelled FILE",
        "more or other unlabelled sentences; repeatable",
        action="append",
        type=Path,
    )
    about = "languages of translations; repeatable (default: all)"
    option(parser, "--pair en-de", about, action="append", dest="pairs")
    about = "share of each intent to measure, if no row has a split"
    option(parser, "--hold-out SHARE", about, type=float, default=0.0)
    option(parser, "--cache DIR", "keep states of tokens for other runs on the data")
    _add_run(parser, "measured for the encoder", tuple(presets()))
    option(
        parser, "--precision TYPE", "fp32 or bf16, of the encoder (default: fp32)", choices=["fp32", "bf16"]
    )


def _train(options: argparse.Namespace) -> Output:
    from emu_core.api.execute import Hooks
    from emu_core.api.train import train

    how: dict[str, Any]
    if options.preset in presets():
        encoder, how = presets()[options.preset].encoder, {"preset": options.preset}
    else:
        encoder = options.encoder or default_encoder(options.method)
        how = {"method": options.method, "encoder": encoder, "config": _settings(options, encoder)}
    run = train(
        options.data,
        **how,
        train_languages=options.train_languages or ["en"],
        **shared.taken(options, "unlabelled_languages", "unlabelled", "pairs", "hold_out", "precision"),
        **shared.data_options(options),
        **_run_options(options, options.preset if "preset" in how else options.method, encoder),
        hooks=Hooks(cache=options.cache, on_forecast=_print_forecast, on_audit=_print_findings),
    )
    return _reported(run, options)


def _settings(options: argparse.Namespace, encoder: str) -> Settings | None:
    """Return the settings of one method, changed as the command line says; None for the defaults of joined ones."""
    if JOIN in options.method:
        return None
    return configure(options.method, encoder if options.preset == "tuned" else None, **changed(options))


def _print_findings(audit: Sequence[str]) -> None:
    """Print what the audit found, if anything."""
    for finding in audit[1:]:
        print(f"data: {finding}", file=sys.stderr, flush=True)


def _print_forecast(expected: "Forecast") -> None:
    """Print how much memory the training needs."""
    print(f"emu: {expected.line}", file=sys.stderr, flush=True)


def add_pretrain(verbs: Any) -> None:
    """Add `emu pretrain FILES`."""
    parser = add_verb(verbs, "pretrain", _pretrain)
    parser.usage = "%(prog)s FILE [FILE ...] [options]"
    shared.add_parallel_files(parser)
    add_method(parser, methods_that_need(Needs.PARALLEL_TEXT), default_method(Needs.PARALLEL_TEXT))
    shared.add_languages(
        parser, "languages of files that do not name theirs, in the order of the files or of a file's columns"
    )
    shared.add_task_files(parser, "the dual encoder")
    about = "parallel text that chooses the epoch (default: up to 1,000 pairs held out)"
    option(parser, "--dev FILE", about, nargs="+", default=[])
    about = "parallel text to evaluate the encoder on (default: the text that chose the epoch)"
    option(parser, "--test FILE", about, nargs="+", default=[])
    _add_run(parser, "that take minutes on two cores")
    shared.add_device(parser)


def _pretrain(options: argparse.Namespace) -> Output:
    from emu_core.api.execute import Hooks
    from emu_core.api.pretrain import pretrain

    run = pretrain(
        options.files,
        config=configure(options.method, "" if options.preset == "tuned" else None, **changed(options)),
        **shared.taken(
            options, "languages", "drop_empty", "dialogues", "running_text", "nli", "dev", "test", "device"
        ),
        method=options.method,
        **_run_options(options, options.method, "-".join(options.languages or [])),
        hooks=Hooks(on_forecast=_print_forecast),
    )
    return _reported(run, options)


def add_resume(verbs: Any) -> None:
    """Add `emu resume RUN`."""
    parser = add_verb(verbs, "resume", _resume)
    parser.add_argument("run", metavar="RUN", help="the run's folder")


def _resume(options: argparse.Namespace) -> Output:
    run = Run(Path(options.run))
    if run.config().task is RunTask.BENCH:
        from emu_core.bench.job import resume_bench

        return report_of(resume_bench(run, cells_line()), options)
    from emu_core.api.resume import resume

    if run.status().state is RunState.FINISHED and is_main():
        print(f"emu: {run.folder} is finished already; these are its results", file=sys.stderr)
    return _reported(resume(options.run, on_progress=_training_line()), options)


def _add_run(parser: argparse.ArgumentParser, tuned: str, named: Sequence[str] = ()) -> None:
    """Add the folder of a run, its seed, its default settings (`tuned`, or the paper's) and snapshots.

    `named` are presets that stand for method, encoder and settings.
    """
    option(parser, "--out DIR", "the run's folder (default: a new one under runs/)")
    option(parser, "--seed N", "seed of all random numbers (default: 0)", type=int, default=0)
    about = f"defaults {tuned}, or the paper's own (default: tuned)"
    if named:
        about = f"tuned, paper; or a whole run, {' or '.join(named)} (default: tuned)"
    option(parser, "--preset NAME", about, default="tuned", choices=["tuned", "paper", *named])
    option(
        parser, "--snapshots", "store some sentences with their vectors after each epoch", action="store_true"
    )


def _run_options(options: argparse.Namespace, method: str, what: str) -> dict[str, Any]:
    """Return the arguments that `train` and `pretrain` share; `method` and `what` are in a new folder's name."""
    out = Path(options.out) if options.out else new_run_folder(method, what)
    check_name(out.name)
    return {
        "out": out,
        **shared.taken(options, "seed", "snapshots"),
        "on_progress": _training_line(),
    }


def _training_line() -> Callable[[Status], None]:
    """Return a callback that shows the progress of a run in one line."""
    line = PrintedLine()

    def show(status: Status) -> None:
        if status.state.is_over:
            line.show(status.state, 1.0)
        elif status.phase:
            left = status.seconds_left
            pace = "" if left is None else f", {left:.0f} s left"
            steps = f": step {status.step} of {status.steps}" if status.phase == "training" else ""
            part = f"{status.part}: " if status.part else ""
            line.show(f"{part}{status.phase}{steps}{pace}", status.progress)

    return show


def _reported(run: Run, options: argparse.Namespace) -> Output:
    """Print the metrics of a finished run, unless JSON is asked for; return them."""
    from emu_core.reports.figures import told_figures

    metrics = run.metrics()
    if not options.json and is_main():
        for warning in metrics.warnings:
            print(f"note: {warning}")
        for title, text in told_figures(metrics).items():
            print_figure(title, text)
        print(f"{run.folder} in {metrics.seconds:.0f} s")
    return {"run": str(run.folder), **metrics.to_json()}
