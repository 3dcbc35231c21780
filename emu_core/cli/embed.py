"""`emu embed`."""

import argparse
from typing import Any

from emu_core.cli.options import add_data, add_encoder_or_run, data_options, encoder_of
from emu_core.cli.printing import counter
from emu_core.cli.verb import add_verb
from emu_core.processes import is_main


def add_embed(verbs: Any) -> None:
    """`emu embed DATA`."""
    parser = add_verb(verbs, "embed", _embed, "write sentence vectors to Parquet")
    add_data(parser)
    add_encoder_or_run(parser)
    # Its names are checked by the verb and not here: they stand in a module that imports torch.
    parser.add_argument(
        "--part",
        metavar="PART",
        help="of a run of fmda or meaning-language, an embedding instead of the meaning, of the length it was learnt "
        "with; one of cls, mean, language, template, residual, meaning",
    )
    parser.add_argument("--out", required=True, metavar="FILE.parquet")


def _embed(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.embed import embed

    count = embed(
        options.data,
        out=options.out,
        encoder=encoder_of(options),
        part=options.part,
        **data_options(options),
        on_progress=counter("sentences"),
    )
    if not options.json and is_main():
        print(f"{count:,} vectors in {options.out}")
    return {"sentences": count, "file": str(options.out)}
