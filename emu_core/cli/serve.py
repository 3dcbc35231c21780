"""`emu app`."""

import argparse
from pathlib import Path
from typing import Any

from emu_core.cli.verb import add_verb


def add_app(verbs: Any) -> None:
    """`emu app`."""
    parser = add_verb(verbs, "app", _app, "serve the app on this machine")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--runs", default="runs", metavar="DIR", help="the folder of runs (default: runs)")


def _app(options: argparse.Namespace) -> dict[str, Any]:
    from emu_core.api.serve import serve

    return {"exit": serve(port=options.port, runs=Path(options.runs))}
