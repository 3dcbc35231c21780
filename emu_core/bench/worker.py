"""The process of one cell: `python -m emu_core.bench.worker OUT`, its request one line on stdin."""

import os
import sys
import threading
from pathlib import Path

from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from emu_core.bench.store import write_json
from emu_core.errors import EmuError


def main(out: str) -> None:
    """Run a cell and write its result; a cell that can't be measured says why."""
    request = Request.from_json(_line())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from emu_core.bench.run_cell import run_cell

    try:
        result = run_cell(request)
    except EmuError as error:
        result = CellResult(not_measured=str(error))
    write_json(Path(out), result.to_json())


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
