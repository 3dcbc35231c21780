"""The costs of a cell: time by the clock and by the processor, and memory."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil

from emu_core.runs.run import Status

INTERVAL_S = 0.02
MEMORY_NOTE = (
    "Peak memory is the most resident memory of the cell's own process from its start until the test sentences were "
    "measured: Python and its libraries, the encoder's weights, training and encoding; looked at every 20 ms."
)


@dataclass(frozen=True)
class Took:
    """A span of time, or a point in time.

    Attributes:
        seconds: by the clock.
        cpu_seconds: computed by all threads of this process: steadier than the clock on a busy machine.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def costs(self) -> dict[str, Any]:
        """Return both, rounded to milliseconds, as a `CellResult` has them."""
        return {"seconds": round(self.seconds, 3), "cpu_seconds": round(self.cpu_seconds, 3)}


def now() -> Took:
    """Return this moment."""
    return Took(time.perf_counter(), time.process_time())


def since(start: Took, end: Took | None = None) -> Took:
    """Return the time from a moment until now, or until another."""
    end = end or now()
    return Took(end.seconds - start.seconds, end.cpu_seconds - start.cpu_seconds)


@dataclass
class Clock:
    """Listens to a training run, and measures the time from the loaded encoder to the specialised one."""

    _begun: Took | None = None
    _over: Took | None = None

    def __call__(self, status: Status) -> None:
        """Take in the run's status as it moves."""
        if self._begun is None and status.phase not in ("", "loading"):
            self._begun = now()
        if self._over is None and status.phase in ("evaluating", "saving"):
            self._over = now()

    @property
    def took(self) -> Took:
        """The time that training took."""
        return Took() if self._begun is None or self._over is None else since(self._begun, self._over)


@dataclass
class Pace:
    """Listens to training's records, and measures the time of its steps.

    Neither the first step counts, which begins with reading the texts, nor what is measured after an epoch.

    Attributes:
        steps: that were timed.
        seconds: that they took.
        cpu_seconds: that the processor took for them.
    """

    steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    _last: Took | None = field(default=None, repr=False)

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Take in the record of a step or an epoch."""
        moment = now()
        if record["kind"] == "step" and self._last is not None:
            took = since(self._last, moment)
            self.steps, self.seconds = self.steps + 1, self.seconds + took.seconds
            self.cpu_seconds += took.cpu_seconds
        self._last = moment

    def speed(self, batch: int) -> dict[str, float]:
        """Return pairs a second of the clock and of the processor; empty where there was no second step."""
        if not self.steps or not self.seconds or not self.cpu_seconds:
            return {}
        pairs = self.steps * batch
        return {"seconds": pairs / self.seconds, "cpu_seconds": pairs / self.cpu_seconds}


@contextmanager
def peak_memory() -> Iterator[Callable[[], float]]:
    """Watch this process's resident memory from a thread; yield what gives the most so far, in units of 2**20 bytes."""
    process, over, lock = psutil.Process(), threading.Event(), threading.Lock()
    most = 0

    def look() -> float:
        nonlocal most
        with lock:  # the thread and the caller may look at the same moment
            most = max(most, process.memory_info().rss)
            return most / 2**20

    def watch() -> None:
        while not over.wait(INTERVAL_S):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield look
    finally:
        over.set()
        thread.join()


def gpu_megabytes() -> float:
    """Return the most memory of a GPU that torch held in this process, in megabytes; 0 where it held none."""
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_initialized() else 0.0
