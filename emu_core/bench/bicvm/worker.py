"""The process of one cell: `python -m emu_core.bench.bicvm.worker OUT`, its request one line on stdin."""

import sys
from typing import Any

from emu_core.bench.bicvm.systems import BicvmSetting
from emu_core.bench.launch import ask
from emu_core.bench.pretrained.request import PretrainedRequest
from emu_core.bench.pretrained.result import PretrainedResult
from emu_core.bench.worker import answer
from emu_core.errors import EmuError


def in_process(request: PretrainedRequest) -> PretrainedResult:
    """Run a cell in a new process and wait for it; the process ends when this one does."""
    return ask("emu_core.bench.bicvm.worker", request.to_json(), PretrainedResult.from_json, _failed)


def _run(line: str) -> dict[str, Any]:
    from emu_core.bench.bicvm.measure import measure
    from emu_core.bench.pretrained.run_cell import run_cell

    try:
        return run_cell(PretrainedRequest.from_json(line, BicvmSetting), measure).to_json()
    except EmuError as error:
        return _failed(str(error)).to_json()


def _failed(reason: str) -> PretrainedResult:
    return PretrainedResult(not_measured=reason)


if __name__ == "__main__":
    answer(sys.argv[1], _run)
