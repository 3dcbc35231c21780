"""Translation ranking: where a sentence's translation ranks among random targets (dual encoder, section 3.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.cleaning import normal_form, normalised
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, as_matrix, check_dimensions, check_paired, codes
from emu_core.evaluation.retrieval import TIE, best_columns, blocks, ranks_before
from emu_core.evaluation.significance import Interval, accuracy_interval

COSINE, EUCLID, DOT = "cosine", "euclid", "dot"
NS = (1, 3, 10)
"""The paper's N in P@N."""
PAPER_DISTRACTORS = 999


@dataclass(frozen=True, eq=False)
class TranslationRanking:
    """The ranks (N,), 1 for the best, of N sources' true targets among as many `candidates`, including these."""

    ranks: NDArray[np.int64]
    candidates: int

    def precision(self, n: int = 1) -> float:
        """Percent of sources whose target is among the first n."""
        return 100 * float((self.ranks <= n).mean())

    def interval(self, n: int = 1) -> Interval:
        """The 95 % interval (Wilson's) of `precision(n)`, in percent."""
        return accuracy_interval(self.ranks <= n)


def translation_ranking(
    sources: Vectors,
    targets: Vectors,
    target_texts: Sequence[str] | None = None,
    *,
    distractors: int | None = None,
    seed: int = 0,
) -> TranslationRanking:
    """Rank each source's true target among others by dot product; swap the two for the other direction.

    Among equal scores (within 1e-6 of the vectors' lengths) the target that comes first ranks higher: an encoder that
    gives all sentences one vector has 1 of N right.

    Args:
        sources: (N, d); row i means what row i of the targets means. Give unit vectors to rank by cosine.
        targets: (N, d).
        target_texts: the N target sentences; one with the true target's text never ranks before it. None means that
            all differ.
        distractors: the number of different other targets drawn for each source (999 in the paper); None for all.
        seed: of the draws.

    Raises:
        DataError: a vector is not finite, the lengths differ, or there are fewer other targets than `distractors`.
    """
    sources, targets = _scorable(sources), _scorable(targets)
    n = len(sources)
    check_paired(sources, targets)
    if distractors is not None and not 0 < distractors < n:
        raise DataError(
            f"can't draw {distractors:,} other targets for a sentence of {n:,}; choose 1 to {n - 1:,}, or all"
        )
    texts = np.arange(n) if target_texts is None else codes(normalised(target_texts), n, "target sentences")
    tolerance = _tolerance(sources, targets)
    draws = np.random.default_rng(seed)
    ranks = np.empty(n, dtype=np.int64)
    columns = np.arange(n)
    for block in blocks(n, n):
        rows = columns[block]
        scores = sources[rows] @ targets.T  # (B, N)
        is_better = ranks_before(scores, rows[:, None], tolerance[rows, None])
        is_better &= texts != texts[rows, None]
        if distractors is not None:
            is_better &= _drawn(draws, rows, n, distractors)
        ranks[rows] = 1 + is_better.sum(axis=1)
    return TranslationRanking(ranks, n if distractors is None else distractors + 1)


def both_ways(
    first: tuple[Vectors, Sequence[str] | None],
    second: tuple[Vectors, Sequence[str] | None],
    *,
    distractors: int | None = None,
    seed: int = 0,
) -> tuple[TranslationRanking, TranslationRanking]:
    """Return `translation_ranking` from the first language to the second, and from the second to the first.

    Args:
        first: vectors (N, d) and texts of one language, row by row translations of the other.
        second: the same of the other language.
        distractors: see `translation_ranking`.
        seed: of the draws.
    """
    forward, back = (
        translation_ranking(sources[0], *targets, distractors=distractors, seed=seed)
        for sources, targets in ((first, second), (second, first))
    )
    return forward, back


