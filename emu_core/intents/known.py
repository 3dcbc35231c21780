"""Whether a sentence has any of the known intents: signs of it, weighed by what held-out and left-out intents show."""

import numpy as np
from numpy.typing import NDArray

_LEAST_SCALE = 1e-6
_NEW, _KNOWN, _NONE = range(3)


def score(signs: NDArray[np.float64], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return how like a known intent's sentences each of Q is, (Q,): the first sign, or the log-odds of the weights.

    Args:
        signs: (Q, s).
        weights: (s + 1,), the intercept first; None for none.
    """
    if weights is None:
        return signs[:, 0]
    scores: NDArray[np.float64] = signs @ weights[1:] + weights[0]
    return scores


def learnt_weights(
    known: NDArray[np.float64], new: NDArray[np.float64], none: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weights (s + 1,) of a logistic regression that tells sentences of known intents from others.

    Known and other sentences have the same weight, and so have the two kinds of others.

    Args:
        known: (A, s), signs of sentences of known intents.
        new: (B, s), those of intents that are left out.
        none: (C, s), those with none of the intents, which may be missing.
    """
    from sklearn.linear_model import LogisticRegression

    signs = np.concatenate([new, known, none])
    kinds = np.repeat([_NEW, _KNOWN, _NONE], [len(new), len(known), len(none)])
    count = np.bincount(kinds, minlength=3)
    share = np.array([0.25 if len(none) else 0.5, 0.5, 0.25]) / np.maximum(count, 1)
    mean, scale = signs.mean(axis=0), np.maximum(signs.std(axis=0), _LEAST_SCALE)
    learnt = LogisticRegression().fit((signs - mean) / scale, kinds == _KNOWN, len(signs) * share[kinds])
    slopes = learnt.coef_[0] / scale
    return np.array([learnt.intercept_[0] - slopes @ mean, *slopes])


def share_found(
    signs: NDArray[np.float64],
    is_known: NDArray[np.bool_],
    is_right: NDArray[np.bool_],
    parts: NDArray[np.int64],
    intents: NDArray[np.int64],
    none: NDArray[np.float64],
    rejected: float,
) -> float | None:
    """Return the share of sentences of left-out intents that are below the threshold; None if that can't be measured.

    Weights and threshold are those of the other parts, as they were for new intents: learnt on the same sentences, they
    would find too many of a small set. Each intent counts alike, however many sentences it has: a new one is not like
    the largest, which are found or not all at once.

    Args:
        signs: (Q, s).
        is_known: (Q,), whether the intent is known, or else left out.
        is_right: (Q,), whether the answer is right.
        parts: (Q,), each with intents of its own that are left out.
        intents: (Q,).
        none: (C, s), those with none of the intents.
        rejected: the share of right answers that are below the threshold.
    """
    shares: list[float] = []
    for part in np.unique(parts):
        here = parts == part
        others = ~here if (~here).any() else here
        right = others & is_known & is_right
        if not right.any() or is_known[others].all():
            return None
        weights = learnt_weights(signs[others & is_known], signs[others & ~is_known], none)
        at = np.quantile(score(signs[right], weights), rejected, method="lower")
        is_found = score(signs, weights) < at
        asked = here & ~is_known
        shares += [
            float(is_found[asked & (intents == intent)].mean()) for intent in np.unique(intents[asked])
        ]
    return float(np.mean(shares)) if shares else None
