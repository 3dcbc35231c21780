"""Which cells the tables are made of, each once."""

from collections.abc import Sequence

from emu_core.bench.dual_encoder.systems import System
from emu_core.bench.pretrained.cells import Pair, PretrainedCell


def dual_plan(
    systems: Sequence[System], pairs: Sequence[Pair], seeds: Sequence[int]
) -> tuple[PretrainedCell, ...]:
    """Every cell, the plain sum of words of the first pair first: as in the paper, a model a language pair."""
    return tuple(
        PretrainedCell(system, (pair,), seed) for system in systems for pair in pairs for seed in seeds
    )
