"""A benchmark of FMDA that kills itself with SIGKILL when it comes to a cell: `... OUT CELL`."""

import sys

from emu_core.bench.fmda.bench import bench_fmda
from emu_core.bench.fmda.request import FmdaRequest
from emu_core.bench.fmda.result import FmdaResult
from tests.dying import dying
from tests.fmda_set import drawn_cell, fmda_set


def measured(request: FmdaRequest) -> FmdaResult:
    """Numbers that are the cell's own, without training anything."""
    return drawn_cell(request.cell, request.setting.pairs)


if __name__ == "__main__":
    out, kill_at = sys.argv[1:]
    bench_fmda(
        fmda_set(), out=out, parts=["5"], seeds=(0, 1), device="cpu", run=dying(measured, int(kill_at))
    )
