"""`emu encoders`, and `emu encoders download`."""

import argparse
from dataclasses import asdict
from typing import Any

from emu_core.cli.printing import print_table
from emu_core.cli.verb import add_verb


def add_encoders(verbs: Any) -> None:
    """`emu encoders`, with its action."""
    parser = add_verb(verbs, "encoders", _encoders, "list the encoders, or fetch one's files")
    actions = parser.add_subparsers(metavar="ACTION")
    download = add_verb(
        actions, "download", _download, "fetch the files of an encoder that is not in a package"
    )
    download.add_argument("encoder", choices=["laser"])


def _encoders(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.encoders.registry import available_encoders

    found = available_encoders()
    if not options.json:
        rows = [
            (
                info.spec,
                info.name,
                str(len(info.languages) or ""),
                str(info.dim or ""),
                f"{info.size_mb} MB" if info.size_mb else "",
                info.licence,
                "yes" if info.available else "no",
            )
            for info in found
        ]
        print_table(("encoder", "name", "languages", "numbers", "size", "licence", "ready"), rows)
        for info in found:
            if not info.available:
                print(f"\n{info.spec}: {info.reason}")
    return {"encoders": [asdict(info) for info in found]}


def _download(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.encoders.laser.download import download

    folder = download()
    if not options.json:
        print(f"the files of {options.encoder} are in {folder}")
    return {"encoder": options.encoder, "folder": str(folder)}
