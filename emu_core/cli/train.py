"""`emu train`, `emu pretrain` and `emu resume`."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from emu_core.cli.bench import cells_line, report_of
from emu_core.cli.hyper_parameters import add_method, changed
from emu_core.cli.options import (
    SPECS,
    add_data,
    add_device,
    add_languages,
    add_parallel_files,
    add_task_files,
    data_options,
    taken,
)
from emu_core.cli.printing import Line, print_guard, print_table
from emu_core.cli.verb import add_verb
from emu_core.errors import RunError
from emu_core.methods.method import Needs
from emu_core.methods.registry import DEFAULT, configure, method_named, methods_that_need
from emu_core.processes import is_main
from emu_core.runs.config import Task
from emu_core.runs.run import NAME, Run, RunState, Status, new_run_name


def add_train(verbs: Any) -> None:
    """Add `emu train DATA`."""
    parser = add_verb(verbs, "train", _train, "specialise an encoder on a labelled set")
    parser.usage = "%(prog)s DATA [DATA ...] [options]"
    add_data(parser)
    add_method(parser, methods_that_need(Needs.INTENTS, Needs.SLOTS), DEFAULT)
    parser.add_argument(
        "--encoder", metavar="SPEC",
        help=f"{SPECS} (default: the method's)",
    )  # fmt: skip
    parser.add_argument(
        "--train-language", action="append", metavar="CODE", dest="train_languages",
        help="labelled language; repeatable (default: en)",
    )  # fmt: skip
    parser.add_argument(
        "--unlabelled-language", action="append", metavar="CODE", dest="unlabelled_languages",
        help="language of DATA used without labels; repeatable (default: all others)",
    )  # fmt: skip
    parser.add_argument(
        "--unlabelled", action="append", metavar="FILE",
        help="unlabelled sentences instead of DATA's; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--pair", action="append", metavar="en-de", dest="pairs",
        help="translations that fmda learns from; repeatable (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--hold-out", type=float, default=0.0, metavar="SHARE",
        help="share of each intent to measure, if no row has a split",
    )  # fmt: skip
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="store the encoder's states for fmda here, for other runs on the data",
    )
    _add_run(parser, "measured for the encoder")
    parser.add_argument(
        "--precision", choices=["fp32", "bf16"], metavar="TYPE",
        help="fp32 or bf16, of the encoder (default: fp32)",
    )  # fmt: skip


def _train(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.train import train
    from emu_core.encoders.registry import encoder_kind

    method = method_named(options.method)
    encoder = options.encoder or method.encoder
    run = train(
        options.data,
        encoder=encoder,
        config=method.configure(
            encoder_kind(encoder) if options.preset == "tuned" else None, **changed(options)
        ),
        train_languages=options.train_languages or ["en"],
        **taken(options, "unlabelled_languages", "unlabelled", "pairs", "hold_out", "cache", "precision"),
        **data_options(options),
        **_run_options(options, encoder),
    )
    return _reported(run, options)


def add_pretrain(verbs: Any) -> None:
    """Add `emu pretrain FILES`."""
    parser = add_verb(verbs, "pretrain", _pretrain, "train an encoder from scratch, on parallel text")
    parser.usage = "%(prog)s FILE [FILE ...] [options]"
    add_parallel_files(parser)
    add_method(parser, methods_that_need(Needs.PARALLEL_TEXT), "dual-encoder")
    add_languages(
        parser, "languages of files that do not name theirs, in the order of the files or of a file's columns"
    )
    add_task_files(parser, "the dual encoder")
    parser.add_argument(
        "--dev", nargs="+", default=[], metavar="FILE",
        help="parallel text that chooses the epoch (default: up to 1,000 pairs held out)",
    )  # fmt: skip
    parser.add_argument(
        "--test", nargs="+", default=[], metavar="FILE",
        help="parallel text to evaluate the encoder on (default: the text that chose the epoch)",
    )  # fmt: skip
    _add_run(parser, "that take minutes on two cores")
    add_device(parser)


def _pretrain(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.pretrain import pretrain

    run = pretrain(
        options.files,
        config=configure(options.method, "" if options.preset == "tuned" else None, **changed(options)),
        **taken(
            options, "languages", "drop_empty", "dialogues", "running_text", "nli", "dev", "test", "device"
        ),
        **_run_options(options, "-".join(options.languages or [])),
    )
    return _reported(run, options)


def add_resume(verbs: Any) -> None:
    """Add `emu resume RUN`."""
    parser = add_verb(verbs, "resume", _resume, "start a queued run or benchmark, or resume a stopped one")
    parser.add_argument("run", metavar="RUN", help="the run's folder")


def _resume(options: argparse.Namespace) -> dict[str, Any]:
    run = Run(Path(options.run))
    if run.config().task is Task.BENCH:
        from emu_core.bench.job import resume_bench

        return report_of(resume_bench(run, cells_line()), options)
    from emu_core.api.resume import resume

    if run.status().state is RunState.FINISHED and is_main():
        print(f"emu: {run.folder} is finished already; these are its results", file=sys.stderr)
    return _reported(resume(options.run, on_progress=_training_line()), options)


def _add_run(parser: argparse.ArgumentParser, tuned: str) -> None:
    """Add the folder of a run, its seed, its default settings (`tuned`, or the paper's) and snapshots."""
    parser.add_argument("--out", metavar="DIR", help="the run's folder (default: a new one under runs/)")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of all random numbers (default: 0)"
    )
    parser.add_argument(
        "--preset", default="tuned", choices=["tuned", "paper"],
        help=f"defaults {tuned}, or the paper's own (default: tuned)",
    )  # fmt: skip
    parser.add_argument(
        "--snapshots", action="store_true", help="store some sentences with their vectors after each epoch"
    )


