"""The app as a server: start it, wait until it listens, and have it draw a page."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.paths import ROOT
from tools.container import VISIT


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def serving(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Run a server in a folder until the end of the block, which begins once the server has printed its address."""
    server = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "PYTHONUNBUFFERED": "1", "STREAMLIT_SERVER_HEADLESS": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # `emu app` is ended with the process that it started
    )
    try:
        assert server.stdout is not None
        lines = []
        for line in server.stdout:  # ends when the server does
            lines.append(line)
            if "URL:" in line:
                break
        else:
            raise AssertionError(f"the app does not start: {''.join(lines)}")
        threading.Thread(target=server.stdout.read, daemon=True).start()  # a full pipe would stop the server
        yield
    finally:
        os.killpg(server.pid, 15)
        server.wait()


def drawn_elements(port: int) -> int:
    """Return how many elements the first page draws. Raises CalledProcessError if it shows an exception."""
    command = [sys.executable, "-c", VISIT.replace("8501", str(port))]
    return int(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)
