"""The columns of the tables: what is measured, on which cells, and what the paper calls it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.bench.fmda.cells import Pair, System
from emu_core.bench.fmda.results import FmdaResults, FmdaRow
from emu_core.bench.score import Score
from emu_core.evaluation.arrays import pair_name
from emu_core.models.parts import Part

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: such as "en-de", or "en (en-de)": English, of the model that is trained on en-de.
        pair: that the systems of the column are trained on.
        values: a row's (seeds, queries) values from 0 to 1 for an embedding; None where it has none.
    """

    name: str
    pair: Pair
    values: Callable[[FmdaRow, Part], Values | None]

    def of(self, results: FmdaResults, system: System, part: Part) -> Values | None:
        """A system's values, (seeds, queries)."""
        return self.values(results.row(system, [self.pair]), part)

    def score(self, results: FmdaResults, system: System, part: Part) -> Score | None:
        """A system's score."""
        values = self.of(results, system, part)
        return None if values is None else Score.of(values)


def translation_columns(pairs: tuple[Pair, ...]) -> list[Column]:
    """Cross-lingual retrieval, both ways of each pair."""
    return [
        Column(pair_name(*way), pair, _translations(pair_name(*way)))
        for pair in pairs
        for way in (pair, pair[::-1])
    ]


def template_columns(pairs: tuple[Pair, ...], *, five: bool = False) -> list[Column]:
    """Template retrieval: the first languages of the pairs, then the second ones."""
    return [
        Column(f"{pair[side]} ({pair_name(*pair)})", pair, _templates(pair[side], five=five))
        for side in (0, 1)
        for pair in pairs
    ]


def _translations(direction: str) -> Callable[[FmdaRow, Part], Values | None]:
    return lambda row, part: row.translations(part, direction)


def _templates(language: str, *, five: bool) -> Callable[[FmdaRow, Part], Values | None]:
    if five:
        return lambda row, part: row.precisions(part, language)
    return lambda row, part: row.templates(part, language)