def _run_options(options: argparse.Namespace, what: str) -> dict[str, Any]:
    """Return the arguments that `train` and `pretrain` share; `what` is part of a new folder's name.

    Raises:
        RunError: the folder's name is not allowed.
    """
    runs = Path("runs")
    out = Path(options.out) if options.out else runs / new_run_name(runs, options.method, what)
    if not NAME.fullmatch(out.name):
        raise RunError(
            f"'{out.name}' can't name a run: use lower-case letters, digits, '.', '_' and '-' in --out"
        )
    return {
        "out": out,
        **taken(options, "method", "seed", "snapshots"),
        "on_progress": _training_line(),
        "on_forecast": lambda expected: print(f"emu: {expected.line}", file=sys.stderr, flush=True),
    }


def _training_line() -> Callable[[Status], None]:
    """Return a callback that shows the progress of a run in one line."""
    line = Line()

    def show(status: Status) -> None:
        if status.state.is_over:
            line.show(status.state, 1.0)
        elif status.phase:
            left = status.seconds_left
            pace = "" if left is None else f", {left:.0f} s left"
            steps = f": step {status.step} of {status.steps}" if status.phase == "training" else ""
            line.show(f"{status.phase}{steps}{pace}", status.progress)

    return show


def _reported(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """Print the metrics of a finished run, unless JSON is asked for; return them."""
    metrics = run.metrics()
    try:
        if not options.json and is_main():
            _print(run, metrics)
    except (LookupError, TypeError, ValueError):
        raise RunError(f"{run.folder / 'metrics.json'} is damaged; delete the run's folder") from None
    return {"run": str(run.folder), **metrics}


def _print(run: Run, metrics: Mapping[str, Any]) -> None:
    for warning in metrics["warnings"]:
        print(f"note: {warning}")
    if "translation" in metrics:
        _print_translations(metrics)
    else:
        _print_accuracy(metrics)
    print(f"{run.folder} in {metrics['seconds']:.0f} s")


def _print_translations(metrics: Mapping[str, Any]) -> None:
    print(f"translation retrieval on {metrics['measured_on']}, %\n")
    rows = [
        (
            way,
            *(f"{found[f'p_at_{n}']:.1f}" for n in (1, 3, 10)),
            f"{found['candidates']:,}",
            "" if found["trained"] else "no such pair was trained on",
        )
        for way, found in metrics["translation"].items()
    ]
    print_table(("direction", "P@1", "P@3", "P@10", "among", ""), rows)


def _print_accuracy(metrics: Mapping[str, Any]) -> None:
    from emu_core.evaluation import metric_rows

    if "base" in metrics:
        base, specialised = metrics["base"], metrics["specialised"]
        print(f"leave-one-out Acc@1 %, split {metrics['split']}\n")
        rows = [
            (pair, f"{base[pair]:.1f}", f"{specialised[pair]:.1f}", f"{specialised[pair] - base[pair]:+.1f}")
            for pair in base
        ]
        print_table(("direction", "before", "after", "difference"), rows)
        before, after = metrics["mean_base"], metrics["mean_specialised"]
        print(f"\nmean over the {metrics['mean_over']}: {before:.1f} -> {after:.1f} ({after - before:+.1f})")
        print_guard(metrics["guard"], "")
        if metrics["leakage"]:
            print("\nLanguage leakage\n")
            print_table(*metric_rows.leakage_table(metrics["leakage"]))
        if "parts" in metrics:
            _print_parts(metrics["parts"])
    else:
        print(metrics["note"])
        if "cross_validation" in metrics:
            print(f"\n{metric_rows.cross_validation_sentence(metrics['cross_validation'])}")
    if "new_intents" in metrics:
        print(f"\n{metric_rows.new_intent_sentence(metrics['new_intents'])}")


def _print_parts(parts: Mapping[str, Any]) -> None:
    from emu_core.api.split import PROBE, part_table

    if parts["counts"]["translation"]:
        table = part_table(parts)
        print("\nAcc@1 % of each embedding in retrieving translations, and sentences of the same template\n")
        rows = [
            [name, *(f"{value:.1f}" for value in values)] for name, *values in table.itertuples(index=False)
        ]
        print_table(table.columns, rows)
        if PROBE in table:
            print(f"\n{PROBE}: accuracy of a linear probe that predicts the language from the embedding, %")
    for note in parts["notes"]:
        print(f"note: {note}")
