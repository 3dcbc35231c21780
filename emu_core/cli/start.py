"""`emu start`."""

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu_core.cli import options as shared
from emu_core.cli.printing import print_table
from emu_core.cli.verb import Output, add_verb, option
from emu_core.encoders.specs import BOTH, joined_spec
from emu_core.files import write_named
from emu_core.formats.tables.formats import FORMAT_TITLES, WRITTEN_ENDINGS, any_of

if TYPE_CHECKING:
    from emu_core.api.start import Started


def add_start(verbs: Any) -> None:
    """Add `emu start INTENTS DATA`."""
    parser = add_verb(verbs, "start", _start)
    about = "a table with columns intent and description, or a text file with the name of an intent a line"
    parser.add_argument("intents", metavar="INTENTS", help=about)
    shared.add_data(parser, f"unlabelled sentences: {FORMAT_TITLES} files, or text files, or quoted", str)
    shared.add_encoder(parser, default=joined_spec(BOTH))
    option(parser, "--count N", "sentences to label next (default: 10)", type=int, default=10)
    option(parser, "--out FILE", f"{any_of(WRITTEN_ENDINGS)} for the predictions; a map goes beside it")


def _draw_map(started: "Started", out: Path, *, shows: bool) -> Path:
    """Write a map beside the predictions: at once a PCA, which t-SNE then replaces if there are enough sentences."""
    from emu_core.errors import DataError

    page = write_named(out.with_suffix(".map.html"), started.map_page("pca"))
    if shows:
        drawn, count = len(started.drawn), len(started.predictions)
        print(f"A map of {'them' if drawn == count else f'{drawn:,} of them'} in {page}", flush=True)
    with suppress(DataError):  # too few different sentences, of which the first map shows all there is
        write_named(page, started.map_page())
    return page


def _start(options: argparse.Namespace) -> Output:
    import pyarrow as pa

    from emu_core.api.embed import refuse_input, writing
    from emu_core.api.start import start

    notes: list[str] = []
    if options.out:
        refuse_input(options.out, options.data)
    started = start(
        options.intents,
        options.data,
        encoder=options.encoder,
        count=options.count,
        device=options.device,
        reading=shared.reading_of(options).of_sentences(),
        on_note=notes.append,
    )
    predictions = started.predictions
    if options.out:
        with writing(options.out, pa.Schema.from_pandas(predictions, preserve_index=False)) as write:
            write(predictions)
    counts = predictions["intent"].value_counts().reindex(list(started.texts), fill_value=0)
    if not options.json:
        rows = [(name, started.texts[name], f"{count:,}") for name, count in counts.items()]
        print_table(("intent", "told by", "sentences"), rows)
        print("\nLabel these next:")
        print_table(
            ("sentence", "intent", "lead"),
            [(row.text, row.intent, f"{row.lead:.1f}") for row in started.next.itertuples()],
        )
        print()
        for note in (
            "no label was read; with a few of them, predictions get better and are calibrated",
            *notes,
        ):
            print(f"note: {note}")
        if options.out:
            print(f"{len(predictions):,} predictions in {options.out}", flush=True)
    page = _draw_map(started, Path(options.out), shows=not options.json) if options.out else None
    predictions, first = (
        table.astype(object).where(table.notna(), None) for table in (predictions, started.next)
    )
    return {
        "sentences": len(predictions),
        "file": options.out,
        "map": None if page is None else str(page),
        "notes": notes,
        "counts": counts.to_dict(),
        "next": first.to_dict("records"),
        **({} if options.out else {"predictions": predictions.to_dict("records")}),
    }
