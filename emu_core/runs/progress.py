"""The progress of a run: status.json, the log, and a listener."""

import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from emu_core.errors import CancelledError, Message
from emu_core.files import write_whole
from emu_core.runs.log import LOG_FILE, Record, read_log
from emu_core.runs.run import Run, RunState, Status

OnProgress = Callable[[Status], None]
OnRecord = Callable[[Record], None]
STATUS_INTERVAL_S = 0.25  # between two writes of the status; a step may take milliseconds


class Progress:
    """The writer of a run's status and log, in the one of several processes that `writes`.

    `listener` is called with every status, and the records since the last.
    """

    def __init__(self, run: Run, listener: OnProgress | None, *, writes: bool = True) -> None:
        """Mark the run as running."""
        self._run, self._listener, self._writes = run, listener, writes
        self._interrupted = False
        self._earlier = Earlier()
        self._told_later: list[Record] = []
        self._pace = Pace()
        self.status = Status()
        self._change(state=RunState.RUNNING, started_at=time.time(), pid=os.getpid())

    def phase(self, name: str) -> None:
        """Begin a phase. Raises CancelledError if the run was asked to stop."""
        self._stop_if_asked()
        self._pace = Pace()
        self._change(phase=name, done=0.0, phase_since=time.time(), sentences_per_s=0.0)

    def part(self, name: str) -> None:
        """Begin a part of a joined encoder; "" after the last."""
        self._change(when=False, part=name, step=0, steps=0, epoch=0, epochs=0)

    def counted(self, done: int, total: int) -> None:
        """Report how many of a phase's sentences are encoded. Raises CancelledError if the run was asked to stop."""
        self._stop_if_asked()
        self._change(when=self._due, done=done / total, sentences_per_s=self._pace.at(done))

    def measured(self, done: int, total: int) -> None:
        """Report how many evaluation sentences are encoded; does nothing in other phases."""
        if self.status.phase in ("loading", "evaluating"):
            self.counted(done, total)

    @contextmanager
    def training(self, steps: int, epochs: int, *, epoch: int = 0, step: int = 0) -> Iterator[OnRecord]:
        """Begin or resume training; yield the function that logs a step or an epoch.

        Training of at most `steps` and `epochs` begins or resumes in `epoch` (0 for the first), after `step` steps.
        Records of later steps are dropped from the log: these are repeated.
        """
        before = 0.0
        if self._writes:
            self._earlier, before = _forget_after(self._run.folder / LOG_FILE, self.status.part, epoch, step)
        self._change(when=False, steps=steps, step=step, epochs=epochs, training_since=time.time() - before)
        self.phase("training")
        if not self._writes:
            yield lambda record: None
            return
        with self._interruptible(), (self._run.folder / LOG_FILE).open("a", encoding="utf-8") as log:
            yield lambda record: self._record(record, log)

    def _stop_if_asked(self) -> None:
        if self.cancel_asked:
            raise CancelledError("cancelled before the end")

    @property
    def cancel_asked(self) -> bool:
        """Whether the run was asked to stop, by `Run.cancel` or from the keyboard while it trained."""
        return self._interrupted or self._run.cancel_asked

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C or SIGTERM stop the run after the current step; a second signal stops it at once."""
        before: dict[int, Any] = {}

        def ask(number: int, frame: FrameType | None) -> None:
            self._interrupted = True
            signal.signal(number, before[number])

        if threading.current_thread() is threading.main_thread():
            before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
            before = {number: handler for number, handler in before.items() if callable(handler)}
        for number in before:
            signal.signal(number, ask)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @property
    def seconds(self) -> float:
        """Seconds since the run began, including the training before it was resumed."""
        training_since = self.status.training_since - self._earlier.seconds
        return time.time() - min(
            self.status.started_at, training_since if self.status.training_since else math.inf
        )

    def _record(self, record: Record, log: TextIO) -> None:
        earlier, step, epoch = self._earlier, record.step, record.epoch
        record = replace(
            record,
            part=self.status.part,
            step=earlier.steps + step,
            epoch=earlier.epochs + epoch,
            seconds=round(earlier.seconds + time.time() - self.status.training_since, 3),
        )
        log.write(json.dumps(record.values()) + "\n")
        if self._listener is not None:
            self._told_later.append(record)
        if due := self._due:
            log.flush()
        pace = self._pace.at(self._pace.count + record.sentences) if record.is_step else self._pace.per_s
        self._change(when=due, step=step, epoch=epoch, sentences_per_s=pace)

    @property
    def _due(self) -> bool:
        """Whether it is time for another status, also where the clock was set back since the last."""
        return abs(time.time() - self.status.updated_at) >= STATUS_INTERVAL_S

    def end(self, state: RunState, message: Message) -> None:
        """Write the last status."""
        self._change(state=state, message=message)

    def _change(self, *, when: bool = True, **values: Any) -> None:
        """Change the status; where `when` is true, write it and tell the listener."""
        self.status = replace(self.status, **values)
        if when and self._writes:
            self.status = self._run.write_status(self.status)
            if self._listener is not None:
                records, self._told_later = tuple(self._told_later), []
                self._listener(replace(self.status, records=records))


@dataclass
class Pace:
    """How many sentences a second a phase reads.

    Those before the first report don't count: until then, the encoder was loaded and the sentences were read.

    Attributes:
        count: the sentences so far.
        per_s: at the last report; 0 before the second.
    """

    count: int = 0
    per_s: float = 0.0
    _first: tuple[float, int] | None = None  # when the first report came, and its count

    def at(self, count: int) -> float:
        """Report the sentences so far, and return the pace; with fewer than before, the count begins again."""
        now = time.time()
        if self._first is None or count < self.count:
            self._first = now, count
        since, before = self._first
        self.count, self.per_s = count, (count - before) / (now - since) if now > since else 0.0
        return self.per_s


@dataclass(frozen=True)
class Earlier:
    """The training of the parts of a joined encoder before this one."""

    steps: int = 0
    epochs: int = 0
    seconds: float = 0.0


def _forget_after(log: Path, part: str, epoch: int, step: int) -> tuple[Earlier, float]:
    """Drop a part's records of steps after `step` and of epochs from `epoch` on.

    Returns:
        The training of the parts before, and the seconds of the part's remaining records.
    """
    records = read_log(log)
    before = [record for record in records if record.part != part]
    earlier = Earlier(
        max((record.step for record in before), default=0),
        max((record.epoch for record in before), default=0),
        max((record.seconds for record in before), default=0.0),
    )
    kept = [
        record
        for record in records
        if record.part == part
        and (record.step <= earlier.steps + step if record.is_step else record.epoch < earlier.epochs + epoch)
    ]
    write_whole(log, "".join(json.dumps(record.values()) + "\n" for record in (*before, *kept)))
    return earlier, max((record.seconds - earlier.seconds for record in kept), default=0.0)
