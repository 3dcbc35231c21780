"""Unlabelled sentences that also decide: where those that seem to be about an intent are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import rows_by_language
from emu_core.intents.kernel import KERNEL_TEMPERATURE
from emu_core.intents.space import Floats, as_stored, scaled

LEAST_SEEN = 3.0  # sentences about an intent with which its prototype counts half as much as with many


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The directions in which unlabelled sentences are that seem to be about each of k intents.

    With x a sentence without the mean of its language, scaled to length 1, and p its probability of an intent by all
    else that is known, the sum m = sum of p^2 x over the unlabelled sentences, and s the sum of p^2,

        log density(c; x) = s_c / (s_c + LEAST_SEEN) * x m_c / |m_c| / KERNEL_TEMPERATURE

    A sentence that is surely about an intent counts as one, and one that may as well be about another as a quarter.
    This is a step of self-training, whose classes are their means (as the soft k-means of Ren et al. 2018).

    Attributes:
        languages: L codes.
        means: (L, d), of the unlabelled sentences of each.
        sums: (L, k, d), m in each.
        counts: (L, k), s in each.
    """

    languages: tuple[str, ...]
    means: Floats
    sums: Floats
    counts: NDArray[np.float64]

    @classmethod
    def none(cls, intents: int, d: int) -> "Prototypes":
        """Return those of no unlabelled sentence."""
        empty = np.zeros((0, intents, d), dtype=np.float32)
        return cls((), empty[:, 0], empty, np.zeros((0, intents)))

    def met(
        self, evened: Mapping[str, Floats], probabilities: Mapping[str, NDArray[np.float64]]
    ) -> "Prototypes":
        """Return the prototypes with unlabelled sentences, instead of those of these languages that there were.

        Args:
            evened: by language, unit vectors (M, d) as `SentenceSpace.evened` returns them.
            probabilities: of each, (M, k).
        """
        kept = [row for row, code in enumerate(self.languages) if code not in evened]
        means, sums, counts = list(self.means[kept]), list(self.sums[kept]), list(self.counts[kept])
        for code, x in evened.items():
            means.append(as_stored(x.mean(axis=0)))
            share = np.square(probabilities[code])
            sums.append(as_stored(share.T @ scaled(x - means[-1])))
            counts.append(share.sum(axis=0))
        languages = (*(self.languages[row] for row in kept), *evened)
        return Prototypes(languages, np.stack(means), np.stack(sums), np.stack(counts)) if languages else self

    @cached_property
    def _steps(self) -> NDArray[np.float64]:
        """The directions (k, d), each as long as it counts."""
        counts, sums = self.counts.sum(axis=0)[:, None], self.sums.sum(axis=0, dtype=np.float64)
        return counts / (counts + LEAST_SEEN) * scaled(sums) / KERNEL_TEMPERATURE

    def log_densities(self, evened: NDArray[Any], languages: Sequence[str]) -> NDArray[np.float64]:
        """Return the logs of the densities (B, k), but for a constant, at vectors (B, d) in some languages (B,).

        They are 0 in a language of which no unlabelled sentence was met.
        """
        logs = np.zeros((len(evened), self.sums.shape[1]))
        for code, rows in rows_by_language(languages, len(evened)).items():
            if code in self.languages:
                mean = self.means[self.languages.index(code)]
                logs[rows] = scaled(evened[rows].astype(np.float64) - mean) @ self._steps.T
        return logs

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` takes beside the languages; nothing if no sentence was met."""
        if not self.languages:
            return {}
        return {
            "prototype_means": self.means.astype(np.float16),
            "prototype_sums": self.sums.astype(np.float16),
            "prototype_counts": self.counts,
        }

    @classmethod
    def from_arrays(
        cls, languages: Sequence[str], arrays: Mapping[str, NDArray[Any]], intents: int, d: int
    ) -> "Prototypes":
        """Return the prototypes whose `arrays` these are. Raises KeyError or ValueError for anything else."""
        if not languages:
            return cls.none(intents, d)
        means, sums, counts = (arrays[f"prototype_{name}"] for name in ("means", "sums", "counts"))
        are_whole = (
            all(isinstance(code, str) for code in languages)
            and means.shape == (len(languages), d)
            and sums.shape == (len(languages), intents, d)
            and counts.shape == (len(languages), intents)
            and all(of.dtype.kind == "f" and np.isfinite(of).all() for of in (means, sums, counts))
            and bool((counts >= 0).all())
        )
        if not are_whole:
            raise ValueError("no prototypes of intents")
        return cls(
            tuple(languages), means.astype(np.float32), sums.astype(np.float32), counts.astype(np.float64)
        )
