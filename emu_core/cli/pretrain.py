"""`emu pretrain`."""

import argparse
from typing import Any

from emu_core.cli.hyper_parameters import PRETRAINING, add_hyper_parameters, changed
from emu_core.cli.options import (
    add_device,
    add_parallel_files,
    add_run,
    add_task_files,
    add_verb,
    listed,
    run_folder,
)
from emu_core.cli.printing import print_table
from emu_core.cli.trained import training_line
from emu_core.config.pretraining import Pretraining, configure_pretraining
from emu_core.runs.run import Run


def add_pretrain(verbs: Any) -> None:
    """`emu pretrain FILES`."""
    parser = add_verb(verbs, "pretrain", _pretrain, "train an encoder from nothing, on parallel text")
    add_parallel_files(parser)
    parser.add_argument(
        "--method",
        default=Pretraining.DUAL_ENCODER.value,
        choices=[method.value for method in Pretraining],
        help="dual-encoder: a transformer over hashed words; bicvm: a vector a word, added up (default: dual-encoder)",
    )
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
    add_hyper_parameters(parser, PRETRAINING)


def _pretrain(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.pretrain import pretrain

    method = Pretraining(options.method)
    config = configure_pretraining(method, paper=options.preset == "paper", **changed(options, PRETRAINING))
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
        on_progress=training_line(),
    )
    return pretrained(run, options)


def pretrained(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """Print what a finished run found, unless JSON is asked for; what JSON says."""
    metrics = run.metrics()
    if not options.json:
        print_pretraining(run, metrics)
    return {"run": str(run.folder), **metrics}


def print_pretraining(run: Run, metrics: dict[str, Any]) -> None:
    """What the encoder finds, and what more data would add."""
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
    for warning in metrics["warnings"]:
        print(f"note: {warning}")
    print(f"{run.folder} in {metrics['seconds']:.0f} s")
