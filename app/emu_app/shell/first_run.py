"""The demo run in a new folder of runs: it is placed there when the server starts, or when somebody first signs in."""

import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

_PLACED: dict[Path, Event] = {}  # by folder of runs, where the demo run is being placed or was


def place_where_empty(runs: Path, root: Path | None = None) -> None:
    """Begin to place the demo run in a folder of runs that is new or empty.

    Another process does it, so that its memory is given back. `root` is the folder of all users' runs, which has the
    vectors, if that is another one.
    """
    if runs in _PLACED or (runs.is_dir() and any(runs.iterdir())):
        return
    _PLACED[runs] = placed = Event()
    command = [sys.executable, "-P", "-m", "emu_app.work.demo_run", str(runs), str(root or runs)]
    placing = subprocess.Popen(command)

    def wait() -> None:
        placing.wait()
        placed.set()

    Thread(target=wait, daemon=True).start()


def until_placed(runs: Path) -> None:
    """Wait until the demo run is placed in this folder of runs, if it is being placed there."""
    if runs in _PLACED:
        _PLACED[runs].wait()
