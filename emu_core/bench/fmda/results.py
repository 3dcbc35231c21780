"""The finished cells as the tables ask for them: scores over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.fmda.cells import FmdaCell, Pair, System
from emu_core.bench.fmda.result import FmdaResult
from emu_core.bench.outcome import measured
from emu_core.models.parts import Part


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
        return FmdaRow(*measured(found))


def _stacked(values: Sequence[NDArray[Any] | None]) -> NDArray[np.float64] | None:
    there = [value for value in values if value is not None]
    return np.array(there, dtype=np.float64) if there else None
