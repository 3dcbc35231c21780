"""The output of `emu train`, `emu pretrain` and `emu resume`: progress, and the figures of the finished run."""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

from emu_core.cli.printing import Line, print_guard, print_new_intents, print_table
from emu_core.errors import RunError
from emu_core.methods.memory import Forecast
from emu_core.processes import is_main
from emu_core.runs.run import Run, Status

Facts = Mapping[str, Any]


def training_line() -> Callable[[Status], None]:
    """A progress line for a run."""
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


def print_forecast(expected: Forecast) -> None:
    """Print what memory a run will take."""
    print(f"emu: {expected.line}", file=sys.stderr, flush=True)


def reported(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """Print what a finished run found, unless JSON is asked for; return the JSON."""
    metrics = run.metrics()
    try:
        if not options.json and is_main():
            _print(run, metrics)
    except (LookupError, TypeError, ValueError):
        raise RunError(f"{run.folder / 'metrics.json'} is damaged; delete the run's folder") from None
    return {"run": str(run.folder), **metrics}


def _print(run: Run, metrics: Facts) -> None:
    for warning in metrics["warnings"]:
        print(f"note: {warning}")
    if "translation" in metrics:
        _print_translations(metrics)
    else:
        _print_accuracy(metrics)
    print(f"{run.folder} in {metrics['seconds']:.0f} s")


def _print_translations(metrics: Facts) -> None:
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


def _print_accuracy(metrics: Facts) -> None:
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
            from emu_core.evaluation.metric_rows import LEAKAGE_HEAD, leakage_rows

            print("\nLanguage leakage\n")
            print_table(LEAKAGE_HEAD, leakage_rows(metrics["leakage"]))
        if "parts" in metrics:
            _print_parts(metrics["parts"])
    else:
        print(metrics["note"])
        if "cross_validation" in metrics:
            from emu_core.evaluation.metric_rows import cross_validation_sentence

            print(f"\n{cross_validation_sentence(metrics['cross_validation'])}")
    print_new_intents(metrics)


def _print_parts(parts: Facts) -> None:
    """A row for each embedding; a measure for which the sentences do not do has no column, and a note says why."""
    embeddings: dict[str, Facts] = {
        name: found for name, found in parts.items() if name not in ("counts", "notes")
    }
    translation, template = parts["counts"]["translation"], parts["counts"]["template"]
    probed = all("probe" in found for found in embeddings.values())
    if translation:
        print("\nWhat each embedding finds, Acc@1 %: translations, and sentences of the same template\n")
        head = ["embedding", *translation, *(f"template {code}" for code in template), *["probe"] * probed]
        rows = [
            [
                name,
                *(f"{found['translation'][way]:.1f}" for way in translation),
                *(f"{found['template'][code]:.1f}" for code in template),
                *[f"{found['probe']:.1f}" for _ in range(probed)],
            ]
            for name, found in embeddings.items()
        ]
        print_table(head, rows)
        if probed:
            print("\nprobe: how well a linear probe predicts the language from it, %")
    for note in parts["notes"]:
        print(f"note: {note}")
