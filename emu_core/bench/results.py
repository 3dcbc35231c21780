"""The finished cells as the tables ask for them: by system and direction, over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.cells import BASE, Cell, Kind, Rate
from emu_core.bench.result import CellResult
from emu_core.evaluation.arrays import pair_name

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One system over its seeds.

    Attributes:
        cells: its finished cells, a seed each; empty where none was measured.
        reason: why there is none.
        asked: seeds that were asked for; 0 where that does not matter.
    """

    cells: tuple[CellResult, ...]
    reason: str = ""
    asked: int = 0

    def named(self, label: str) -> str:
        """Return the system's label, which says so where not every seed was measured."""
        if len(self.cells) >= self.asked:
            return label
        return f"{label} ({len(self.cells)} of {self.asked} seeds)"

    def accuracy(self, directions: Sequence[str]) -> FloatArray:
        """Acc@1 in percent, (seeds, directions)."""
        return np.array([[cell.accuracy(direction) for direction in directions] for cell in self.cells])

    @property
    def seconds(self) -> float:
        """Mean seconds of training."""
        return float(np.mean([cell.seconds for cell in self.cells]))

    @property
    def cpu_seconds(self) -> float:
        """Mean seconds that the threads computed in training."""
        return float(np.mean([cell.cpu_seconds for cell in self.cells]))

    @property
    def seconds_whole(self) -> float:
        """Mean seconds from loading to the last measure."""
        return float(np.mean([cell.seconds_whole for cell in self.cells]))

    @property
    def peak_mb(self) -> float:
        """The most memory of any seed."""
        return max(cell.peak_mb for cell in self.cells)

    def classified(self) -> dict[str, float]:
        """A classifier's accuracy by language of the sentence, in percent; empty where there is none."""
        return {
            language: float(np.mean([100 * cell.classified[language].mean() for cell in self.cells]))
            for language in (self.cells[0].classified if self.cells else {})
        }


@dataclass(frozen=True)
class Results:
    """All cells of a benchmark.

    Attributes:
        cells: what each measured.
        languages: measured, English first.
        train_languages: whose labels were used.
        seeds: of the cells.
    """

    cells: Mapping[Cell, CellResult]
    languages: tuple[str, ...]
    train_languages: tuple[str, ...]
    seeds: tuple[int, ...]

    @property
    def base(self) -> CellResult:
        """The base encoder."""
        return self.cells[BASE]

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions with the first training language on a side: 11 of 6 languages, in Table 2's order."""
        centre = self.train_languages[0]
        others = [code for code in self.languages if code != centre]
        pairs = [(centre, centre), *((centre, o) for o in others), *((o, centre) for o in others)]
        return tuple(pair_name(*pair) for pair in pairs)

    def base_accuracy(self, directions: Sequence[str]) -> FloatArray:
        """The base encoder's Acc@1 in percent, (directions,)."""
        return np.array([self.base.accuracy(direction) for direction in directions])

    def row(
        self,
        kind: Kind,
        name: str = "",
        train_languages: Sequence[str] | None = None,
        *,
        rate: Rate = Rate.NONE,
        seeds: Sequence[int] | None = None,
    ) -> Row:
        """A system over its seeds.

        Args:
            kind: what it is.
            name: the method's or the peer's.
            train_languages: None takes the benchmark's.
            rate: a tuned peer's learning rate.
            seeds: None takes the benchmark's.
        """
        languages = tuple(self.train_languages if train_languages is None else train_languages)
        asked = [Cell(kind, name, languages, seed, rate) for seed in (self.seeds if seeds is None else seeds)]
        found = [self.cells[cell] for cell in asked if cell in self.cells]
        missing = [cell.not_measured for cell in found if cell.not_measured]
        whole = tuple(cell for cell in found if not cell.not_measured)
        return Row(whole, missing[0] if missing else "" if whole else "not asked for", len(asked))
