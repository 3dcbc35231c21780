"""`emu evaluate`."""

import argparse
import sys
from typing import Any

from emu_core.cli.options import add_data, add_encoder_or_run, data_options, encoder_of, listed
from emu_core.cli.printing import print_guard, print_table
from emu_core.cli.verb import add_verb


def add_evaluate(verbs: Any) -> None:
    """`emu evaluate DATA`."""
    parser = add_verb(verbs, "evaluate", _evaluate, "leave-one-out Acc@1, or queries against a pool")
    add_data(parser)
    add_encoder_or_run(parser)
    parser.add_argument("--pool", nargs="+", metavar="FILE", help="find neighbours in these labelled files")
    parser.add_argument("--languages", metavar="en,de", help="these languages only")
    parser.add_argument(
        "--split", help="rows of this split only, or all (default: all but those that the run was trained on)"
    )


def _evaluate(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.evaluate import evaluate

    result = evaluate(
        options.data,
        encoder=encoder_of(options),
        pool=options.pool,
        languages=None if options.languages is None else listed(options.languages),
        split=options.split,
        **data_options(options),
    )
    for note in result["notes"]:
        print(f"note: {note}", file=sys.stderr)
    if not options.json:
        rows = [
            (
                pair,
                f"{value:.1f}",
                "{:.1f} to {:.1f}".format(*result["intervals"][pair]),
                str(result["counts"][pair]),
            )
            for pair, value in result["accuracy"].items()
        ]
        print_table(("direction", "Acc@1 %", "95 % interval", "queries"), rows)
        print(f"\nmean {result['mean']:.1f}")
        if "mean_with_en" in result:
            print(f"mean of the directions with English {result['mean_with_en']:.1f}")
        if result.get("classifier"):
            beside = result["classifier"]
            shown = ", ".join(f"{code} {value:.1f}" for code, value in beside["by_language"].items())
            print(f"{beside['name']}, C = {beside['C']:g}: mean {beside['mean']:.1f} ({shown})")
        if "guard" in result:
            print_guard(result["guard"], result.get("guard_note", ""))
    return result
