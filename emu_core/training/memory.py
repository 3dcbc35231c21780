"""An estimate of the memory that training needs, made before it starts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import psutil

from emu_core.errors import TrainingError
from emu_core.processes import is_main
from emu_core.training.method import joined_memory, process_memory

if TYPE_CHECKING:
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import LabelledData, StoredData
    from emu_core.training.method import Part

MEGABYTE = 2**20
CGROUP = Path("/sys/fs/cgroup")
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


@dataclass(frozen=True)
class Forecast:
    """The memory that training needs."""

    line: str  # the data and the memory in words
    needed: int  # upper estimate in bytes


OnForecast = Callable[[Forecast], None]


def forecast(
    parts: "Sequence[Part]",
    data: "StoredData",
    config: "RunConfig",
    on_forecast: OnForecast | None = None,
    *,
    student: "RunConfig | None" = None,
) -> Forecast | None:
    """Estimate the memory that a run's parts need; None if it was not measured for a method and its encoder.

    Args:
        parts: those of the run's encoder, or of its teacher's.
        data: what they learn from.
        config: of the run, or of its teacher's.
        on_forecast: called with the estimate.
        student: the run's, where its teacher is trained in it, since the teacher stays in memory then.

    Raises:
        TrainingError: less is available to the main process.
    """
    of_parts = [
        None if part.method.memory is None else part.method.memory(data, part.config, part.settings)
        for part in parts
    ]
    if student is not None:
        of_parts.append(process_memory(cast("LabelledData", data), student))
    measured = [needed for needed in of_parts if needed is not None]
    if len(measured) < len(of_parts):
        return None
    needed = joined_memory(measured)
    available = available_memory()
    needs, available_words = (f"{count / MEGABYTE:,.0f} MB" for count in (needed, available))
    line = f"{data.size(config)}: about {needs} of memory, of {available_words} available"
    # The estimate includes what this process holds already, such as libraries and data. Of several processes that
    # train together, the main one decides: each measures at another moment, and one alone would wait for the others.
    if is_main() and needed > available + psutil.Process().memory_info().rss:
        raise TrainingError(f"too little memory for {line}; train on fewer rows, or close other programs")
    expected = Forecast(line, needed)
    if on_forecast is not None:
        on_forecast(expected)
    return expected


def available_memory() -> int:
    """Return the bytes available to this process, on the machine and within its control group."""
    available = [psutil.virtual_memory().available]
    for limit, used in _LIMITS:
        try:
            available.append(int((CGROUP / limit).read_text()) - int((CGROUP / used).read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return max(0, min(available))
