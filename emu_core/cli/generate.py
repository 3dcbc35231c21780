"""`emu generate`."""

import argparse
from typing import Any

from emu_core.cli.options import listed
from emu_core.cli.printing import Line, print_table
from emu_core.cli.verb import add_verb

SPLITS = ("train", "dev", "test")


def add_generate(verbs: Any) -> None:
    """`emu generate`."""
    parser = add_verb(
        verbs, "generate", _generate, "write commands in several languages, with their slots annotated"
    )
    parser.add_argument("--languages", required=True, metavar="en,de,es", help="those to write")
    parser.add_argument(
        "--pairs",
        type=int,
        default=20_000,
        metavar="N",
        help="meanings, each once in every language (default: 20000)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True, metavar="DIR", help="a CSV file for each language goes here")


def _generate(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.generate import generate

    line = Line()
    line.show("generating", 0.0)
    made = generate(listed(options.languages), options.pairs, options.seed, options.out)
    line.show("finished", 1.0)
    if not options.json:
        rows = [
            (code, *(f"{counts.get(split, 0):,}" for split in SPLITS))
            for code, counts in made["rows"].items()
        ]
        print_table(("language", *SPLITS), rows)
        print("".join(f"\nnote: {sentence}" for sentence in made["weak"]))
        print(f"{options.out} is written; its README.md tells of the licence")
    return {"folder": options.out, **made}
