"""Cross-lingual semantic retrieval: is a sentence's translation its nearest neighbour (FMDA, section 4.3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import check_paired, codes, unit_vectors
from emu_core.evaluation.retrieval import nearest_rows


@dataclass(frozen=True, eq=False)
class TranslationRetrieval:
    """Acc@1 of N queries of one language among the N sentences of another.

    Attributes:
        correct: (N,) whether the query's nearest neighbour is its translation, or has its translation's text.
        nearest: (N,) row number of that neighbour.
    """

    correct: NDArray[np.bool_]
    nearest: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """Percent of queries that are right."""
        return 100 * float(self.correct.mean())


def translation_retrieval(
    queries: NDArray[np.floating], pool: NDArray[np.floating], pool_texts: Sequence[str] | None = None
) -> TranslationRetrieval:
    """Look for each sentence's translation among all of them by cosine, one way; swap the two for the other.

    Among rows whose cosines are equal (within 1e-6), the one that comes first is the nearest: an encoder that gives all
    sentences one vector has 1 of N right.

    Args:
        queries: (N, d); row i means what row i of the pool means.
        pool: (N, d).
        pool_texts: the pool's N sentences; a neighbour of the same text as the translation is then right too. None says
            that they all differ.

    Raises:
        DataError: a vector is zero or not finite, or the lengths differ.
    """
    check_paired(queries, pool)
    units, pool_units = unit_vectors(queries), unit_vectors(pool)
    every = np.arange(len(units))
    texts = every if pool_texts is None else codes(pool_texts, len(pool), "sentences of the pool")
    found, _ = nearest_rows(units, every, pool_units, np.full(len(pool), -1))  # nothing is left out
    nearest = found[:, 0]
    return TranslationRetrieval(texts[nearest] == texts, nearest)
