"""A benchmark that kills itself with SIGKILL when it comes to a cell: `python -m tests.killed_bench PAPER OUT CELL`."""

import os
import signal
import sys
from pathlib import Path

from emu_core.bench.cells import Cell
from emu_core.bench.experiment import Experiment
from emu_core.bench.results import CellResult
from tests.bench_cells import drawn, run

OPTIONS = {"emu": {"parts": ["5"]}, "fmda": {"parts": ["5"]}}


def dying(kill_at: int) -> None:
    """Run cells up to the one of that number, from 1."""
    begun = 0

    def run_or_die(experiment: Experiment, cell: Cell) -> CellResult:
        nonlocal begun
        begun += 1
        if begun == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return drawn(experiment, cell)

    paper, out = sys.argv[1:3]
    run(paper, Path(out), run_cell=run_or_die, seeds=(0, 1), **OPTIONS.get(paper, {}))


if __name__ == "__main__":
    dying(int(sys.argv[3]))
