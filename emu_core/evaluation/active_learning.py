"""Which sentences to label next: those that a classifier is unsure of, unlike each other, and of every language.

Settles 2009, "Active learning literature survey", section 3.1, has the measures of uncertainty. The choice is
that of Zhdanov 2019, "Diverse mini-batch active learning", section 3: a K-means in which a point weighs what its
uncertainty is, and of each cluster the sentence nearest its centre. Unlike there, each language gets a fair share.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import check_length, rows_by_language, unit_vectors

MOST_SENTENCES = 10_000  # that are clustered: of more, those of which the classifier is most unsure
LEAST_WEIGHT = 1e-6  # of a sentence of which it is quite sure: K-means needs some weight
_FAR = 1e6  # the cost of a sentence that is not there; cosine distances are at most 2


class Uncertainty(StrEnum):
    """How unsure a classifier is of a sentence, by the probabilities p of its intents."""

    MARGIN = "margin"
    """1 minus the difference of the two highest p (Scheffer et al. 2001): 0 is sure, 1 is a tie."""
    ENTROPY = "entropy"
    """- sum of p log p, over its largest value log k (Shannon 1948): 0 is sure, 1 is every intent alike."""


def uncertainty(
    probabilities: NDArray[np.floating], by: Uncertainty = Uncertainty.MARGIN
) -> NDArray[np.float64]:
    """Return how unsure a classifier is of each of N sentences, from 0 to 1, (N,).

    Args:
        probabilities: (N, k) of k intents, 2 or more; each row sums to 1.
        by: the measure.

    Raises:
        DataError: there are fewer than two intents.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] < 2:
        raise DataError("a choice between fewer than two intents is always sure; label sentences of another")
    if by is Uncertainty.ENTROPY:
        return np.asarray(-(p * np.log(np.where(p > 0, p, 1))).sum(axis=1) / np.log(p.shape[1]))
    highest = np.partition(p, -2, axis=1)
    return np.asarray(1 - (highest[:, -1] - highest[:, -2]))


def fair_shares(labelled: Sequence[str], unlabelled: Sequence[str], count: int) -> dict[str, int]:
    """Return how many of `count` sentences are chosen in each language.

    One by one they go to the language with the fewest sentences, labelled and chosen ones together, that has any left;
    of equals to the first by its code.

    Args:
        labelled: the language of each labelled sentence.
        unlabelled: the language of each sentence to choose from.
        count: how many are chosen; all where there are fewer.
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
    vectors: NDArray[np.floating],
    unsure: NDArray[np.floating],
    languages: Sequence[str],
    count: int,
    labelled_languages: Sequence[str] = (),
) -> NDArray[np.int64]:
    """Choose sentences to label: the rows, the most uncertain first, (count,), or as many as there are.

    Args:
        vectors: (N, d) of the sentences without a label.
        unsure: (N,) how unsure a classifier is of them, 0 or more: the weights of the K-means.
        languages: N language codes; see `fair_shares`.
        count: how many to choose.
        labelled_languages: the language of each sentence that has a label.

    Raises:
        DataError: `count` is below 1, a vector is zero or not finite, or the lengths differ.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    if count < 1:
        raise DataError(f"{count} sentences can't be chosen; ask for 1 or more")
    units, weights = unit_vectors(vectors), np.asarray(unsure, dtype=np.float64)
    check_length(languages, len(units), "languages")
    check_length(weights.tolist(), len(units), "uncertainties")
    if count >= len(units):
        return np.argsort(-weights, kind="stable")
    shares = fair_shares(labelled_languages, languages, count)
    # The most uncertain of each language, so that none is left without its share.
    most = max(1, MOST_SENTENCES // len(shares))
    kept = [
        rows[np.argsort(-weights[rows], kind="stable")[: max(most, shares.get(code, 0))]]
        for code, rows in rows_by_language(languages, len(units)).items()
        if code in shares
    ]
    pool = np.sort(np.concatenate(kept))
    slots = [code for code, share in shares.items() for _ in range(share)]
    codes = np.asarray(languages, dtype=object)[pool]
    clusters = KMeans(len(slots), n_init=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of repeats: what is missing is filled below
        clusters.fit(units[pool], sample_weight=weights[pool] + LEAST_WEIGHT)
    far = clusters.transform(units[pool])  # (pool, clusters)
    nearest = {
        (cluster, code): rows[far[rows, cluster].argmin()]
        for cluster in range(len(slots))
        for code in shares
        if len(rows := np.flatnonzero((clusters.labels_ == cluster) & (codes == code)))
    }
    costs = np.array(
        [
            [far[nearest[c, code], c] if (c, code) in nearest else _FAR for code in slots]
            for c in range(len(slots))
        ]
    )
    chosen = [
        nearest[c, slots[slot]]
        for c, slot in zip(*linear_sum_assignment(costs), strict=True)
        if (c, slots[slot]) in nearest
    ]
    # A share that no cluster is left for goes to the most uncertain sentences of its language.
    missing = Counter(slots) - Counter(codes[chosen])
    for code, more in missing.items():
        free = np.setdiff1d(np.flatnonzero(codes == code), chosen)
        chosen += free[np.argsort(-weights[pool[free]], kind="stable")[:more]].tolist()
    rows = pool[np.array(chosen, dtype=np.int64)]
    return np.asarray(rows[np.argsort(-weights[rows], kind="stable")])
