"""The start of a server in an empty folder of runs: it places the demo run there, and pages wait for that."""

import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

_PLACED = Event()
_PLACED.set()


def place_where_empty(runs: Path) -> None:
    """Begin to place the demo run in a folder of runs that is new or empty.

    Another process does it, so that its memory is given back.
    """
    if runs.is_dir() and any(runs.iterdir()):
        return
    _PLACED.clear()
    placing = subprocess.Popen([sys.executable, "-P", "-m", "emu_app.work.demo_run", str(runs)])
    Thread(target=_wait, args=(placing,), daemon=True).start()


def until_placed() -> None:
    """Wait until the demo run is placed, if it is being placed."""
    _PLACED.wait()


def _wait(placing: subprocess.Popen[bytes]) -> None:
    placing.wait()
    _PLACED.set()
