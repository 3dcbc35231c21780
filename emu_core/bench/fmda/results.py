"""The finished cells as the tables ask for them: scores over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.fmda.cells import FmdaCell, Pair, System
from emu_core.bench.fmda.result import FmdaResult
from emu_core.bench.rows import deviation, spread
from emu_core.evaluation.significance import mean_interval
from emu_core.models.parts import Part


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


@dataclass(frozen=True)
class FmdaRow:
    """One system on some pairs over its seeds.

    Attributes:
        cells: its finished cells, a seed each; empty where none was measured.
        reason: why one is missing; empty where none is.
    """

    cells: tuple[FmdaResult, ...]
    reason: str = ""

    def translations(self, part: Part, direction: str) -> NDArray[np.float64] | None:
        """Whether each query is right, (seeds, queries); None where it was not measured."""
        return _stacked([cell.translations.get(part, {}).get(direction) for cell in self.cells])

    def templates(self, part: Part, language: str) -> NDArray[np.float64] | None:
        """Whether each source's target is the nearest, (seeds, sources)."""
        return _stacked([cell.templates.get(part, {}).get(language) for cell in self.cells])

    def precisions(self, part: Part, language: str) -> NDArray[np.float64] | None:
        """Each source's average precision, (seeds, sources)."""
        return _stacked([cell.precisions.get(part, {}).get(language) for cell in self.cells])

    def probes(self, part: Part, pair: str, name: str) -> list[float]:
        """A field of `Leakage`, a number a seed."""
        found = [cell.probes.get(part, {}).get(pair) for cell in self.cells]
        return [float(facts[name]) for facts in found if facts is not None]


@dataclass(frozen=True)
class FmdaResults:
    """All cells of a benchmark.

    Attributes:
        cells: what each measured.
        pairs: language pairs, in their order.
        seeds: of the cells.
    """

    cells: Mapping[FmdaCell, FmdaResult]
    pairs: tuple[Pair, ...]
    seeds: tuple[int, ...]

    def row(self, system: System, pairs: Sequence[Pair]) -> FmdaRow:
        """A system trained on some pairs in one model, over its seeds; the frozen encoder is trained on none."""
        asked = (
            [FmdaCell(system)]
            if system is System.BASE
            else [FmdaCell(system, tuple(pairs), seed) for seed in self.seeds]
        )
        found = [self.cells[cell] for cell in asked if cell in self.cells]
        missing = [cell.not_measured for cell in found if cell.not_measured]
        whole = tuple(cell for cell in found if not cell.not_measured)
        return FmdaRow(whole, missing[0] if missing else "" if whole else "not asked for")


def _stacked(values: Sequence[NDArray[Any] | None]) -> NDArray[np.float64] | None:
    there = [value for value in values if value is not None]
    return np.array(there, dtype=np.float64) if there else None
