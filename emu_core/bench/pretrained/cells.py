"""What the benchmarks are made of: one system, trained on some language pairs, with one seed."""

from dataclasses import dataclass

from emu_core.bench.cells import file_part
from emu_core.evaluation.arrays import pair_name

Pair = tuple[str, str]


@dataclass(frozen=True)
class PretrainedCell:
    """One system to train and measure.

    Attributes:
        system: a member of the benchmark's own list of systems.
        pairs: language pairs that it is trained on, all in one model.
        seed: of every draw.
    """

    system: str
    pairs: tuple[Pair, ...]
    seed: int = 0

    @property
    def key(self) -> str:
        """The name of the cell's file without its ending."""
        return f"{self.system}.{file_part(tuple(pair_name(*pair) for pair in self.pairs))}.s{self.seed}"

    @property
    def label(self) -> str:
        """What to call it while it runs."""
        return f"{self.system} on {pair_names(self.pairs)} seed {self.seed}"

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of its pairs, each once."""
        return tuple(dict.fromkeys(code for pair in self.pairs for code in pair))


def pair_names(pairs: tuple[Pair, ...]) -> str:
    """Such as "en-de, en-fr"."""
    return ", ".join(pair_name(*pair) for pair in pairs)
