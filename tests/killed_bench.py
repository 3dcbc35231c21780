"""A benchmark that kills itself with SIGKILL when it comes to a cell: `python tests/killed_bench.py DATA OUT CELL`."""

import sys

from emu_core.bench.bench import bench_emu
from emu_core.bench.request import Request
from emu_core.bench.result import CellResult
from tests.bench_set import drawn_result
from tests.dying import dying


def measured(request: Request) -> CellResult:
    """Numbers that are the cell's own, without training anything."""
    return drawn_result(("en", "de"), request.cell.seed + len(request.cell.name), 0.6, 6)


if __name__ == "__main__":
    data, out, kill_at = sys.argv[1:]
    bench_emu(data, out=out, parts=["5"], seeds=(0, 1), device="cpu", run=dying(measured, int(kill_at)))
