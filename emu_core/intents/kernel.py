"""The kernel density of each intent's examples, which knows where intents bend as no regression does."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

KERNEL_TEMPERATURE = 0.05
_LEAST = 1e-20  # for an intent without an example


@dataclass(frozen=True, eq=False)
class Kernel:
    """Examples (N, d), unit vectors sorted by their intents, of which `present` (m,) have some.

    density(c) = sum over j of intent c of exp(x a_j / temperature) / sqrt(n_c)
    """

    scaled: NDArray[np.float32]  # (N, d), the examples divided by the temperature
    present: NDArray[np.int64]
    starts: NDArray[np.int64]  # (m,) the first row of each intent
    intents: int  # k

    @classmethod
    def of(cls, x: NDArray[np.float32], classes: NDArray[np.int64], intents: int) -> "Kernel":
        """Sort unit vectors (N, d) by their classes (N,), from 0 to `intents` - 1."""
        order = np.argsort(classes, kind="stable")
        present, starts = np.unique(classes[order], return_index=True)
        scaled = x[order]
        scaled /= np.float32(KERNEL_TEMPERATURE)
        return cls(scaled, present, starts, intents)

    def log_densities(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the log of each intent's density at unit vectors (B, d), (B, k)."""
        kernel = x @ self.scaled.T  # (B, N), at most 1 / temperature, whose exponential float32 can hold
        np.exp(kernel, out=kernel)
        counts = np.diff(np.append(self.starts, len(self.scaled)))
        densities = np.full((len(x), self.intents), _LEAST)
        densities[:, self.present] += np.add.reduceat(kernel, self.starts, axis=1) / np.sqrt(counts)
        logs: NDArray[np.float64] = np.log(densities)
        return logs

    def log_density(self, x: NDArray[Any], intents: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log of one intent's density at each unit vector (B, d), (B,), in float64."""
        densities, ends = np.full(len(x), _LEAST), np.append(self.starts[1:], len(self.scaled))
        for intent, start, end in zip(self.present, self.starts, ends, strict=True):
            if len(rows := np.flatnonzero(intents == intent)):
                kernel = np.exp(x[rows] @ self.scaled[start:end].astype(np.float64).T)  # (rows, n_c)
                densities[rows] += kernel.sum(axis=1) / np.sqrt(end - start)
        logs: NDArray[np.float64] = np.log(densities)
        return logs
