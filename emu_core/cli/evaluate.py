"""`emu evaluate` and `emu forgetting`."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from emu_core.cli import options as shared
from emu_core.cli.printing import print_table
from emu_core.cli.verb import STDOUT, Output, add_verb, option
from emu_core.files import write_named
from emu_core.runs.run import Run


def add_evaluate(verbs: Any) -> None:
    """Add `emu evaluate DATA`."""
    parser = add_verb(verbs, "evaluate", _evaluate)
    shared.add_data(parser)
    shared.add_intents(parser)
    shared.add_encoder_or_run(parser)
    option(parser, "--pool FILE", "find neighbours in these labelled files", nargs="+")
    shared.add_languages(parser, "only these languages")
    about = "only rows of this split, or all (default: all but those that the run was trained on)"
    option(parser, "--split", about)


def _evaluate(options: argparse.Namespace) -> Output:
    from emu_core.api.evaluate import evaluate

    result = evaluate(
        options.data,
        encoder=shared.encoder_of(options),
        **shared.taken(options, "pool", "languages", "split"),
        **shared.data_options(options),
    )
    for note in result["notes"]:
        print(f"note: {note}", file=sys.stderr)
    if not options.json and result["accuracy"]:
        rows = []
        for pair, value in result["accuracy"].items():
            low, high = result["intervals"][pair]
            rows.append((pair, f"{value:.1f}", f"{low:.1f} to {high:.1f}", str(result["counts"][pair])))
        print_table(("language pair", "similar sentences %", "95 % interval", "sentences"), rows)
        print(f"\nmean {result['mean']:.1f}")
        if "mean_with_en" in result:
            print(f"mean of the language pairs with English {result['mean_with_en']:.1f}")
        if other := result.get("classifier"):
            shown = ", ".join(f"{code} {value:.1f}" for code, value in other["by_language"].items())
            print(f"{other['name']}, C = {other['C']:g}: mean {other['mean']:.1f} ({shown})")
        if "changes" in result:
            _print_changes(result["changes"], result.get("changes_note", ""))
    return result


def _print_changes(changes: dict[str, Any] | None, reason: str) -> None:
    """Print how each language changed from the base encoder, or the reason why that was not measured."""
    if changes is None:
        print(f"\nNot compared with the base encoder: {reason}")
        return
    import msgspec

    from emu_core.evaluation.changes import PairedChange
    from emu_core.reports.verdict import changes_table

    print("\nFrom the base encoder to this one, by the language of the queries\n")
    print_table(*changes_table(msgspec.convert(changes, dict[str, PairedChange])))


def add_forgetting(verbs: Any) -> None:
    """Add `emu forgetting RUN`."""
    parser = add_verb(verbs, "forgetting", _forgetting, json_file=True)
    parser.add_argument("run", metavar="RUN", help="a finished run's folder")
    shared.add_sts(parser)
    about = "files such as x.deu-eng.deu and x.deu-eng.eng, a sentence a line"
    option(parser, "--translations FOLDER", about)
    shared.add_device(parser)


def _forgetting(options: argparse.Namespace) -> Output:
    from emu_core.api.forgetting import forgetting
    from emu_core.evaluation.forgetting import MOST_FALL_POINTS, MOST_FALL_SPEARMAN
    from emu_core.reports.figures_as_text import forgetting_table
    from emu_core.runs.forgetting import read_forgetting

    result = forgetting(options.run, **shared.taken(options, "sts", "translations", "device"))
    measured = read_forgetting(Run(Path(options.run)))
    if options.json != STDOUT and measured is not None:
        print_table(*forgetting_table(measured))
        fallen = ", ".join(result["flagged"]) or "nothing"
        if result["measured_on"]:
            print(
                f"\nmeasured on {result['measured_on']}; to measure on other files, use --sts and --translations"
            )
        print(f"\nfell by more than {MOST_FALL_SPEARMAN:g} or {MOST_FALL_POINTS:g} points: {fallen}")
    if options.json and options.json != STDOUT:
        write_named(options.json, json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    return result
