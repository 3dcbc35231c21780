"""The checkpoint from which a stopped run resumes: one file, complete or absent."""

import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from emu_core.errors import RunError
from emu_core.files import whole_file

COST = 50  # writing takes at most 1 / COST of the time
CheckpointState = dict[str, Any]
"""Tensors, numbers, strings, and lists and dictionaries of these, as `torch.load(weights_only=True)` reads them."""


class CheckpointPosition(NamedTuple):
    """How far training was when a checkpoint was written."""

    epoch: int = 0  # the current one, from 1; 0 without a checkpoint
    step: int = 0  # steps done


@dataclass
class Checkpoint:
    """The file that a training run's state is written to, at intervals."""

    path: Path
    every_s: float = 30.0  # between two writes, or more where writing takes long; 0 writes after each step

    def __post_init__(self) -> None:
        self._next = time.monotonic() + self.every_s

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._next

    def write(self, state: CheckpointState, position: CheckpointPosition) -> None:
        """Replace the file with a state and its position."""
        began = time.monotonic()
        self.path.parent.mkdir(exist_ok=True)
        with whole_file(self.path) as partial:
            torch.save({"position": tuple(position), "state": state}, partial)
        now = time.monotonic()
        self._next = now + (max(self.every_s, COST * (now - began)) if self.every_s else 0)

    def position(self) -> CheckpointPosition:
        """Return the last position written, or the start. Raises RunError if the file is damaged."""
        written = self._load(mmap=True)
        return CheckpointPosition() if written is None else CheckpointPosition(*written["position"])

    def read(self) -> CheckpointState | None:
        """Return the last state written, on the CPU, or None. Raises RunError if the file is damaged."""
        written = self._load(mmap=False)
        return None if written is None else written["state"]

    def _load(self, *, mmap: bool) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            written = torch.load(self.path, map_location="cpu", weights_only=True, mmap=mmap)
            return {"position": written["position"], "state": written["state"]}
        except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, LookupError, TypeError, ValueError):
            raise self.damaged() from None

    def damaged(self) -> RunError:
        """Return the error for a file that does not hold the state of its run."""
        return RunError(f"{self.path} is damaged; delete it to start training again")
