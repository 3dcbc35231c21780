"""`emu app`: serve the Streamlit app on this machine."""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emu_core.cli.verb import add_verb
from emu_core.errors import EmuError


def serve(*, port: int = 8501, runs: Path = Path("runs")) -> int:
    """Serve until stopped, on localhost only and without usage statistics; returns Streamlit's exit code.

    Raises:
        EmuError: the app is not installed.
    """
    app = find_spec("app")
    if app is None or app.origin is None:
        raise EmuError("the app is not installed beside emu_core; install the whole project: make setup")
    command = [sys.executable, "-m", "streamlit", "run", str(Path(app.origin).parent / "main.py")]
    command += [
        "--server.address",
        "localhost",
        "--server.port",
        str(port),
        "--browser.gatherUsageStats",
        "false",
    ]
    environment = os.environ | {"EMU_RUNS": str(runs.resolve())}
    return subprocess.run(command, env=environment, check=False).returncode


def add_app(verbs: Any) -> None:
    """`emu app`."""
    parser = add_verb(verbs, "app", _app, "serve the app on this machine")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--runs", default="runs", metavar="DIR", help="the folder of runs (default: runs)")


def _app(options: argparse.Namespace) -> dict[str, Any]:
    return {"exit": serve(port=options.port, runs=Path(options.runs))}
