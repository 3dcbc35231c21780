"""How long something takes, by the clock and by what the processor did for this process."""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """A point in time.

    Attributes:
        clock: seconds of a clock that never goes back.
        cpu: seconds that all threads of this process have computed.
    """

    clock: float
    cpu: float


@dataclass(frozen=True)
class Took:
    """A span of time, in seconds.

    Attributes:
        seconds: by the clock.
        cpu_seconds: computed by all threads of this process: steadier than the clock on a busy machine.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0


def now() -> Moment:
    """Return this moment."""
    return Moment(time.perf_counter(), time.process_time())


def since(start: Moment, end: Moment | None = None) -> Took:
    """Return what has passed since a moment, until now or another."""
    end = end or now()
    return Took(end.clock - start.clock, end.cpu - start.cpu)
