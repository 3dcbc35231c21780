"""`emu generate`."""

import argparse
from typing import Any

from emu_core.cli.options import listed
from emu_core.cli.printing import Line, print_table
from emu_core.cli.verb import add_verb

SPLITS = ("train", "dev", "test")


def add_generate(verbs: Any) -> None:
    """Add `emu generate`."""
    summary = "generate commands in several languages, with annotated slots"
    parser = add_verb(verbs, "generate", _generate, summary)
    parser.add_argument(
        "--languages", required=True, type=listed, metavar="en,de,es", help="languages to generate"
    )
    parser.add_argument(
        "--pairs", type=int, default=20_000, metavar="N",
        help="number of meanings, each written once in every language (default: 20000)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for a CSV file per language")


def _generate(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.generate import generate

    line = Line()
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
