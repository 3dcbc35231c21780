"""Template retrieval: is the sentence of the same template with other slot values near (FMDA, 4.3.2 and appendix A)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import codes, unit_vectors
from emu_core.evaluation.retrieval import BLOCK, TIE, ranks_before


@dataclass(frozen=True, eq=False)
class TemplateRetrieval:
    """Where N sources find their K targets each among the targets of all.

    Attributes:
        ranks: (N, K) places of each source's targets, from 1, ascending.
    """

    ranks: NDArray[np.int64]

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(N,) whether the nearest neighbour is one of the source's targets."""
        return self.ranks[:, 0] == 1

    @property
    def average_precision(self) -> NDArray[np.float64]:
        """(N,) AP = 1/K sum over k of k / rank_k, where rank_k is the k-th of the source's ranks; 0 to 1."""
        count = self.ranks.shape[1]
        return np.asarray((np.arange(1, count + 1) / self.ranks).mean(axis=1))

    @property
    def accuracy(self) -> float:
        """Acc@1 in percent."""
        return 100 * float(self.correct.mean())

    @property
    def mean_average_precision(self) -> float:
        """MAP in percent: the mean of the average precisions."""
        return 100 * float(self.average_precision.mean())


def template_retrieval(
    sources: NDArray[np.floating],
    targets: NDArray[np.floating],
    target_texts: Sequence[str] | None = None,
) -> TemplateRetrieval:
    """Rank each source's targets by cosine in the pool of all targets; no source is in the pool.

    The rank of a target is one more than the rows that have a higher cosine, and those of an equal one (within 1e-6)
    that come before it in the pool.

    Args:
        sources: (N, d).
        targets: (N * K, d): the K targets of the first source, then those of the second, and so on.
        target_texts: their N * K sentences; a sentence that is a target of several sources then stands in the pool
            once, where it comes first. None says that they all differ.

    Raises:
        DataError: a vector is zero or not finite, the targets are not as many for each source, a source has two
            targets of one text, or the lengths differ.
    """
    units, target_units = unit_vectors(sources), unit_vectors(targets)
    each, over = divmod(len(target_units), len(units))
    if over or not each or units.shape[1] != target_units.shape[1]:
        raise DataError(
            f"{target_units.shape[0]:,} targets of {target_units.shape[1]} dimensions can't be shared out to "
            f"{units.shape[0]:,} sources of {units.shape[1]}; give each source as many, by the same encoder"
        )
    texts = np.arange(len(target_units))
    if target_texts is not None:
        texts = codes(target_texts, len(target_units), "targets' sentences")
    # Numbers are given in the order of first sight, so that the first rows of the texts are the pool in its order.
    _, first = np.unique(texts, return_index=True)
    own = texts.reshape(len(units), each)  # (N, K), places in the pool
    if (np.diff(np.sort(own, axis=1), axis=1) == 0).any():
        raise DataError("a source has two targets of one text; give it different ones")
    return TemplateRetrieval(_ranks(units, target_units[first], own))


def _ranks(
    units: NDArray[np.float32], pool: NDArray[np.float32], own: NDArray[np.int64]
) -> NDArray[np.int64]:
    each = own.shape[1]
    ranks = np.empty(own.shape, dtype=np.int64)
    step = max(1, BLOCK // len(pool))
    for start in range(0, len(units), step):
        block = slice(start, start + step)
        cosines = units[block] @ pool.T  # (step, P)
        for k in range(each):
            ranks[block, k] = 1 + ranks_before(cosines, own[block, k, None], TIE).sum(axis=1)
    ranks.sort(axis=1)
    # Equality within a tolerance can run in a chain, along which two targets would share a rank.
    return np.maximum(ranks, np.arange(1, each + 1))
