"""A cell in a process of its own: its memory is then its own, and a crash ends it alone."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from emu_core.bench.request import Request
from emu_core.bench.result import CellResult

LAST_WORDS = 300


R = TypeVar("R")


def in_process(request: Request) -> CellResult:
    """Run a cell in a new process and wait for it; the process ends when this one does."""
    return ask("emu_core.bench.worker", request.to_json(), CellResult.from_json, _failed)


def _failed(reason: str) -> CellResult:
    return CellResult(not_measured=reason)


def ask(worker: str, line: str, from_json: Callable[[Mapping[str, Any]], R], failed: Callable[[str], R]) -> R:
    """Run a module in a new process, which reads a request on stdin and writes its result to a file.

    Args:
        worker: the module's name.
        line: the request.
        from_json: reads the result.
        failed: makes a result of the reason why there is none.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        said = Path(folder) / "said.txt"
        with said.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", worker, str(out)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
            try:
                code = _tell_and_wait(process, line)
            finally:
                process.kill()
                process.wait()
        if code == 0 and out.is_file():
            return from_json(json.loads(out.read_text("utf-8")))
        words = said.read_bytes().decode("utf-8", "replace").strip().splitlines()
        last = words[-1][:LAST_WORDS] if words else "it said nothing"
        return failed(f"its process ended with code {code}: {last}")


def _tell_and_wait(process: "subprocess.Popen[bytes]", line: str) -> int:
    """Write the request and leave the pipe open: its end is what tells the process that this one is gone."""
    if process.stdin is None:
        raise TypeError("the process was started without a pipe")
    with process.stdin as pipe, suppress(BrokenPipeError):  # gone already: its exit code says why
        pipe.write(line.encode() + b"\n")
        pipe.flush()
        return process.wait()
    return process.wait()
