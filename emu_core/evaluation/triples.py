"""Sentence triples: S1 and S3 mean the same, S2 only looks like S1 (Emu, Introduction)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu_core.data.cleaning import normalised
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, codes, id_keys, turns, unit_vectors
from emu_core.evaluation.retrieval import BLOCK, TIE

PAIRS = ((1, 2), (1, 3), (2, 3))


@dataclass(frozen=True)
class Triple:
    """The three cosines of S1, S2 and S3.

    Attributes:
        s12: cosine of S1 and S2.
        s13: cosine of S1 and S3.
        s23: cosine of S2 and S3.
        closest: the one of `PAIRS` with the highest cosine, of equals (within 1e-6) the first.
    """

    s12: float
    s13: float
    s23: float
    closest: tuple[int, int]

    @property
    def is_right(self) -> bool:
        """Whether S3, which means what S1 means, is nearer to S1 than S2, which looks like it."""
        return self.s13 > self.s12 + TIE

    @property
    def cosines(self) -> tuple[float, float, float]:
        """The three cosines, in the order of `PAIRS`."""
        return self.s12, self.s13, self.s23


def triple(vectors: Vectors) -> Triple:
    """Return the cosines of three sentences' vectors (3, d).

    Raises:
        DataError: there are not three, or one is zero or not finite.
    """
    units = unit_vectors(vectors)
    if len(units) != 3:
        raise DataError(f"a triple has 3 sentences, not {len(units)}; give S1, S2 and S3")
    cosines = [float(np.clip(units[i - 1] @ units[j - 1], -1, 1)) for i, j in PAIRS]
    closest = next(pair for pair, cosine in zip(PAIRS, cosines, strict=True) if cosine >= max(cosines) - TIE)
    s12, s13, s23 = cosines
    return Triple(s12, s13, s23, closest)


def triple_cosines(first: Vectors, second: Vectors, third: Vectors) -> NDArray[np.float64]:
    """Return the cosines (N, 3) of N triples, in the order of `PAIRS`, from the vectors (N, d) of S1, S2 and S3.

    An encoder is right where s13 > s12. Raises a DataError where a vector is zero or not finite.

    Examples:
        >>> import emu_core
        >>> texts = ["Where is the pool?", "Where is the bar?", "Can I swim here?"]
        >>> first, second, third = emu_core.load_encoder("use").encode(texts)[:, None]
        >>> emu_core.triple_cosines(first, second, third).shape
        (1, 3)
    """
    units = [unit_vectors(vectors).astype(np.float64) for vectors in (first, second, third)]
    return np.stack([(units[i - 1] * units[j - 1]).sum(axis=1) for i, j in PAIRS], axis=1).clip(-1, 1)


def suggest_triples(
    vectors: Vectors,
    intents: Sequence[str],
    texts: Sequence[str],
    languages: Sequence[str],
    ids: Sequence[str],
    k: int,
    rng: np.random.Generator,
    *,
    across_languages: bool = False,
) -> NDArray[np.int64]:
    """Select triples that show the textual similarity bias of an encoder.

    S3 is the nearest sentence of S1's intent, in S1's language or, across languages, in the others. S2 is the nearest
    sentence of another intent in S1's language, and nearer to S1 than S3 is. No two of the three are translations of
    each other or the same text. S1 is drawn at random, from part of the data if it is large; intents without a
    triple come first.

    Args:
        vectors: (N, d), by the base encoder.
        intents: N intents.
        texts: N sentences.
        languages: N language codes.
        ids: N ids; "" is no id.
        k: the number of triples, at least 1.
        rng: the source of the draws.
        across_languages: S3 in another language than S1 and S2.

    Returns:
        Row numbers of S1, S2 and S3, (up to k, 3); fewer where the encoder is less biased.

    Raises:
        DataError: a vector is zero or not finite, k is below 1, or the lengths differ.
    """
    if k < 1:
        raise DataError(f"can't select {k} triples; ask for 1 or more")
    units = unit_vectors(vectors)
    n = len(units)
    labels, wordings = codes(intents, n, "intents"), codes(normalised(texts), n, "texts")
    tongues, keys = codes(languages, n, "languages"), id_keys(ids, n)
    s1 = rng.permutation(n)[: max(1, BLOCK // n)]  # keeps the (S1, N) arrays small
    cosines = units[s1] @ units.T

    def same(values: NDArray[np.int64]) -> NDArray[np.bool_]:
        return values[s1, None] == values  # (S1, N)

    all_rows = np.arange(len(s1))
    apart, same_intent, same_language = ~same(keys) & ~same(wordings), same(labels), same(tongues)
    lookalikes = np.where(apart & ~same_intent & same_language, cosines, -np.inf)
    s2 = lookalikes.argmax(axis=1)
    apart &= (keys != keys[s2, None]) & (wordings != wordings[s2, None])
    in_language = ~same_language if across_languages else same_language
    kindred = np.where(apart & same_intent & in_language, cosines, -np.inf)
    s3 = kindred.argmax(axis=1)
    s12, s13 = lookalikes[all_rows, s2], kindred[all_rows, s3]
    biased = np.isfinite(s13) & (s13 < s12 - TIE)
    triple_rows = np.stack([s1, s2, s3], axis=1)[biased]
    return triple_rows[np.argsort(turns(labels[triple_rows[:, 0]]), kind="stable")[:k]]
