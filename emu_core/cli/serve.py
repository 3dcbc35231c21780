"""`emu app`: serve the Streamlit app."""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from emu_core.cli import options as shared
from emu_core.cli.server import ServerSettings, is_this_machine, read_server_settings, warnings_for
from emu_core.cli.verb import Output, add_verb, option
from emu_core.errors import EmuError


def app_folder() -> Path | None:
    """Return the folder of the app's package, or None if it is not installed."""
    package = find_spec("emu_app")
    return None if package is None or package.origin is None else Path(package.origin).parent


def serve(
    *,
    host: str = "localhost",
    port: int = 8501,
    runs: Path = Path("runs"),
    settings: Path | None = None,
    precision: str = "auto",
) -> int:
    """Serve the app until stopped, without usage statistics; return Streamlit's exit code.

    Args:
        host: address to listen on; a warning is printed if other machines can reach it and nobody has to sign in.
        port: port to listen on.
        runs: the folder of runs.
        settings: the TOML file of `ServerSettings`.
        precision: of vectors, "fp32" or "bf16"; "auto" takes $EMU_PRECISION, or what `encoding_precision` finds best.

    Raises:
        EmuError: the app or a package for signing in is not installed, or the settings are wrong.
    """
    folder = app_folder()
    if folder is None:
        raise EmuError("the app is not installed beside emu_core; install the whole project: make setup")
    server_settings = ServerSettings() if settings is None else read_server_settings(settings)
    if server_settings.sign_in and (find_spec("authlib") is None or find_spec("httpx") is None):
        raise EmuError("signing in needs Authlib and httpx; install them: pip install Authlib httpx")
    for warning in warnings_for(server_settings, host):
        print(f"emu: warning: {warning}", file=sys.stderr, flush=True)
    options = {"server.address": host, "server.port": str(port), "browser.gatherUsageStats": "false"}
    if not is_this_machine(host):
        options["server.headless"] = "true"
    if server_settings.sign_in:
        options["secrets.files"] = server_settings.sign_in
    # -P: a folder app or a file streamlit.py in the current folder is not imported.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(folder / "shell" / "served.py")]
    command += [word for name, value in options.items() for word in (f"--{name}", value)]
    environment = os.environ | {"EMU_RUNS": str(runs.resolve())}
    if settings is not None:
        environment["EMU_SETTINGS"] = str(settings.absolute())
    if precision != "auto":
        environment["EMU_PRECISION"] = precision
    return subprocess.run(command, env=environment, check=False).returncode


def add_app(verbs: Any) -> None:
    """Add `emu app`."""
    parser = add_verb(verbs, "app", _app)
    about = "address to listen on (default: localhost, this machine only)"
    option(parser, "--host ADDRESS", about, default="localhost")
    parser.add_argument("--port", type=int, default=8501)
    runs = os.environ.get("EMU_RUNS") or "runs"
    option(parser, "--runs DIR", f"the folder of runs (default: {runs})", default=runs)
    about = "TOML file with sign-in and quotas: docs/how-to/server.md (default: none)"
    option(parser, "--settings FILE", about)
    names = ["auto", "fp32", "bf16"]
    option(parser, "--precision TYPE", shared.OF_VECTORS, default="auto", choices=names)


def _app(options: argparse.Namespace) -> Output:
    settings = None if options.settings is None else Path(options.settings)
    served = serve(
        host=options.host,
        port=options.port,
        runs=Path(options.runs),
        settings=settings,
        precision=options.precision,
    )
    return {"exit": served}
