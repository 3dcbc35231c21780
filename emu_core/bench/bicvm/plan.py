"""Which cells the tables are made of, each once."""

from collections.abc import Sequence

from emu_core.bench.bicvm.systems import System
from emu_core.bench.pretrained.cells import Pair, PretrainedCell


def bicvm_plan(pairs: Sequence[Pair], seeds: Sequence[int], *, documents: bool) -> tuple[PretrainedCell, ...]:
    """Every cell, the plain sum of words of the first pair first.

    Args:
        pairs: language pairs; two or more are trained one by one (BiCVM) and together (BiCVM+).
        seeds: a cell each.
        documents: whether documents are classified, which is all that glosses are for.
    """
    systems = [System.SUM_OF_WORDS, *([System.GLOSSED] if documents else []), System.PAPER, System.OURS]
    cells = [PretrainedCell(system, (pair,), seed) for system in systems for pair in pairs for seed in seeds]
    cells += [PretrainedCell(System.OURS_BIGRAM, (pairs[0],), seed) for seed in seeds]
    if len(pairs) > 1:
        together = (System.SUM_OF_WORDS, System.PAPER, System.OURS)
        cells += [PretrainedCell(system, tuple(pairs), seed) for system in together for seed in seeds]
    return tuple(cells)
