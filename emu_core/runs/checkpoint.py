"""What a killed run goes on from: one safetensors file that stands whole or not at all."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from emu_core.errors import RunError

Tensors = dict[str, Tensor]
COST = 50  # writing takes at most this part of the time


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
        """The first write is `every_s` from now."""
        self._next = time.monotonic() + self.every_s

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._next

    def write(self, tensors: Tensors, facts: Mapping[str, Any]) -> None:
        """Replace the file by these tensors and facts (JSON)."""
        began = time.monotonic()
        self.path.parent.mkdir(exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}.part")
        on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(on_cpu, partial, metadata={"facts": json.dumps(facts)})
        partial.replace(self.path)
        now = time.monotonic()
        self._next = now + (max(self.every_s, COST * (now - began)) if self.every_s else 0)

    def facts(self) -> dict[str, Any]:
        """The facts written last; empty where nothing was. Raises RunError: the file is not one of ours."""
        written = self._open(with_tensors=False)
        return {} if written is None else written[1]

    def read(self) -> tuple[Tensors, dict[str, Any]] | None:
        """What was written last; None where nothing was. Raises RunError: the file is not one of ours."""
        return self._open(with_tensors=True)

    def _open(self, *, with_tensors: bool) -> tuple[Tensors, dict[str, Any]] | None:
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                facts = json.loads(file.metadata()["facts"])
                names = file.keys() if with_tensors else []
                return {name: file.get_tensor(name) for name in names}, facts
        except (SafetensorError, KeyError, TypeError, ValueError, OSError):
            raise RunError(
                f"{self.path} is damaged; delete it, and the run is trained from its start"
            ) from None
