"""How much memory a process takes at most."""

import threading
from types import TracebackType
from typing import Self

import psutil

INTERVAL_S = 0.02
LEGEND = (
    "Peak memory is the most resident memory of the cell's own process from its start until the test sentences were "
    "measured: Python and its libraries, the encoder's weights, training and encoding; looked at every 20 ms."
)


class PeakMemory:
    """Watches this process's resident memory, from a thread, while it stands open."""

    def __init__(self) -> None:
        """Nothing is watched yet."""
        self._process = psutil.Process()
        self._most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop watching."""
        self._over.set()
        self._thread.join()
        self._look()

    @property
    def megabytes(self) -> float:
        """The most so far, in units of 2**20 bytes."""
        return self._most / 2**20

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL_S):
            self._look()

    def _look(self) -> None:
        self._most = max(self._most, self._process.memory_info().rss)


def gpu_megabytes() -> float:
    """Return the most memory of a GPU that torch held in this process, in megabytes; 0 where it held none."""
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**20, 1) if torch.cuda.is_initialized() else 0.0
