"""`emu train` and `emu resume`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from emu_core.cli.bench import cells_line, report_of
from emu_core.cli.hyper_parameters import add_method, changed
from emu_core.cli.options import SPECS, add_data, add_run, data_options, run_folder
from emu_core.cli.trained import print_forecast, reported, training_line
from emu_core.cli.verb import add_verb
from emu_core.methods.method import Needs
from emu_core.methods.registry import DEFAULT, method_named, methods_that_need
from emu_core.processes import is_main
from emu_core.runs.config import Task
from emu_core.runs.run import Run, RunState


def add_train(verbs: Any) -> None:
    """`emu train DATA`."""
    parser = add_verb(verbs, "train", _train, "specialise an encoder on a labelled set")
    parser.usage = "%(prog)s DATA [DATA ...] [options]"
    add_data(parser)
    add_method(parser, methods_that_need(Needs.INTENTS, Needs.SLOTS), DEFAULT)
    parser.add_argument(
        "--encoder", metavar="SPEC",
        help=f"{SPECS} (default: the method's)",
    )  # fmt: skip
    parser.add_argument(
        "--train-language", action="append", metavar="CODE", help="labels used; repeatable (default: en)"
    )
    parser.add_argument(
        "--unlabelled-language", action="append", metavar="CODE",
        help="language of DATA used without labels; repeatable (default: all others)",
    )  # fmt: skip
    parser.add_argument(
        "--unlabelled", action="append", metavar="FILE", help="unlabelled sentences instead of DATA's; repeatable"
    )  # fmt: skip
    parser.add_argument(
        "--pair", action="append", metavar="en-de",
        help="translations that fmda learns from; repeatable (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--hold-out", type=float, default=0.0, metavar="SHARE",
        help="share of every intent to measure, where no row has a split",
    )  # fmt: skip
    parser.add_argument(
        "--cache", metavar="DIR", help="store the encoder's states of fmda's sentences for other runs on them"
    )
    add_run(parser, "measured for the encoder")
    parser.add_argument(
        "--precision", choices=["fp32", "bf16"], metavar="TYPE",
        help="fp32 or bf16, of the encoder's forward pass (default: fp32)",
    )  # fmt: skip


def add_resume(verbs: Any) -> None:
    """`emu resume RUN`."""
    parser = add_verb(
        verbs,
        "resume",
        _resume,
        "start a queued run or benchmark, or go on with one that was stopped",
    )
    parser.add_argument("run", metavar="RUN", help="the run's folder")


def _train(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.train import train
    from emu_core.encoders.registry import encoder_kind

    method = method_named(options.method)
    encoder = options.encoder or method.encoder
    config = method.configure(
        encoder_kind(encoder) if options.preset == "tuned" else None, **changed(options)
    )
    run = train(
        options.data,
        out=run_folder(options, encoder),
        method=options.method,
        encoder=encoder,
        train_languages=options.train_language or ["en"],
        unlabelled_languages=options.unlabelled_language,
        unlabelled=options.unlabelled,
        pairs=options.pair,
        hold_out=options.hold_out,
        cache=options.cache,
        seed=options.seed,
        precision=options.precision,
        config=config,
        snapshots=options.snapshots,
        **data_options(options),
        on_progress=training_line(),
        on_forecast=print_forecast,
    )
    return reported(run, options)


def _resume(options: argparse.Namespace) -> dict[str, Any]:
    run = Run(Path(options.run))
    if run.config().task is Task.BENCH:
        from emu_core.bench.job import resume_bench

        return report_of(resume_bench(run, cells_line()), options)
    from emu_core.api.resume import resume

    if run.status().state is RunState.FINISHED and is_main():
        print(f"emu: {run.folder} is finished already; these are its figures", file=sys.stderr)
    return reported(resume(options.run, on_progress=training_line()), options)
