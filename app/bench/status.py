"""Where a benchmark stands, read from its folder alone: no server needs to have watched it."""

import re
from dataclasses import dataclass
from pathlib import Path

from app.bench.folder import Bench
from app.jobs import last_line
from app.wording import time_span
from emu_core.runs.run import RunState

_LINE = re.compile(r"(?P<cell>.*): (?P<done>\d+) of (?P<total>\d+) cells are done")
_ENDS = 64 * 1024  # bytes of the log's beginning and end that are looked at


@dataclass(frozen=True)
class BenchStatus:
    """Where a benchmark stands.

    Attributes:
        state: never QUEUED.
        cell: the cell that runs, or ran last.
        done: finished cells, of `total`.
        total: cells in all; 0 until known.
        begun_with: cells that were finished when the process began.
        seconds: since the process began, up to the last finished cell.
        message: why it failed.
    """

    state: RunState
    cell: str = ""
    done: int = 0
    total: int = 0
    begun_with: int = 0
    seconds: float = 0.0
    message: str = ""

    @property
    def progress(self) -> float:
        """Share of the cells done, 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the pace since the process began; None where there is no pace yet."""
        own = self.done - self.begun_with
        if (
            self.state is not RunState.RUNNING or own < 2
        ):  # the base encoder alone, which trains nothing, is no pace
            return None
        return self.seconds / own * (self.total - self.done)

    @property
    def line(self) -> str:
        """Which cell runs, and how far all are, in words; not yet made literal."""
        if not self.total:
            return "Starting ..."
        line = f"{self.cell}: {self.done} of {self.total} cells are done"
        left = self.seconds_left
        return line if left is None else f"{line}, about {time_span(left)} left"


def status_of(bench: Bench) -> BenchStatus:
    """Return where a benchmark stands. A process that is there comes first, then the report, then what was said."""
    state, message = _state(bench)
    first, last = _lines(bench.log)
    if first is None or last is None:
        return BenchStatus(state, message=message)
    return BenchStatus(
        state,
        cell=last["cell"],
        done=int(last["done"]),
        total=int(last["total"]),
        begun_with=int(first["done"]),
        seconds=max(0.0, _changed_at(bench.log) - bench.started_at),
        message=message,
    )


def _state(bench: Bench) -> tuple[RunState, str]:
    """The state, and why it failed if it did."""
    running, began = bench.is_running, bench.started_at
    if running:
        return RunState.RUNNING, ""
    if began and _changed_at(bench.out / "report.html") >= began:  # written last, when all else is there
        return RunState.FINISHED, ""
    if bench.cancel_asked:
        return RunState.CANCELLED, ""
    said = last_line(bench.log)
    if not said or said.startswith("stopped") or _LINE.fullmatch(said):
        return RunState.INTERRUPTED, ""
    return RunState.FAILED, said


def _lines(log: Path) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """The first and the last line of progress of the process that wrote the log."""
    try:
        with log.open("rb") as file:
            head = file.read(_ENDS)
            file.seek(max(0, log.stat().st_size - _ENDS))
            tail = file.read()
    except OSError:
        return None, None
    first, last = (
        [found for line in part.decode("utf-8", "replace").splitlines() if (found := _LINE.fullmatch(line))]
        for part in (head, tail)
    )
    return (first[0], last[-1]) if first and last else (None, None)


def _changed_at(path: Path) -> float:
    """When a file was last written, unix seconds; 0 where there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
