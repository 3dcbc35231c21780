"""The kernel density of each intent's examples, which knows where intents bend as no regression does."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.retrieval import blocks
from emu_core.intents.whitening import class_means

KERNEL_TEMPERATURE = 0.05
_LEAST = 1e-20  # for an intent without an example
MANY, LARGE = 48, 4_096  # intents and examples, with more of which a density is computed for few intents
LIKELY = 16  # intents


@dataclass(frozen=True, eq=False)
class Kernel:
    """Examples (N, d), unit vectors sorted by their intents, of which `present` (m,) have some.

    density(c) = sum over j of intent c of exp(x a_j / temperature) / sqrt(n_c)
    """

    scaled: NDArray[np.float32]  # (N, d), the examples divided by the temperature
    means: NDArray[np.float32]  # (m, d), of these by intent
    present: NDArray[np.int64]
    starts: NDArray[np.int64]  # (m,) the first row of each intent
    intents: int  # k

    @classmethod
    def of(cls, x: NDArray[np.float32], classes: NDArray[np.int64], intents: int) -> "Kernel":
        """Sort unit vectors (N, d) by their classes (N,), from 0 to `intents` - 1."""
        order = np.argsort(classes, kind="stable")
        present, starts, numbers = np.unique(classes[order], return_index=True, return_inverse=True)
        scaled = x[order]
        scaled /= np.float32(KERNEL_TEMPERATURE)
        return cls(scaled, class_means(scaled, numbers).astype(np.float32), present, starts, intents)

    @property
    def ends(self) -> NDArray[np.int64]:
        """The row after the last one of each intent, (m,)."""
        return np.append(self.starts[1:], len(self.scaled))

    def log_densities(self, x: NDArray[Any], others: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log of each intent's density at unit vectors (B, d), (B, k).

        With more than `MANY` intents and `LARGE` examples, it is computed for those that can count: the
        `LIKELY` that are the most probable by all that is known, and those of which the kernel thinks most. The others
        keep a lower bound, their density if all their examples were in their mean (Jensen's inequality).

        Args:
            x: (B, d).
            others: (B, k), the log-probabilities of the intents by what else is known.
        """
        logs = np.full((len(x), self.intents), np.log(_LEAST))
        roots = np.sqrt(self.ends - self.starts)
        if len(self.present) <= MANY or len(self.scaled) <= LARGE:
            for block in blocks(len(x), len(self.scaled)):
                kernel = x[block] @ self.scaled.T
                # At most 1 / temperature, whose exponential float32 can hold.
                np.exp(kernel, out=kernel)
                sums = np.add.reduceat(kernel, self.starts, axis=1)
                logs[block, self.present] = np.log(sums / roots + _LEAST)
            return logs
        bounds = x @ self.means.T + np.log(roots)
        is_likely = _are_highest(bounds + others[:, self.present], LIKELY) | _are_highest(bounds, LIKELY // 2)
        logs[:, self.present] = bounds
        for number, (intent, start, end) in enumerate(zip(self.present, self.starts, self.ends, strict=True)):
            rows = np.flatnonzero(is_likely[:, number])
            sums = np.exp(x[rows] @ self.scaled[start:end].T).sum(axis=1)
            logs[rows, intent] = np.log(sums / roots[number] + _LEAST)
        return logs

    def log_density(self, x: NDArray[Any], intents: NDArray[Any]) -> NDArray[np.float64]:
        """Return the log of one intent's density at each unit vector (B, d), (B,), in float64."""
        densities = np.full(len(x), _LEAST)
        for intent, start, end in zip(self.present, self.starts, self.ends, strict=True):
            if len(rows := np.flatnonzero(intents == intent)):
                kernel = np.exp(x[rows] @ self.scaled[start:end].astype(np.float64).T)  # (rows, n_c)
                densities[rows] += kernel.sum(axis=1) / np.sqrt(end - start)
        logs: NDArray[np.float64] = np.log(densities)
        return logs


def _are_highest(scores: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return which numbers of each row (B, m) are its highest."""
    least = np.partition(scores, -count, axis=1)[:, -count, None]
    is_high: NDArray[np.bool_] = scores >= least
    return is_high
