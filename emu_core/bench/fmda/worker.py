"""The process of one cell: `python -m emu_core.bench.fmda.worker OUT`, its request one line on stdin."""

import sys
from typing import Any

from emu_core.bench.fmda.request import FmdaRequest
from emu_core.bench.fmda.result import FmdaResult
from emu_core.bench.launch import ask
from emu_core.bench.worker import answer
from emu_core.errors import EmuError


def in_process(request: FmdaRequest) -> FmdaResult:
    """Run a cell in a new process and wait for it; the process ends when this one does."""
    return ask(__name__, request.to_json(), FmdaResult.from_json, _failed)


def _run(line: str) -> dict[str, Any]:
    from emu_core.bench.fmda.run_cell import run_cell

    try:
        return run_cell(FmdaRequest.from_json(line)).to_json()
    except EmuError as error:
        return _failed(str(error)).to_json()


def _failed(reason: str) -> FmdaResult:
    return FmdaResult(not_measured=reason)


if __name__ == "__main__":
    answer(sys.argv[1], _run)
