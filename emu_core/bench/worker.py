"""The process of one cell: `python -m emu_core.bench.worker OUT`, its request one line on stdin."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from emu_core.bench.store import write_json
from emu_core.errors import EmuError


def main(out: str) -> None:
    """Run a cell and write its result; a cell that can't be measured says why."""

    def run(line: str) -> dict[str, Any]:
        from emu_core.bench.run_cell import run_cell

        try:
            return run_cell(Request.from_json(line)).to_json()
        except EmuError as error:
            return CellResult(not_measured=str(error)).to_json()

    answer(out, run)


def answer(out: str, run: Callable[[str], dict[str, Any]]) -> None:
    """Read the request, write what `run` makes of it, and end at once where the parent ends.

    Args:
        out: the file to write.
        run: from the request to the result as plain values.
    """
    line = _line()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    write_json(Path(out), run(line))


def _line() -> str:
    """The first line on stdin, read byte by byte: a buffer would hold a lock when the process ends."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.decode()


def _end_with_parent() -> None:
    """Wait for the end of stdin, which comes when the parent is gone, however it went."""
    while os.read(0, 1):
        pass
    os._exit(3)


if __name__ == "__main__":
    main(sys.argv[1])
