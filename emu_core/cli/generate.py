"""`emu generate`."""

import argparse
from typing import Any

from emu_core.cli import options as shared
from emu_core.cli.printing import PrintedLine, print_table
from emu_core.cli.verb import Output, add_verb, option

SPLITS = ("train", "dev", "test")


def add_generate(verbs: Any) -> None:
    """Add `emu generate`."""
    parser = add_verb(verbs, "generate", _generate)
    option(parser, "--languages en,de,es", "languages to generate", required=True, type=shared.comma_list)
    about = "number of meanings, each written once in every language (default: 20000)"
    option(parser, "--pairs N", about, type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    option(parser, "--out DIR", "folder for a CSV file per language", required=True)


def _generate(options: argparse.Namespace) -> Output:
    from emu_core.api.generate import generate

    line = PrintedLine()
    line.show("generating", 0.0)
    made = generate(options.languages, options.pairs, options.seed, options.out)
    line.show("finished", 1.0)
    if not options.json:
        rows = [
            (code, *(f"{counts.get(split, 0):,}" for split in SPLITS))
            for code, counts in made["rows"].items()
        ]
        print_table(("language", *SPLITS), rows)
        print("".join(f"\nnote: {sentence}" for sentence in made["weak"]))
        print(f"{options.out} is written; its README.md states the licence")
    return {"folder": options.out, **made}