def ranked(queries: Vectors, targets: Vectors, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return each query's k best targets by dot product, the best first; of equal scores the one that comes first.

    Args:
        queries: (Q, d).
        targets: (N, d).
        k: the number of targets; all N if it is larger.

    Returns:
        Row numbers of the targets and their scores, each (Q, min(k, N)).

    Raises:
        DataError: k is below 1, a vector is not finite, or the two have different dimensions.
    """
    queries, targets = _scorable(queries), _scorable(targets)
    if k < 1:
        raise DataError(f"can't return {k} results; choose 1 or more")
    tolerance = _tolerance(queries, targets)
    rankings = [
        best_columns(queries[block] @ targets.T, min(k, len(targets)), tolerance[block, None])
        for block in blocks(len(queries), len(targets))
    ]
    rows, scores = map(np.concatenate, zip(*rankings, strict=True))
    return rows, scores


@dataclass(frozen=True, eq=False)
class FoundTranslations:
    """The rows of the sentences of another language nearest to N sentences by cosine, and the cosines, (N,) each.

    `pair_cosines` has the cosine of each sentence to its translation, (N,), and `ranking` the ranks of these.
    """

    ranking: TranslationRanking
    nearest: NDArray[np.int64]
    cosines: NDArray[np.float32]
    pair_cosines: NDArray[np.float32]

    def misses(self, sentences: Sequence[str], translations: Sequence[str]) -> pd.DataFrame:
        """Return the sentences whose translation does not rank first, the worst first, given all N of both.

        Columns: `place` (of the translation), `sentence`, `translation`, `cosine`, and the nearest sentence instead:
        `found`, `found_cosine`.
        """
        ranks = self.ranking.ranks
        rows = np.flatnonzero(ranks > 1)
        rows = rows[np.argsort(-ranks[rows], kind="stable")]
        first, second = np.array(sentences, dtype=object), np.array(translations, dtype=object)
        return pd.DataFrame(
            {
                "place": ranks[rows],
                "sentence": first[rows],
                "translation": second[rows],
                "cosine": self.pair_cosines[rows],
                "found": second[self.nearest[rows]],
                "found_cosine": self.cosines[rows],
            }
        )


def find_translations(queries: Vectors, targets: Vectors, target_texts: Sequence[str]) -> FoundTranslations:
    """Rank N translations by cosine, where a zero vector has cosine 0 to all.

    Args:
        queries: (N, d).
        targets: (N, d), row by row the translations' vectors.
        target_texts: the N translations.
    """
    sources, others = _normalised(queries), _normalised(targets)
    rows, cosines = ranked(sources, others, 1)
    pair_cosines = np.einsum("nd,nd->n", sources, others)
    return FoundTranslations(
        translation_ranking(sources, others, target_texts), rows[:, 0], cosines[:, 0], pair_cosines
    )


def nearest_translations(
    vector: Vectors,
    targets: Vectors,
    target_texts: Sequence[str],
    k: int,
    *,
    row: int | None = None,
    rank: int | None = None,
) -> pd.DataFrame:
    """Return the k sentences of another language that are nearest to a sentence by cosine, the nearest first.

    Columns: `place`, `cosine`, `sentence`, `is_translation`. A translation that is not among them comes last, with its
    rank as its place.

    Args:
        vector: (d,) of the sentence.
        targets: (N, d).
        target_texts: their N sentences.
        k: the number of sentences.
        row: the translation's row among the targets, if known.
        rank: its rank, if known.
    """
    source, others = _normalised(vector[None]), _normalised(targets)
    rows, cosines = ranked(source, others, k)
    places, near, values = list(range(1, rows.shape[1] + 1)), rows[0].tolist(), cosines[0].tolist()
    true = None if row is None else normal_form(target_texts[row])
    is_true = [text == true for text in normalised(target_texts[at] for at in near)]
    if row is not None and rank is not None and not any(is_true):
        places, near, values = [*places, rank], [*near, row], [*values, float(source[0] @ others[row])]
        is_true.append(True)
    sentences = [target_texts[at] for at in near]
    return pd.DataFrame(
        {
            "place": places,
            "cosine": values,
            "sentence": sentences,
            "is_translation": is_true,
        }
    )


def _normalised(vectors: Vectors) -> Vectors:
    """Scale vectors (N, d) to length 1, as float32; a zero vector stays zero, and so has score 0 with all."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), dtype=np.float32)


def _scorable(vectors: Vectors) -> NDArray[np.float32]:
    vectors = as_matrix(vectors)
    # Squares must be finite, too, or two scores could both be infinite.
    if not np.isfinite(np.einsum("nd,nd->n", vectors, vectors)).all():
        raise DataError("a vector has a number that is not finite or too large to rank by; train again")
    return vectors


def _tolerance(queries: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return by how much two equal scores of each query may differ in float32."""
    check_dimensions(queries, targets)
    longest = np.linalg.norm(targets, axis=1).max()
    return np.asarray(TIE * longest * np.linalg.norm(queries, axis=1), dtype=np.float32)


def _drawn(draws: np.random.Generator, rows: NDArray[np.int64], n: int, count: int) -> NDArray[np.bool_]:
    """Draw `count` of the n - 1 other targets for each row: (rows, n), never the row's own."""
    chosen = np.zeros((len(rows), n), dtype=bool)
    for number, row in enumerate(rows):
        others = draws.choice(n - 1, count, replace=False, shuffle=False)
        chosen[number, others + (others >= row)] = True
    return chosen


def ranking_by(
    measure: str, sources: Vectors, targets: Vectors, texts: Sequence[str], distractors: int | None = None
) -> TranslationRanking:
    """Return `translation_ranking` by a measure: `COSINE`, `DOT` or `EUCLID`, the distance.

    Args:
        measure: one of the three.
        sources: (N, d); row i means what row i of the targets means.
        targets: (N, d).
        texts: the targets' sentences.
        distractors: the number of other targets drawn for each source; None takes all.
    """
    first: Vectors = np.asarray(sources, np.float64)
    second: Vectors = np.asarray(targets, np.float64)
    if measure == COSINE:
        first, second = _normalised(first), _normalised(second)
    elif measure == EUCLID:
        # |a - b|^2 = |a|^2 - 2 (a b - |b|^2 / 2), where |a| is the same for all b; centred for precision.
        middle = second.mean(axis=0)
        first, second = first - middle, second - middle
        first = np.column_stack([first, np.ones(len(first))])
        second = np.column_stack([second, -np.square(second).sum(axis=1) / 2])
    return translation_ranking(first, second, texts, distractors=distractors)
