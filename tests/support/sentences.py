"""Random labelled vectors for the tests of evaluation, and cosines by plain arithmetic."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Sentences:
    vectors: NDArray[np.float32]
    intents: list[str]
    languages: list[str]
    ids: list[str]


def random_sentences(n: int, languages: Sequence[str], seed: int, dim: int = 5) -> Sentences:
    """Sentences whose vectors hint at their intent; ids repeat across and inside languages, or are empty."""
    rng = np.random.default_rng(seed)
    intents = rng.integers(0, 4, n)
    vectors = rng.normal(size=(4, dim))[intents] + rng.normal(size=(n, dim))
    vectors *= rng.uniform(0.1, 10, size=(n, 1))  # their length must not matter
    ids = [str(number) if number else "" for number in rng.integers(0, n // 3, n)]
    return Sentences(
        vectors.astype(np.float32),
        [f"i{number}" for number in intents],
        rng.choice(list(languages), n).tolist(),
        ids,
    )


def cosine(u: NDArray[np.floating], v: NDArray[np.floating]) -> float:
    dot = math.fsum(float(a) * float(b) for a, b in zip(u, v, strict=True))
    lengths = (math.sqrt(math.fsum(float(a) ** 2 for a in w)) for w in (u, v))
    return dot / math.prod(lengths)


def nearest_row(query: NDArray[np.floating], pool: dict[int, NDArray[np.floating]]) -> int:
    """The pool's row with the highest cosine, the first of equals."""
    return max(pool, key=lambda row: (cosine(query, pool[row]), -row))
