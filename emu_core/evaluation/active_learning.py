"""Active learning: choose sentences to label that are uncertain, different from each other, and of every language.

The measures of uncertainty are those of Settles 2009, "Active learning literature survey", section 3.1. The selection
follows Zhdanov 2019, "Diverse mini-batch active learning", section 3: K-means weighted by uncertainty, and from each
cluster the sentence nearest its centre. In addition, each language gets a fair share.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, check_length, rows_by_language, unit_vectors

ACTIVE_LEARNING_MAX_SENTENCES = 10_000  # to cluster; of more, the most uncertain
LEAST_WEIGHT = 1e-6  # for a sentence without uncertainty: K-means needs positive weights
LEAST_GUESSES = 20  # to tell from which confidence on they are mostly right
_FAR = 1e6  # the cost of a missing sentence; cosine distances are at most 2


class Uncertainty(StrEnum):
    """A measure of uncertainty, from the probabilities p of a sentence's intents."""

    MARGIN = "margin"
    """1 minus the difference of the two highest p (Scheffer et al. 2001): 0 is certain, 1 is a tie."""
    ENTROPY = "entropy"
    """- sum of p log p, divided by its maximum log k (Shannon 1948): 0 is certain, 1 is a uniform p."""


def uncertainty(probabilities: Vectors, by: Uncertainty = Uncertainty.MARGIN) -> NDArray[np.float64]:
    """Return a classifier's uncertainty about N sentences, from 0 to 1, (N,), from its probabilities (N, k).

    Raises:
        DataError: there are fewer than two intents.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] < 2:
        raise DataError(
            "a choice between fewer than two intents is always certain; label sentences of another"
        )
    if by is Uncertainty.ENTROPY:
        return np.asarray(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1) / np.log(p.shape[1]))
    highest = np.partition(p, -2, axis=1)
    return np.asarray(1 - (highest[:, -1] - highest[:, -2]))


def mostly_right_from(confidences: Vectors, is_right: Sequence[bool] | NDArray[np.bool_]) -> float:
    """Return the confidence from which on N guesses are right more often than not; 2 if they never are.

    The share of right guesses is fitted as a function that rises with the confidence (isotonic regression, Zadrozny
    and Elkan 2002). Of fewer than `LEAST_GUESSES`, the confidence is believed: it is 0.5.

    Args:
        confidences: (N,), from 0 to 1.
        is_right: N.
    """
    from sklearn.isotonic import IsotonicRegression

    certain, right = np.asarray(confidences, dtype=np.float64), np.asarray(is_right, dtype=np.float64)
    check_length(right.tolist(), len(certain), "outcomes")
    if len(certain) < LEAST_GUESSES:
        return 0.5
    shares = IsotonicRegression().fit_transform(certain, right)
    return float(certain[shares > 0.5].min(initial=2.0))


def fair_shares(labelled: Sequence[str], unlabelled: Sequence[str], count: int) -> dict[str, int]:
    """Return how many of `count` sentences to choose in each language.

    Each in turn goes to the language with the fewest labelled and chosen sentences that has any left; ties go to the
    first code.

    Args:
        labelled: the language of each labelled sentence.
        unlabelled: the language of each sentence to choose from.
        count: the number of sentences to choose; all where there are fewer.
    """
    have, left, shares = Counter(labelled), Counter(unlabelled), Counter[str]()
    for _ in range(min(count, len(unlabelled))):
        code = min(
            (code for code in left if shares[code] < left[code]),
            key=lambda code: (have[code] + shares[code], code),
        )
        shares[code] += 1
    return dict(shares)


def choose_sentences(
    vectors: Vectors,
    unsure: Vectors,
    languages: Sequence[str],
    count: int,
    labelled_languages: Sequence[str] = (),
) -> NDArray[np.int64]:
    """Choose sentences to label; return their rows, the most uncertain first, (count,), or as many as there are.

    Args:
        vectors: (N, d), of the unlabelled sentences.
        unsure: (N,) a classifier's uncertainty about them, 0 or more: the weights of K-means.
        languages: N language codes; see `fair_shares`.
        count: the number of sentences to choose.
        labelled_languages: the language of each labelled sentence.

    Raises:
        DataError: `count` is below 1, a vector is zero or not finite, or the lengths differ.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    if count < 1:
        raise DataError(f"can't choose {count} sentences; ask for 1 or more")
    units, weights = unit_vectors(vectors), np.asarray(unsure, dtype=np.float64)
    check_length(languages, len(units), "languages")
    check_length(weights.tolist(), len(units), "uncertainties")
    if count >= len(units):
        return np.argsort(-weights, kind="stable")
    shares = fair_shares(labelled_languages, languages, count)
    # First each language's share, and its most uncertain sentences, among which that share is chosen.
    most = max(1, ACTIVE_LEARNING_MAX_SENTENCES // len(shares))
    kept = [
        rows[np.argsort(-weights[rows], kind="stable")[: max(most, shares.get(code, 0))]]
        for code, rows in rows_by_language(languages, len(units)).items()
        if code in shares
    ]
    pool = np.sort(np.concatenate(kept))
    # Then as many clusters as sentences are wanted: what is uncertain counts more. A slot is a language's claim to one
    # sentence, and every cluster offers each language its sentence nearest to the centre.
    slots = [code for code, share in shares.items() for _ in range(share)]
    codes = np.asarray(languages, dtype=object)[pool]
    clusters = KMeans(len(slots), n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # empty clusters are filled below
        clusters.fit(units[pool], sample_weight=weights[pool] + LEAST_WEIGHT)
    far = clusters.transform(units[pool])  # (pool, clusters)
    nearest = {
        (cluster, code): rows[far[rows, cluster].argmin()]
        for cluster in range(len(slots))
        for code in shares
        if len(rows := np.flatnonzero((clusters.labels_ == cluster) & (codes == code)))
    }
    # Slots are matched with clusters so that the chosen sentences are near their centres in sum.
    slot_numbers = range(len(slots))
    costs = [
        [far[nearest[c, code], c] if (c, code) in nearest else _FAR for code in slots] for c in slot_numbers
    ]
    chosen = [
        nearest[c, slots[slot]]
        for c, slot in zip(*linear_sum_assignment(costs), strict=True)
        if (c, slots[slot]) in nearest
    ]
    # At last, a share without a cluster goes to the most uncertain sentences of its language.
    missing = Counter(slots) - Counter(codes[chosen])
    for code, more in missing.items():
        free = np.setdiff1d(np.flatnonzero(codes == code), chosen)
        chosen += free[np.argsort(-weights[pool[free]], kind="stable")[:more]].tolist()
    rows = pool[np.array(chosen, dtype=np.int64)]
    return np.asarray(rows[np.argsort(-weights[rows], kind="stable")])
