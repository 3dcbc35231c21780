"""The costs of a run: wall-clock time, CPU time and memory."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypedDict

import psutil

from emu_core.runs.log import Record
from emu_core.runs.run import Status

_INTERVAL_S = 0.02


class Costs(TypedDict):
    """A span of time as fields of a result."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Took:
    """A span of time, or a point in time."""

    seconds: float = 0.0  # wall-clock time
    cpu_seconds: float = 0.0  # sum over all threads of this process; varies less on a busy machine

    def costs(self) -> Costs:
        """Return both by name, rounded to milliseconds."""
        return {"seconds": round(self.seconds, 3), "cpu_seconds": round(self.cpu_seconds, 3)}


def now() -> Took:
    """Return the current point in time."""
    return Took(time.perf_counter(), time.process_time())


def since(start: Took, end: Took | None = None) -> Took:
    """Return the time from one point until another, by default until now."""
    end = end or now()
    return Took(end.seconds - start.seconds, end.cpu_seconds - start.cpu_seconds)


@dataclass
class Clock:
    """Measure the time of a training run from the loaded encoder to the specialised one, as its listener."""

    _begun: Took | None = None
    _over: Took | None = None

    def __call__(self, status: Status) -> None:
        """Receive a status of the run."""
        if self._begun is None and status.phase not in ("", "loading"):
            self._begun = now()
        if self._over is None and status.phase in ("evaluating", "saving"):
            self._over = now()

    @property
    def took(self) -> Took:
        """The time of the training; zero until it has ended."""
        return Took() if self._begun is None or self._over is None else since(self._begun, self._over)


@dataclass
class Pace:
    """Measure the time of training steps, as a listener to training's records.

    The first step, which includes reading the texts, and the evaluation after an epoch do not count.
    """

    steps: int = 0  # that were timed
    seconds: float = 0.0  # their wall-clock time
    cpu_seconds: float = 0.0  # their CPU time
    _last: Took | None = field(default=None, repr=False)

    def __call__(self, record: Record) -> None:
        """Receive the record of a step or an epoch."""
        moment = now()
        if record.is_step and self._last is not None:
            took = since(self._last, moment)
            self.steps, self.seconds = self.steps + 1, self.seconds + took.seconds
            self.cpu_seconds += took.cpu_seconds
        self._last = moment

    def speed(self, batch: int) -> dict[str, float]:
        """Return pairs a second of wall-clock time and of CPU time; empty without a second step."""
        if not self.steps or not self.seconds or not self.cpu_seconds:
            return {}
        pairs = self.steps * batch
        return {"seconds": pairs / self.seconds, "cpu_seconds": pairs / self.cpu_seconds}


@contextmanager
def peak_memory() -> Iterator[Callable[[], float]]:
    """Watch this process's resident memory from a thread; yield a function that returns the peak so far in MiB."""
    process, over, lock = psutil.Process(), threading.Event(), threading.Lock()
    most = 0

    def look() -> float:
        nonlocal most
        with lock:  # called by the thread and by the caller
            most = max(most, process.memory_info().rss)
            return most / 2**20

    def watch() -> None:
        while not over.wait(_INTERVAL_S):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield look
    finally:
        over.set()
        thread.join()


def gpu_megabytes() -> float:
    """Return the peak of the GPU memory that torch allocated in this process, in MiB; 0 without a GPU."""
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_initialized() else 0.0
