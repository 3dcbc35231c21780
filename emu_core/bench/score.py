"""A measure over seeds, as the tables show it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.rows import deviation, spread
from emu_core.evaluation.significance import mean_interval


@dataclass(frozen=True)
class Score:
    """A measure over seeds, in percent.

    Attributes:
        mean: over seeds.
        deviation: the standard deviation over seeds; 0 for one.
        low: lower end of the 95 % interval over the queries, each one's mean over seeds being one score; None where
            there are no queries.
        high: its upper end.
        seeds: how many there are.
        text: as people read it.
    """

    mean: float
    deviation: float
    low: float | None
    high: float | None
    seeds: int
    text: str

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "Score":
        """Make a score of (seeds, queries) values from 0 to 1."""
        means = 100 * values.mean(axis=1)
        interval = mean_interval(values.mean(axis=0))
        return cls(
            float(means.mean()),
            float(deviation(means)),
            interval.low,
            interval.high,
            len(values),
            spread(means),
        )

    @classmethod
    def of_shares(cls, percents: Sequence[float]) -> "Score":
        """Make a score of one percentage a seed."""
        means = np.asarray(percents, dtype=np.float64)
        return cls(float(means.mean()), float(deviation(means)), None, None, len(means), spread(means))

    def facts(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {name: value for name, value in asdict(self).items() if name != "text"}
