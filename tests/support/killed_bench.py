"""A benchmark that kills itself with SIGKILL when it comes to a cell."""

import os
import signal
from pathlib import Path

from emu_core.bench.experiment import Experiment
from emu_core.bench.results import Cell, CellResult
from tests.support.bench_cells import drawn, run

OPTIONS = {"emu": {"parts": ["5"]}, "fmda": {"parts": ["5"]}}


def run_and_die(paper: str, out: str, kill_at: int) -> None:
    """Run cells up to the one of that number, from 1."""
    begun = 0

    def run_or_die(experiment: Experiment, cell: Cell) -> CellResult:
        nonlocal begun
        begun += 1
        if begun == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return drawn(experiment, cell)

    run(paper, Path(out), run_cell=run_or_die, seeds=(0, 1), **OPTIONS.get(paper, {}))
