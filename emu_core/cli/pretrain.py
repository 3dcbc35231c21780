"""`emu pretrain`."""

import argparse
from typing import Any

from emu_core.cli.hyper_parameters import add_method, changed
from emu_core.cli.options import add_device, add_parallel_files, add_run, add_task_files, listed, run_folder
from emu_core.cli.trained import print_forecast, reported, training_line
from emu_core.cli.verb import add_verb
from emu_core.methods.method import Needs
from emu_core.methods.registry import configure, methods_that_need


def add_pretrain(verbs: Any) -> None:
    """`emu pretrain FILES`."""
    parser = add_verb(verbs, "pretrain", _pretrain, "train an encoder from scratch, on parallel text")
    parser.usage = "%(prog)s FILE [FILE ...] [options]"
    add_parallel_files(parser)
    add_method(parser, methods_that_need(Needs.PARALLEL_TEXT), "dual-encoder")
    parser.add_argument(
        "--languages", type=listed, metavar="en,de",
        help="of files that do not say theirs: in the order of the files, or of a file's columns",
    )  # fmt: skip
    add_task_files(parser, "the dual encoder")
    parser.add_argument(
        "--dev", nargs="+", default=[], metavar="FILE",
        help="parallel text that chooses the epoch (default: up to 1,000 pairs held out)",
    )  # fmt: skip
    parser.add_argument(
        "--test", nargs="+", default=[], metavar="FILE",
        help="parallel text to measure the encoder on (default: what chose the epoch)",
    )  # fmt: skip
    add_run(parser, "that learn on two cores in minutes")
    add_device(parser)


def _pretrain(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.pretrain import pretrain

    preset = "" if options.preset == "tuned" else None
    config = configure(options.method, preset, **changed(options))
    run = pretrain(
        options.files,
        out=run_folder(options, "-".join(options.languages or [])),
        method=options.method,
        languages=options.languages,
        drop_empty=options.drop_empty,
        dialogues=options.dialogues,
        running_text=options.running_text,
        nli=options.nli,
        dev=options.dev,
        test=options.test,
        seed=options.seed,
        device=options.device,
        config=config,
        snapshots=options.snapshots,
        on_progress=training_line(),
        on_forecast=print_forecast,
    )
    return reported(run, options)
