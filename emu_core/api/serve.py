"""`emu app`: serve the Streamlit app on this machine."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

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
