"""One cell, from its request to its result: train, then measure on the test split."""

import tempfile
import time
from pathlib import Path

from emu_core.bench.fmda.measure import Measured
from emu_core.bench.fmda.request import FmdaRequest
from emu_core.bench.fmda.result import FmdaResult
from emu_core.bench.fmda.train_cell import trained_system
from emu_core.bench.memory import PeakMemory, gpu_megabytes


def run_cell(request: FmdaRequest) -> FmdaResult:
    """Train and measure.

    Raises:
        EmuError: what can't be trained or measured, with the mend.
    """
    data = request.data()
    start = time.perf_counter()
    with PeakMemory() as memory, tempfile.TemporaryDirectory() as folder:
        system = trained_system(request, data.learnt, Path(folder))
        measured = Measured(request.cell, request.setting.pairs, data, system.parts)
        result = FmdaResult(
            translations=measured.translations(),
            templates=measured.template_accuracy(),
            precisions=measured.template_precision(),
            probes=measured.probes(),
        )
        seconds_whole = time.perf_counter() - start
    return FmdaResult(
        translations=result.translations,
        templates=result.templates,
        precisions=result.precisions,
        probes=result.probes,
        views=measured.views() if request.in_figure else {},
        seconds=round(system.took.seconds, 3),
        cpu_seconds=round(system.took.cpu_seconds, 3),
        seconds_whole=round(seconds_whole, 3),
        peak_mb=round(memory.megabytes, 1),
        gpu_mb=gpu_megabytes(),
        facts=system.facts,
    )
