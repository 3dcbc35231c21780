"""One cell, from its request to its result: train, then measure."""

import time
from collections.abc import Callable
from dataclasses import replace

from emu_core.bench.memory import PeakMemory, gpu_megabytes
from emu_core.bench.pretrained.request import PretrainedRequest
from emu_core.bench.pretrained.result import PretrainedResult
from emu_core.bench.pretrained.texts import BenchTexts
from emu_core.bench.pretrained.train_cell import trained
from emu_core.encoders.base import Encoder

Measure = Callable[[PretrainedRequest, Encoder | None, BenchTexts], PretrainedResult]


def run_cell(request: PretrainedRequest, measure: Measure) -> PretrainedResult:
    """Train and measure.

    Args:
        request: which cell.
        measure: fills what the benchmark measures; its encoder is None where the system has nothing to train.

    Raises:
        EmuError: what can't be trained or measured, with the mend.
    """
    start = time.perf_counter()
    with PeakMemory() as memory:
        texts = request.texts()
        recipe = request.setting.recipe(request.cell.system)
        made = None if recipe is None else trained(request.cell, recipe, texts, request.setting.device)
        result = measure(request, made.encoder if made else None, texts)
    if made is not None:
        result = replace(
            result,
            speed=made.speed,
            seconds=round(made.took.seconds, 3),
            cpu_seconds=round(made.took.cpu_seconds, 3),
            facts={**made.facts, **result.facts},
        )
    return replace(
        result,
        seconds_whole=round(time.perf_counter() - start, 3),
        peak_mb=round(memory.megabytes, 1),
        gpu_mb=gpu_megabytes(),
    )
