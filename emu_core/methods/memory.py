"""The memory that a training will take, said before it begins, and refused where there is less."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from emu_core.errors import TrainingError
from emu_core.methods.registry import method_named

if TYPE_CHECKING:
    from emu_core.runs.config import RunConfig
    from emu_core.runs.stored_data import Data

MEGABYTE = 2**20
CGROUP = Path("/sys/fs/cgroup")
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


@dataclass(frozen=True)
class Forecast:
    """The rows and the memory of a training.

    Attributes:
        line: for people.
        needed: bytes of memory, from above.
    """

    line: str
    needed: int


OnForecast = Callable[[Forecast], None]


def forecast(data: "Data", config: "RunConfig") -> Forecast | None:
    """Estimate the memory of a training; None where its method and encoder were not measured.

    Raises:
        TrainingError: less is available, with how to do with less.
    """
    method = method_named(config.method)
    settings = method.settings_from(config.hyperparameters)
    needed = None if method.memory is None else method.memory(data, config, settings)
    if needed is None:
        return None
    available = available_memory()
    line = f"{data.size(config)}: about {_megabytes(needed)} of memory, of {_megabytes(available)} available"
    # What this process has already, its data and its libraries among it, is in the estimate.
    if needed > available + psutil.Process().memory_info().rss:
        raise TrainingError(f"too little memory for {line}; train on fewer rows, or close other programs")
    return Forecast(line, needed)


def check_memory(data: "Data", config: "RunConfig", on_forecast: OnForecast | None = None) -> None:
    """Estimate the memory of a training, and tell whoever wants to know. Raises TrainingError as `forecast` does."""
    expected = forecast(data, config)
    if expected is not None and on_forecast is not None:
        on_forecast(expected)


def available_memory() -> int:
    """Return the bytes that this process may still take: of the machine's, and of its control group's."""
    available = [psutil.virtual_memory().available]
    for limit, used in _LIMITS:
        try:
            available.append(int((CGROUP / limit).read_text()) - int((CGROUP / used).read_text()))
        except (OSError, ValueError):  # no such group, or "max"
            continue
    return max(0, min(available))


def _megabytes(count: int) -> str:
    return f"{count / MEGABYTE:,.0f} MB"
