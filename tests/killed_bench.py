"""A benchmark that kills itself with SIGKILL when it comes to a cell: `python tests/killed_bench.py DATA OUT CELL`."""

import os
import signal
import sys

from emu_core.bench.bench import bench_emu
from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from tests.bench_set import drawn_result


def measured(request: Request) -> CellResult:
    """Numbers that are the cell's own, without training anything."""
    return drawn_result(("en", "de"), request.cell.seed + len(request.cell.name), 0.6, 6)


def main(data: str, out: str, kill_at: int) -> None:
    """Run cells up to the one of that number, from 1."""
    begun = 0

    def run(request: Request) -> CellResult:
        nonlocal begun
        begun += 1
        if begun == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return measured(request)

    bench_emu(data, out=out, parts=["5"], seeds=(0, 1), device="cpu", run=run)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
