"""A cell of a benchmark: one system, trained on some languages or language pairs, with one seed."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from emu_core.data.labelled.pairs import Pair
from emu_core.evaluation.arrays import pair_name

PAPER = "paper"  # the variant of a cell that is trained with the paper's settings


@dataclass(frozen=True)
class Cell:
    """One system to train and measure."""

    system: str
    on: tuple[str, ...] = ()  # languages whose labels it is trained on, or pairs such as "en-de"; or none
    seed: int = 0
    variant: str = ""  # distinguishes cells of one system, for example by learning rate

    @property
    def key(self) -> str:
        """The stem of the cell's file name, safe for any language codes that a user wrote."""
        on = "+".join(self.on)
        if not re.fullmatch(r"[a-z0-9+-]{0,60}", on):
            on = "x" + hashlib.sha256("\0".join(self.on).encode()).hexdigest()[:12]
        return ".".join(part for part in (self.system, self.variant, on, f"s{self.seed}") if part)

    @property
    def label(self) -> str:
        """The name shown while the cell runs."""
        if not self.on:
            return f"{self.system} encoder"
        variant = f" ({self.variant} learning rate)" if self.variant else ""
        if self.variant == PAPER:
            variant = " (the paper's settings)"
        return f"{self.system.removeprefix('peer.')} on {', '.join(self.on)}{variant} seed {self.seed}"


def cells_of(systems: Iterable[str], on: Iterable[Sequence[str]], seeds: Sequence[int]) -> list[Cell]:
    """Return a cell for each system, each set of languages or pairs it is trained on, and each seed."""
    trained_on = [tuple(names) for names in on]
    return [Cell(system, names, seed) for system in systems for names in trained_on for seed in seeds]


def pair_names(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """Return names such as "en-de"."""
    return tuple(pair_name(*pair) for pair in pairs)


def both_ways(pairs: Iterable[Pair]) -> list[str]:
    """Return the directions "s-t" and "t-s" of each pair."""
    return [pair_name(*way) for pair in pairs for way in (pair, pair[::-1])]
