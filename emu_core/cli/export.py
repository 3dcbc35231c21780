"""`emu export`."""

import argparse
from typing import Any

from emu_core.cli.verb import add_verb
from emu_core.exporting import ExportFormat


def add_export(verbs: Any) -> None:
    """`emu export RUN`."""
    parser = add_verb(verbs, "export", _export, "write an encoder for sentence-transformers, or as ONNX")
    parser.add_argument("run", metavar="RUN", help="a finished run's folder, or an encoder such as e5-small")
    parser.add_argument(
        "--format",
        default="sentence-transformers",
        choices=[known.value for known in ExportFormat],
        help="what to write (default: sentence-transformers)",
    )
    parser.add_argument("--out", required=True, metavar="DIR")


def _export(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.export import export

    folder = export(options.run, options.out, format=options.format)
    if not options.json:
        print(f"{folder} is written; its README.md says how to open it")
    return {"folder": str(folder)}
