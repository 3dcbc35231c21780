"""A run that trains, as far as its folder shows: its status, and a frame of held-out sentences for each epoch."""

import os
from pathlib import Path

import numpy as np

from emu_core.runs.run import RunState, Status
from emu_core.runs.snapshots import Snapshots
from emu_core.runs.stored_data import LabelledData
from tests.support.fake_runs import past
from tests.support.small import small_set

SENTENCES = 72  # held out


class LiveRun:
    """A run whose process is this one, and which learns an epoch when it is told to."""

    def __init__(self, root: Path, name: str = "moving") -> None:
        status = Status(state=RunState.RUNNING, pid=os.getpid(), phase="training", steps=9)
        self.run = past(root, name, status)
        self._snapshots: Snapshots | None = None

    def learn(self, epoch: int) -> None:
        """Store an epoch's frame; 0 is before the first."""
        if self._snapshots is None:
            self._snapshots = Snapshots(self.run, LabelledData(small_set(("en", "de"))))
        rows = np.random.default_rng(epoch).normal(size=(SENTENCES, 6))
        self._snapshots.after_epoch(epoch, 5, lambda _: rows)

    def end(self, state: RunState) -> None:
        """Stop, without a measure."""
        if state is RunState.FINISHED:
            self.run.write("metrics.json", {"note": "nothing measured", "warnings": []})
        self.run.write_status(Status(state=state))
