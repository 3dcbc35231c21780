"""The checkpoint that a stopped run goes on from: one file, complete or absent."""

import pickle
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from emu_core.errors import RunError

COST = 50  # writing takes at most this part of the time
State = dict[str, Any]
"""Tensors, numbers, texts, and lists and dictionaries of these: what `torch.load(weights_only=True)` reads."""


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

    def write(self, state: State, facts: Mapping[str, Any]) -> None:
        """Replace the file by this state and these facts, which `facts` reads without the state."""
        began = time.monotonic()
        self.path.parent.mkdir(exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}.part")
        torch.save({"facts": dict(facts), "state": state}, partial)
        partial.replace(self.path)
        now = time.monotonic()
        self._next = now + (max(self.every_s, COST * (now - began)) if self.every_s else 0)

    def facts(self) -> dict[str, Any]:
        """Return the facts written last; empty if there are none. Raises RunError: the file is damaged."""
        written = self._load(mmap=True)
        return {} if written is None else written[1]

    def read(self) -> tuple[State, dict[str, Any]] | None:
        """Return the state, on the CPU, and the facts written last, if any. Raises RunError: the file is damaged."""
        return self._load(mmap=False)

    def _load(self, *, mmap: bool) -> tuple[State, dict[str, Any]] | None:
        if not self.path.exists():
            return None
        try:
            written = torch.load(self.path, map_location="cpu", weights_only=True, mmap=mmap)
            return written["state"], written["facts"]
        except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, LookupError, TypeError, ValueError):
            raise RunError(f"{self.path} is damaged; delete it, and training starts again") from None
