"""The checkpoint that a stopped run goes on from: one file, complete or absent."""

import pickle
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from emu_core.errors import RunError
from emu_core.files import whole_file

COST = 50  # writing takes at most this part of the time
State = dict[str, Any]
"""Tensors, numbers, texts, and lists and dictionaries of these: what `torch.load(weights_only=True)` reads."""


class Place(NamedTuple):
    """How far training was when a checkpoint was written.

    Attributes:
        epoch: in which it was, from 1; 0 where there is no checkpoint.
        step: steps done.
    """

    epoch: int = 0
    step: int = 0


@dataclass
class Checkpoint:
    """When and where a training run's state is written.

    Attributes:
        path: the file.
        every_s: seconds between two writes, more where a write takes long; 0 writes after each step.
    """

    path: Path
    every_s: float = 30.0

    def __post_init__(self) -> None:
        """Set the time of the first write."""
        self._next = time.monotonic() + self.every_s

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._next

    @property
    def outdated(self) -> bool:
        """Whether the run began with a version of this library whose checkpoints this one does not read."""
        return self.path.with_suffix(".safetensors").exists()

    def write(self, state: State, place: Place) -> None:
        """Replace the file by a state and its place."""
        began = time.monotonic()
        self.path.parent.mkdir(exist_ok=True)
        with whole_file(self.path) as partial:
            torch.save({"place": tuple(place), "state": state}, partial)
        now = time.monotonic()
        self._next = now + (max(self.every_s, COST * (now - began)) if self.every_s else 0)

    def place(self) -> Place:
        """Return the place written last; the start where there is none. Raises RunError: the file is damaged."""
        written = self._load(mmap=True)
        return Place() if written is None else Place(*written["place"])

    def read(self) -> State | None:
        """Return the state written last, on the CPU, if there is one. Raises RunError: the file is damaged."""
        written = self._load(mmap=False)
        return None if written is None else written["state"]

    def _load(self, *, mmap: bool) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        try:
            written = torch.load(self.path, map_location="cpu", weights_only=True, mmap=mmap)
            return {"place": written["place"], "state": written["state"]}
        except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, LookupError, TypeError, ValueError):
            raise RunError(f"{self.path} is damaged; delete it, and training starts again") from None
