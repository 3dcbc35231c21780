"""How a run says where it is: status.json, the log, and whoever listens."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

from emu_core.errors import CancelledError
from emu_core.runs import Run, RunState, Status
from emu_core.trainers.loop import Record

OnProgress = Callable[[Status], None]
INTERVAL_S = 0.25  # a step may take milliseconds; nobody reads faster than this


class Progress:
    """Writes a run's status and log.

    Attributes:
        status: the last one written or to be written.
    """

    def __init__(self, run: Run, epochs: int, listener: OnProgress | None) -> None:
        """Mark the run as running."""
        now = time.time()
        self._run, self._listener = run, listener
        self.status = Status(state=RunState.RUNNING, epochs=epochs, started_at=now, pid=os.getpid())
        self._write()

    def phase(self, name: str) -> None:
        """Begin a phase; a run that was asked to cancel stops here."""
        if self._run.cancel_asked:
            raise CancelledError("cancelled before the end")
        self.status = replace(self.status, phase=name)
        self._write()

    def train(self, steps: int) -> None:
        """Begin training, of so many steps."""
        self.status = replace(self.status, steps=steps, training_since=time.time())
        self.phase("training")

    def record(self, record: Record, log: TextIO) -> None:
        """Log a step or an epoch."""
        seconds = round(time.time() - self.status.training_since, 3)
        log.write(json.dumps({**record, "seconds": seconds}) + "\n")
        self.status = replace(self.status, step=int(record["step"]), epoch=int(record["epoch"]))
        if time.time() - self.status.updated_at >= INTERVAL_S:
            log.flush()
            self._write()

    def end(self, state: RunState, message: str) -> None:
        """Write the last status."""
        self.status = replace(self.status, state=state, message=message)
        self._write()

    def _write(self) -> None:
        self.status = self._run.write_status(self.status)
        if self._listener is not None:
            self._listener(self.status)
