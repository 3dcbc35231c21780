"""Which cells the tables asked for are made of, each once."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from emu_core.bench.fmda.cells import ABLATION, BASE, FmdaCell, Pair, System


class FmdaPart(StrEnum):
    """A part of the report, by the paper's number."""

    TABLE_2 = "2"
    TABLE_3 = "3"
    TABLE_4 = "4"
    TABLE_5 = "5"
    TABLE_6 = "6"
    TABLE_9 = "9"
    PROBES = "probes"
    FIGURE_4 = "figure4"


def fmda_plan(parts: Iterable[FmdaPart], pairs: Sequence[Pair], seeds: Sequence[int]) -> tuple[FmdaCell, ...]:
    """Every cell that the parts need, each once, the frozen encoder first.

    Args:
        parts: the parts of the report.
        pairs: language pairs; the ablation and the figure are of the first, and several in one model need two.
        seeds: a cell each, of all that draws.
    """
    wanted = set(parts)
    cells = [BASE]
    if wanted & {FmdaPart.TABLE_2, FmdaPart.TABLE_3, FmdaPart.TABLE_6, FmdaPart.TABLE_9, FmdaPart.PROBES}:
        cells += _each((System.BASELINE, System.FMDA), pairs, seeds)
    if FmdaPart.TABLE_5 in wanted:
        cells += _each((System.FMDA, System.TWO_STAGE), pairs, seeds)
    if FmdaPart.TABLE_4 in wanted:
        cells += _each((System.BASELINE, System.FMDA, *ABLATION), pairs[:1], seeds)
    if FmdaPart.TABLE_9 in wanted and len(pairs) > 1:
        cells += [FmdaCell(System.FMDA, tuple(pairs), seed) for seed in seeds]
    if FmdaPart.FIGURE_4 in wanted:
        cells += _each((System.FMDA, System.TWO_STAGE), pairs[:1], seeds[:1])
    return tuple(dict.fromkeys(cells))


def _each(systems: Iterable[System], pairs: Iterable[Pair], seeds: Sequence[int]) -> list[FmdaCell]:
    pairs = list(pairs)
    return [FmdaCell(system, (pair,), seed) for system in systems for pair in pairs for seed in seeds]
