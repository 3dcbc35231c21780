"""A benchmark of FMDA that kills itself with SIGKILL when it comes to a cell: `... OUT CELL`."""

import os
import signal
import sys

from emu_core.bench.fmda.bench import bench_fmda
from emu_core.bench.fmda.request import FmdaRequest
from emu_core.bench.fmda.result import FmdaResult
from tests.fmda_set import drawn_cell, fmda_set


def main(out: str, kill_at: int) -> None:
    """Run cells up to the one of that number, from 1."""
    begun = 0

    def run(request: FmdaRequest) -> FmdaResult:
        nonlocal begun
        begun += 1
        if begun == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return drawn_cell(request.cell, request.setting.pairs)

    bench_fmda(fmda_set(), out=out, parts=["5"], seeds=(0, 1), device="cpu", run=run)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
