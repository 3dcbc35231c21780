"""What each system costs: time and memory."""

from typing import Any

import numpy as np

from emu_core.bench.fmda.cells import LABELS, FmdaCell, System
from emu_core.bench.fmda.result import FmdaResult
from emu_core.bench.fmda.results import FmdaResults
from emu_core.bench.memory import LEGEND
from emu_core.bench.table import Table
from emu_core.evaluation.arrays import pair_name

NOTE = (
    "Mean over seeds. Seconds of training count from the loaded encoder to the trained one, the frozen encoder's one "
    "run over every sentence and the drawing of negatives included; CPU seconds are what all threads computed in that "
    "time; seconds in all also load the encoder and measure."
)


def costs_table(results: FmdaResults) -> Table:
    """A row for each system and the pairs it is trained on."""
    groups: dict[tuple[System, tuple[tuple[str, str], ...]], list[FmdaResult]] = {}
    for cell, result in results.cells.items():
        if not result.not_measured:
            groups.setdefault((cell.system, cell.pairs), []).append(result)
    rows, data = [], dict[str, Any]()
    for (system, pairs), cells in groups.items():
        costs = {
            "seconds": float(np.mean([cell.seconds for cell in cells])),
            "cpu_seconds": float(np.mean([cell.cpu_seconds for cell in cells])),
            "seconds_whole": float(np.mean([cell.seconds_whole for cell in cells])),
            "peak_mb": max(cell.peak_mb for cell in cells),
            "gpu_mb": max(cell.gpu_mb for cell in cells),
        }
        names = " + ".join(pair_name(*pair) for pair in pairs)
        data[FmdaCell(system, pairs).key.removesuffix(".s0")] = costs
        rows.append(
            (
                LABELS[system],
                names,
                *(f"{value:.{0 if name.endswith('mb') else 1}f}" for name, value in costs.items()),
            )
        )
    head = (
        "model",
        "trained on",
        "seconds of training",
        "CPU seconds",
        "seconds in all",
        "peak MB",
        "GPU MB",
    )
    return Table("costs", "Time and memory", head, tuple(rows), _warnings(results), (NOTE, LEGEND), data)


def _warnings(results: FmdaResults) -> tuple[str, ...]:
    """What training warned of, each warning once."""
    said = (
        f"{cell.label} warned: {word}."
        for cell, result in results.cells.items()
        for word in result.facts.get("warnings", ())
    )
    return tuple(dict.fromkeys(said))
