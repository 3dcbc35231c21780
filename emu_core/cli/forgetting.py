"""`emu forgetting`."""

import argparse
import json
from typing import Any

from emu_core.cli.options import add_device
from emu_core.cli.printing import print_table, write_file
from emu_core.cli.verb import STDOUT, add_verb


def add_forgetting(verbs: Any) -> None:
    """`emu forgetting RUN`."""
    parser = add_verb(
        verbs,
        "forgetting",
        _forgetting,
        "measure similarity and translations before and after; without files, on the small set that comes with Emu",
        json_file=True,
    )
    parser.add_argument("run", metavar="RUN", help="a finished run's folder")
    parser.add_argument(
        "--sts", metavar="FOLDER", help="files such as de.dev.csv: two sentences and a score a row, no header"
    )
    parser.add_argument(
        "--translations",
        metavar="FOLDER",
        help="files such as x.deu-eng.deu and x.deu-eng.eng, a sentence a line",
    )
    add_device(parser)


def _forgetting(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.forgetting import forgetting
    from emu_core.evaluation.forgetting import MOST_FALL_POINTS, MOST_FALL_SPEARMAN
    from emu_core.evaluation.metric_rows import FORGETTING_HEAD, forgetting_rows

    result = forgetting(
        options.run, sts=options.sts, translations=options.translations, device=options.device
    )
    if options.json != STDOUT:
        print_table(FORGETTING_HEAD, forgetting_rows(result))
        fallen = ", ".join(result["flagged"]) or "nothing"
        if result["measured_on"]:
            print(
                f"\nmeasured on {result['measured_on']}; --sts and --translations measure on files of yours"
            )
        print(f"\nfell by more than {MOST_FALL_SPEARMAN:g} or {MOST_FALL_POINTS:g} points: {fallen}")
    if options.json and options.json != STDOUT:
        write_file(options.json, json.dumps(result, indent=2, ensure_ascii=False) + "\n", "--json")
    return result
