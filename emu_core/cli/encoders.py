"""`emu encoders`, `emu embed` and `emu export`."""

import argparse
import sys
from dataclasses import asdict
from typing import Any

from emu_core.cli import options as shared
from emu_core.cli.printing import counter, print_table
from emu_core.cli.verb import Output, add_verb, option
from emu_core.exporting import ExportFormat
from emu_core.processes import is_main


def add_encoders(verbs: Any) -> None:
    """Add `emu encoders` and `emu encoders download`."""
    parser = add_verb(verbs, "encoders", _encoders)
    actions = parser.add_subparsers(metavar="ACTION")
    download = add_verb(
        actions, "download", _download, "fetch the files of an encoder that is not in a package"
    )
    download.add_argument("encoder", choices=["laser"])


def _encoders(options: argparse.Namespace) -> Output:
    from emu_core.encoders.registry import available_encoders

    encoders = available_encoders()
    if not options.json:
        rows = []
        for info in encoders:
            size, ready = f"{info.size_mb} MB" if info.size_mb else "", "yes" if info.available else "no"
            languages, dimensions = str(len(info.languages) or ""), str(info.dim or "")
            rows.append((info.spec, info.name, languages, dimensions, size, info.licence, ready))
        print_table(("encoder", "name", "languages", "dimensions", "size", "licence", "ready"), rows)
        for info in encoders:
            if not info.available:
                print(f"\n{info.spec}: {info.reason}")
    return {"encoders": [asdict(info) for info in encoders]}


def _download(options: argparse.Namespace) -> Output:
    from emu_core.encoders.laser.download import download

    folder = download()
    if not options.json:
        print(f"the files of {options.encoder} are in {folder}")
    return {"encoder": options.encoder, "folder": str(folder)}


def add_embed(verbs: Any) -> None:
    """Add `emu embed DATA`."""
    parser = add_verb(verbs, "embed", _embed)
    shared.add_data(parser)
    shared.add_encoder_or_run(parser)
    # Without choices: the names are in a module that imports torch.
    option(
        parser,
        "--part PART",
        "for a run that splits sentences: write this embedding, at the length it was trained with, instead of "
        "the meaning; one of cls, mean, language, template, residual, meaning",
    )
    option(parser, "--out FILE.parquet", "the file to write", required=True)
    shared.add_engine(parser, "a folder of them")


def _embed(options: argparse.Namespace) -> Output:
    from emu_core.api.embed import embed
    from emu_core.errors import EncoderError, Fix

    notes: list[str] = []
    about = {
        "encoder": shared.encoder_of(options),
        "out": options.out,
        **shared.data_options(options),
        "on_progress": counter("sentences"),
    }
    if shared.engine_of(options):
        from emu_core.cluster import embed_on_cluster

        if options.part:
            raise EncoderError("a cluster writes the meaning only; leave out ", Fix("part"))
        count = embed_on_cluster(options.data, address=options.address, **about)
    else:
        count = embed(options.data, part=options.part, **about, on_note=notes.append)
    if not options.json and is_main():
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        print(f"{count:,} vectors in {options.out}")
    return {"sentences": count, "file": str(options.out), "notes": notes}


def add_export(verbs: Any) -> None:
    """Add `emu export RUN`."""
    parser = add_verb(verbs, "export", _export)
    parser.add_argument(
        "run",
        metavar="RUN",
        help="the folder of a finished run or of a saved estimator, or an encoder such as e5-small",
    )
    names, usual = [known.value for known in ExportFormat], "sentence-transformers"
    option(parser, "--format", f"format to write (default: {usual})", default=usual, choices=names)
    about = "with --format onnx, store weights in 8 bits: a smaller file, and slightly other vectors"
    option(parser, "--int8", about, action="store_true")
    option(parser, "--out DIR", "the folder to write")
    about = "upload it into a new, private repository of the Hugging Face hub, such as user/hotel"
    option(parser, "--push REPO", about)
    option(parser, "--public", "let everybody see the repository", action="store_true")


def _export(options: argparse.Namespace) -> Output:
    from emu_core.api.export import export, push_to_hub
    from emu_core.errors import Fix, RunError
    from emu_core.exporting.push import check_push

    if not options.out and not options.push:
        raise RunError(
            "name a folder to write with ", Fix("out"), " or, with --push, a repository of the hub"
        )
    done: dict[str, str] = {}
    if options.push:
        check_push(options.push)
    if options.out:
        done["folder"] = str(export(options.run, options.out, format=options.format, int8=options.int8))
        if not options.json:
            print(f"{options.out} is written; its README.md says how to open it")
    if options.push:
        source, taken = options.out or options.run, shared.taken(options, "public", "format", "int8")
        done["pushed"] = push_to_hub(source, options.push, **taken)
        if not options.json:
            print(f"{done['pushed']} is {'public' if options.public else 'private'}")
    return done
