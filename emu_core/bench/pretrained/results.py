"""The finished cells as the tables ask for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu_core.bench.outcome import measured
from emu_core.bench.pretrained.cells import Pair, PretrainedCell
from emu_core.bench.pretrained.result import PretrainedResult
from emu_core.bench.score import Score


@dataclass(frozen=True)
class PretrainedRow:
    """One system on some pairs over its seeds.

    Attributes:
        cells: its finished cells, a seed each; empty where none was measured.
        reason: why one is missing; empty where none is.
    """

    cells: tuple[PretrainedResult, ...]
    reason: str = ""

    def precision(self, measure: str, direction: str, n: int = 1) -> Score | None:
        """P@n of translation ranking; None where it was not measured."""
        found = [cell.ranks.get(measure, {}).get(direction) for cell in self.cells]
        there = [np.asarray(ranks <= n, dtype=np.float64) for ranks in found if ranks is not None]
        return Score.of(np.array(there)) if there else None

    def values(self, of: Any) -> list[float]:
        """A number a seed, of what `of` takes from a cell; without those that have None."""
        found = [of(cell) for cell in self.cells]
        return [float(value) for value in found if value is not None]


@dataclass(frozen=True)
class PretrainedResults:
    """All cells of a benchmark.

    Attributes:
        cells: what each measured.
        pairs: language pairs, in their order.
        seeds: of the cells.
    """

    cells: Mapping[PretrainedCell, PretrainedResult]
    pairs: tuple[Pair, ...]
    seeds: tuple[int, ...]

    def row(self, system: str, pairs: Sequence[Pair]) -> PretrainedRow:
        """A system trained on some pairs in one model, over its seeds."""
        asked = [PretrainedCell(system, tuple(pairs), seed) for seed in self.seeds]
        found = [self.cells[cell] for cell in asked if cell in self.cells]
        return PretrainedRow(*measured(found))

    def trained(self, systems: Sequence[str]) -> list[tuple[str, tuple[Pair, ...], PretrainedRow]]:
        """A row for each of these systems and what it was trained on, in the order of the systems."""
        on = list(dict.fromkeys((cell.system, cell.pairs) for cell in self.cells))
        return [
            (system, pairs, self.row(system, pairs))
            for one in systems
            for system, pairs in on
            if system == one
        ]


def score_of(values: Sequence[float]) -> Score | None:
    """The score of a percentage a seed; None where there is none."""
    return Score.of_shares(values) if values else None
