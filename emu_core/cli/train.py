"""`emu train`, `emu pretrain` and `emu resume`."""

import argparse
import shlex
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu_core.cli import options as shared
from emu_core.cli.bench import cells_line, report_of
from emu_core.cli.hyper_parameters import add_method, changed
from emu_core.cli.printing import PrintedLine, print_figure, screen, verdict_lines
from emu_core.cli.verb import HELP_COLUMNS, Output, add_verb, option
from emu_core.data.wording import pace
from emu_core.encoders.specs import JOIN
from emu_core.methods.presets import presets
from emu_core.methods.registry import configure, default_encoder, default_method, methods_that_need
from emu_core.processes import is_main
from emu_core.runs.config import RunConfig, RunTask
from emu_core.runs.run import Run, RunState, Status, check_name, new_run_folder
from emu_core.settings import Settings
from emu_core.training.method import Needs

if TYPE_CHECKING:
    from emu_core.evaluation.run_metrics import Metrics
    from emu_core.training.memory import Forecast

MOST_LINES = 25  # of what is printed without --full
LEAST_FEWER_POINTS = 5.0  # that a language has below the best one, if its labels are to be learnt next


def add_train(verbs: Any) -> None:
    """Add `emu train DATA`."""
    parser = add_verb(verbs, "train", _train)
    parser.usage = "%(prog)s DATA [DATA ...] [options]"
    about = "fp32, bf16, or auto: trains in fp32 (default: auto)"
    shared.add_data(parser, precision=about)
    shared.add_intents(parser)
    shared.add_descriptions(parser)
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
    option(parser, "--cache DIR", argparse.SUPPRESS)
    option(parser, "--no-examples", argparse.SUPPRESS, action="store_true")
    _add_run(parser, "measured for the encoder", tuple(presets()))


def _train(options: argparse.Namespace) -> Output:
    from emu_core.api.execute import Hooks
    from emu_core.api.train import train

    how: dict[str, Any]
    if options.preset in presets():
        encoder, how = presets()[options.preset].encoder, {"preset": options.preset}
    else:
        encoder = options.encoder or default_encoder(options.method)
        how = {"method": options.method, "encoder": encoder, "config": _settings(options, encoder)}
    data = shared.data_options(options)
    data["reading"] = replace(data["reading"], intents=options.intents)
    run = train(
        options.data,
        **how,
        train_languages=options.train_languages or ["en"],
        **shared.taken(options, "unlabelled_languages", "unlabelled", "pairs", "hold_out", "precision"),
        **data,
        **_run_options(options, options.preset if "preset" in how else options.method, encoder),
        hooks=Hooks(
            cache=options.cache,
            keep_examples=not options.no_examples,
            on_forecast=_print_forecast,
            on_audit=_print_findings,
        ),
    )
    return reported(run, options)


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
    shared.add_device(parser, "")


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
    return reported(run, options)


def add_resume(verbs: Any) -> None:
    """Add `emu resume RUN`."""
    parser = add_verb(verbs, "resume", _resume)
    parser.add_argument("run", metavar="RUN", help="the run's folder")
    shared.add_full(parser)


def _resume(options: argparse.Namespace) -> Output:
    run = Run(Path(options.run))
    if run.config().task is RunTask.BENCH:
        from emu_core.bench.job import resume_bench

        return report_of(resume_bench(run, cells_line()), options)
    from emu_core.api.resume import resume

    if run.status().state is RunState.FINISHED and is_main():
        print(f"emu: {run.folder} is finished already; these are its results", file=sys.stderr)
    return reported(resume(options.run, on_progress=_training_line()), options)


def _add_run(parser: argparse.ArgumentParser, tuned: str, named: Sequence[str] = ()) -> None:
    """Add the folder of a run, its seed, its default settings (`tuned`, or the paper's) and snapshots.

    `named` are presets that stand for method, encoder and settings.
    """
    about = "the run's folder (default: a new one under runs/)"
    if named:
        about = "the run's folder (default: under runs/; --no-examples: no sentences)"
    option(parser, "--out DIR", about)
    option(parser, "--seed N", "seed of all random numbers (default: 0)", type=int, default=0)
    about = f"defaults {tuned}, or the paper's own (default: tuned)"
    if named:
        about = f"tuned, paper, {', '.join(named)} (default: tuned)"
    option(parser, "--preset NAME", about, default="tuned", choices=["tuned", "paper", *named])
    shared.add_full(parser)
    option(
        parser,
        "--snapshots",
        "store vectors after each epoch (--cache DIR: states of tokens)",
        action="store_true",
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
            left = "" if status.seconds_left is None else f", {status.seconds_left:.0f} s left"
            steps = f": step {status.step} of {status.steps}" if status.phase == "training" else ""
            part = f"{status.part}: " if status.part else ""
            line.show(f"{part}{status.phase}{steps}{pace(status.sentences_per_s)}{left}", status.progress)

    return show


def reported(run: Run, options: argparse.Namespace) -> Output:
    """Print the verdict on a finished run, and every figure if that is asked for; return them."""
    from emu_core.reports.figures import told_figures
    from emu_core.reports.headline import about_run, measured_sentence, trained_sentence
    from emu_core.reports.verdict import run_verdict
    from emu_core.runs.forgetting import read_forgetting

    metrics = run.metrics()
    verdict = run_verdict(metrics, read_forgetting(run))
    if not options.json and is_main():
        config, facts = run.plan(), run.data()
        about = [f"{about_run(config, facts)}.", trained_sentence(config, facts), measured_sentence(metrics)]
        head, steps = (
            textwrap.wrap(" ".join(about), HELP_COLUMNS),
            ["", *next_steps(run, is_full=options.full)],
        )
        if options.full:
            print("\n".join([*head, *verdict_lines(verdict)]))
            for title, text in told_figures(metrics).items():
                print_figure(title, text)
            print("\n".join(steps))
        else:
            print(screen(head, verdict, steps, 1, MOST_LINES))
    return {"run": str(run.folder), "verdict": verdict.to_json(), **metrics.to_json()}


def next_steps(run: Run, *, is_full: bool = False) -> list[str]:
    """Return what to do with a run next, a command a line."""
    from emu_core.data.languages import language_name
    from emu_core.runs.intents import has_intents

    folder, config = shlex.quote(str(run.folder)), run.plan()
    steps = {}
    if has_intents(run):
        steps[f"emu predict FILE --run {folder}"] = "name the intents of other sentences"
    if code := _language_to_label(run.metrics(), config):
        asked = " ".join(f"--train-language {code}" for code in (*config.train_languages, code))
        steps[f"emu train DATA {asked}"] = f"learn labels in {language_name(code)}, too"
    if config.encoder:
        steps[f"emu compare DATA --run {folder}"] = "see which sentences changed, and how"
    else:
        steps[f"emu train DATA --encoder run:{folder}"] = "specialise it with labelled sentences"
    if not is_full:
        steps[f"emu resume {folder} --full"] = "print every figure"
    width = max(map(len, steps))
    return [f"{command:{width}}  {what}" for command, what in steps.items()]


def _language_to_label(metrics: "Metrics", config: RunConfig) -> str:
    """Return the language with the fewest right intents, if its labels were not learnt and others have more; or ""."""
    measured = metrics.right_intents
    if measured is None or not config.train_languages:
        return ""
    shares = {code: change.specialised for code, change in measured.by_language.items()}
    fewest = min(shares, key=lambda code: shares[code])
    is_clear = max(shares.values()) - shares[fewest] >= LEAST_FEWER_POINTS
    return fewest if is_clear and fewest not in config.train_languages else ""
