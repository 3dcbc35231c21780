"""Which queries each system has right: the evidence behind the published figures, and differences of systems.

`benchmarks/results/outcomes` has an npz file for each data set. Its arrays are 0/1 vectors, eight answers a byte, by
part, encoder, system, seed and learning rate, and the numbers of the sentences that are asked. A sentence and its
translations have one number, so that a bootstrap can draw them together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.significance import BOOTSTRAP_DRAWS, Difference, paired_bootstrap

FOLDER = Path(__file__).parent / "results" / "outcomes"
Right = Mapping[str, NDArray[np.bool_]]  # whether each query is right, by direction "s-t" or language "s"
_SEP = "|"


class Measured(NamedTuple):
    """A system that was measured on a part of a set."""

    part: str  # such as "dev", or "new 3"
    encoder: str
    system: str
    seed: int = 0
    rate: str = ""  # whose learning rate, of a peer that is trained: "theirs" or "ours"
    measure: str = "nearest"  # nearest neighbour, or the system's own classifier


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of a data set.

    Attributes:
        path: the file.
        sentences: the number of each query's sentence, by part and language.
        bits: the answers of each system, all directions after each other, in alphabetical order.
    """

    path: Path
    sentences: dict[tuple[str, str], NDArray[np.int32]] = field(default_factory=dict)
    bits: dict[Measured, tuple[tuple[str, ...], NDArray[np.uint8]]] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, folder: Path = FOLDER) -> Self:
        """Read the outcomes of a data set; there are none without a file."""
        outcomes = cls(folder / f"{name}.npz")
        if outcomes.path.exists():
            with np.load(outcomes.path) as arrays:
                for key in arrays.files:
                    kind, *names = key.split(_SEP)
                    if kind == "sentences":
                        outcomes.sentences[names[0], names[1]] = arrays[key]
                    else:
                        part, encoder, system, seed, rate, measure, ways = names
                        measured = Measured(part, encoder, system, int(seed), rate, measure)
                        outcomes.bits[measured] = tuple(ways.split()), arrays[key]
        return outcomes

    def write(self) -> None:
        """Write the file whole, with what another measurement has added to it meanwhile."""
        there = Outcomes.read(self.path.stem, self.path.parent)
        self.sentences.update(
            {key: value for key, value in there.sentences.items() if key not in self.sentences}
        )
        self.bits.update({key: value for key, value in there.bits.items() if key not in self.bits})
        arrays: dict[str, NDArray[np.generic]] = {
            _SEP.join(("sentences", *key)): numbers for key, numbers in sorted(self.sentences.items())
        }
        for measured, (ways, bits) in sorted(self.bits.items()):
            arrays[_SEP.join(("right", *map(str, measured), " ".join(ways)))] = bits
        self.path.parent.mkdir(exist_ok=True)
        partial = self.path.with_suffix(".part.npz")
        np.savez_compressed(partial, **arrays)  # type: ignore[arg-type]
        partial.replace(self.path)

    def ask(self, part: str, languages: NDArray[np.str_], numbers: NDArray[np.integer]) -> None:
        """Note which sentences a part asks: the language and the number of each row, in their order."""
        for language in np.unique(languages).tolist():
            self.sentences[part, language] = numbers[languages == language].astype(np.int32)

    def add(self, measured: Measured, right: Right) -> None:
        """Add a system's answers."""
        ways = tuple(sorted(right))
        for way in ways:
            asked = self.sentences[measured.part, way.partition("-")[0]]
            if len(asked) != len(right[way]):
                raise ValueError(f"{len(right[way])} answers to {len(asked)} queries: {measured}, {way}")
        self.bits[measured] = ways, np.packbits(np.concatenate([right[way] for way in ways]))

    def right(self, measured: Measured) -> dict[str, NDArray[np.bool_]]:
        """Return a system's answers by direction. Raises KeyError if it was not measured."""
        ways, bits = self.bits[measured]
        lengths = [len(self.sentences[measured.part, way.partition("-")[0]]) for way in ways]
        answers = np.unpackbits(bits, count=sum(lengths)).astype(bool)
        return dict(zip(ways, np.split(answers, np.cumsum(lengths)[:-1]), strict=True))

    def seeds(self, measured: Measured) -> list[Measured]:
        """Return what is like this but for the seed."""
        alike = (one for one in self.bits if (one.part, one.system) == (measured.part, measured.system))
        return sorted(one for one in alike if one._replace(seed=measured.seed) == measured)

    def parts(self, prefix: str) -> list[str]:
        """Return the parts whose name begins so, in the order of their numbers."""
        found = {part for part, _ in self.sentences if part.startswith(prefix)}
        return sorted(found, key=lambda part: (len(part), part))

    def accuracies(self, measured: Measured, parts: Iterable[str]) -> NDArray[np.float64]:
        """Return the accuracy in percent of each seed, a mean over directions and parts. Raises KeyError if missing."""
        per_part = []
        for part in parts:
            seeds = self.seeds(measured._replace(part=part))
            if not seeds:
                raise KeyError(measured._replace(part=part))
            per_part.append([np.mean([way.mean() for way in self.right(one).values()]) for one in seeds])
        return 100 * np.mean(per_part, axis=0)

    def difference(
        self, one: Measured, other: Measured, parts: Sequence[str], confidence: float = 0.95
    ) -> Difference:
        """Return the points by which one system leads another, with the interval of a bootstrap over sentences.

        The pool stays as it is, and answers are means over seeds: the interval covers neither other pools nor seeds. A
        classifier, which has no pool, is compared with answers from a pool in one language by the queries' language.
        """
        differences, sentences = [], []
        for part in parts:
            ours, theirs = (self._mean_answers(measured._replace(part=part)) for measured in (one, other))
            if one.measure != other.measure:
                ours, theirs = (
                    {way.partition("-")[0]: right for way, right in answers.items()}
                    for answers in (ours, theirs)
                )
            if set(ours) != set(theirs):
                raise ValueError(f"{one} and {other} have other directions")
            for way in sorted(ours):
                differences.append(ours[way] - theirs[way])
                sentences.append(self.sentences[part, way.partition("-")[0]])
        draws = max(BOOTSTRAP_DRAWS, round(20 / (1 - confidence)))  # some draws beyond each end
        return paired_bootstrap(differences, sentences, confidence, draws)

    def _mean_answers(self, measured: Measured) -> dict[str, NDArray[np.float64]]:
        """Return the mean of each answer over the seeds, by direction."""
        answers = [self.right(one) for one in self.seeds(measured)]
        if not answers:
            raise KeyError(measured)
        return {way: np.mean([right[way] for right in answers], axis=0) for way in answers[0]}


@cache
def outcomes_of(name: str) -> Outcomes:
    """Return the committed outcomes of a data set, read once."""
    return Outcomes.read(name)
