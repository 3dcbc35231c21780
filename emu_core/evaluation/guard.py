"""Whether sentences gained or lost by specialising, with intervals: the guards, and cross-validation."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, pair_name
from emu_core.evaluation.leave_one_out import NeighbourAccuracy, leave_one_out, pool_accuracy
from emu_core.evaluation.significance import student_interval

_CONFIDENCE = 0.95
LEAST_INTENTS = 4  # two to learn from and two to be told apart


class Verdict(StrEnum):
    """Whether a language's queries gained or lost."""

    GAINS = "gains"
    NO_CLEAR_CHANGE = "no clear change"
    MAY_LOSE = "may lose"
    LOSES = "loses"

    @property
    def is_flagged(self) -> bool:
        """Whether users must be warned before they use the encoder in that language."""
        return self in (Verdict.MAY_LOSE, Verdict.LOSES)


@dataclass(frozen=True)
class LanguageChange:
    """The gain or loss of the queries of one language.

    Attributes:
        difference: specialised minus base, in points of Acc@1.
        low: lower end of its 95 % interval.
        high: its upper end.
        verdict: whether the whole interval is a loss or a gain, or else whether the estimate is a loss.
        queries: the number of sentences measured.
    """

    difference: float
    low: float
    high: float
    verdict: Verdict = field(init=False)
    queries: int

    def __post_init__(self) -> None:
        """Decide the verdict."""
        estimate = Verdict.MAY_LOSE if self.difference < 0 else Verdict.NO_CLEAR_CHANGE
        verdict = Verdict.LOSES if self.high < 0 else Verdict.GAINS if self.low > 0 else estimate
        object.__setattr__(self, "verdict", verdict)


def guard(base: NeighbourAccuracy, specialised: NeighbourAccuracy) -> dict[str, LanguageChange]:
    """Compare two encoders by the language of the queries: over all its directions, or against one whole pool.

    Args:
        base: the accuracy of the base encoder.
        specialised: that of the specialised encoder, on the same sentences.

    Raises:
        DataError: the two were not measured on the same sentences.
    """
    if base.counts != specialised.counts:
        raise _other_sentences()
    return {
        source: language_change(base.outcomes(source), specialised.outcomes(source))
        for source in base.queries
    }


def language_change(
    base: Sequence[NDArray[np.bool_]], specialised: Sequence[NDArray[np.bool_]]
) -> LanguageChange:
    """Estimate the difference of two encoders on the same queries, with a 95 % interval.

    The unit is the query: its differences in several pools are averaged first, since they are not independent. The
    interval is Student's t over the queries, after adding one query that gained in every pool and one that lost in
    every pool, as Bonett and Price (2012) do for paired proportions. A bootstrap or a plain t interval has no width
    where no query changed or all changed alike; here 20 queries without a change still allow a change of several
    points, as they should. The interval does not extend to other pools.

    Args:
        base: for each pool, whether the base encoder has each of the queries right.
        specialised: the same of the specialised encoder, in the same order.

    Raises:
        DataError: the two were not measured on the same sentences.
    """
    before, after = (np.asarray(side, dtype=np.int64) for side in (base, specialised))  # (pools, queries)
    if before.shape != after.shape or before.ndim != 2 or not before.size:
        raise _other_sentences()
    pools, queries = before.shape
    # Whole numbers until the last division, so that no change is exactly 0.
    points = (after - before).sum(axis=0)
    widened = 100 * np.append(points, [pools, -pools]) / pools
    low, high = student_interval(widened, _CONFIDENCE)
    return LanguageChange(
        difference=100 * int(points.sum()) / (pools * queries),
        low=max(-100.0, low),
        high=min(100.0, high),
        queries=queries,
    )


Refit = Callable[[NDArray[np.intp]], Callable[[Vectors], Vectors]]
"""Rows to learn from -> the map of the base encoder's vectors that the method fits on them."""


@dataclass(frozen=True)
class LeftOut:
    """Gain or loss of sentences that the method was fitted without.

    Attributes:
        base: Acc@1 of the base encoder on the sentences left out, in percent.
        specialised: that of the specialised encoder.
        difference: specialised minus base, in points, over sentences that are asked once in each division.
        low: lower end of its 95 % interval.
        high: its upper end.
        verdict: see `LanguageChange`.
        queries: the number of sentences measured.
        divisions: the number of divisions of the intents; for cross-validation, the number of folds.
    """

    base: float
    specialised: float
    difference: float
    low: float
    high: float
    verdict: Verdict
    queries: int
    divisions: int


def new_intent_guard(
    vectors: Vectors,
    intents: Sequence[str],
    languages: Sequence[str],
    ids: Sequence[str],
    refit: Refit,
    *,
    divisions: int = 2,
    most_rows: int | None = None,
) -> LeftOut | None:
    """Leave half of the intents out, fit on the others, and measure the sentences of those left out; then the reverse.

    In each division every sentence is a query once, of a method that was given no label of its intent, among the
    sentences of the intents left out with it. The unit of the interval is the sentence, as in `language_change`.

    Args:
        vectors: (N, d), the labelled sentences by the base encoder.
        intents: N intents.
        languages: N language codes; queries are compared with sentences of their own language.
        ids: N ids; see `leave_one_out`.
        refit: the method.
        divisions: the number of random divisions of the intents.
        most_rows: of more sentences, a random sample of this size is used; None uses all.

    Returns:
        None where there are fewer than four intents: each half must have two, to learn from and to be told apart.
    """
    draws = np.random.default_rng(0)  # always the same, so that the result depends on the labels only
    rows = np.sort(draws.permutation(len(intents))[:most_rows])
    names, codes = np.unique(np.asarray(intents, dtype=str)[rows], return_inverse=True)
    if len(names) < LEAST_INTENTS:
        return None
    spoken, keys = (np.asarray(of, dtype=str)[rows] for of in (languages, ids))
    before, after = (np.zeros((divisions, len(rows)), dtype=bool) for _ in range(2))
    for division in range(divisions):
        half = np.isin(codes, draws.permutation(len(names))[: len(names) // 2])
        for new in (half, ~half):
            specialise = refit(rows[~new])
            for language in np.unique(spoken[new]):
                asked = np.flatnonzero(new & (spoken == language))
                if len(asked) < 2:
                    continue
                query_vectors, labels = vectors[rows[asked]], codes[asked].astype(str).tolist()
                for side, space in ((before, query_vectors), (after, specialise(query_vectors))):
                    accuracies = leave_one_out(space, labels, spoken[asked].tolist(), keys[asked].tolist())
                    side[division, asked] = accuracies.correct[pair_name(language, language)]
    return _left_out(before, after, divisions)


def cross_validation(
    vectors: Vectors,
    intents: Sequence[str],
    languages: Sequence[str],
    ids: Sequence[str],
    refit: Refit,
    *,
    folds: int = 5,
    most_rows: int | None = None,
) -> LeftOut | None:
    """Leave a fold of the sentences out in turn, fit on the others, and find the intents of those left out.

    A sentence is right if its nearest neighbour, among the sentences of its own language that were fitted on, has
    its intent. Translations are in one fold, and each fold has its share of every intent (Stone 1974; scikit-learn's
    `StratifiedGroupKFold`). The arguments are those of `new_intent_guard`, except that `most_rows` limits the queries
    only: the method is fitted on all others.

    Returns:
        None where no intent has as many sentences, translations counted once, as there are folds.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    names = np.asarray(intents, dtype=str)
    groups = np.array([key or f"row {row}" for row, key in enumerate(ids)])
    spoken, drawn = np.asarray(languages, dtype=str), np.zeros(len(names), dtype=bool)
    drawn[np.random.default_rng(0).permutation(len(names))[:most_rows]] = True
    if max(len(set(groups[names == name])) for name in set(intents)) < folds:
        return None
    before, after, asked = (np.zeros(len(names), dtype=bool) for _ in range(3))
    divided = StratifiedGroupKFold(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():  # intents with fewer sentences than folds are measured, too
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        parts = list(divided.split(vectors, names, groups))
    for known, left_out in parts:
        specialise = refit(known)
        for language in np.unique(spoken[left_out]):
            queries = left_out[(spoken[left_out] == language) & drawn[left_out]]
            pool = known[spoken[known] == language]
            if not (len(queries) and len(pool)):
                continue
            for side, of in ((before, lambda unchanged: unchanged), (after, specialise)):
                asked_of, among = (
                    (of(vectors[rows]), names[rows].tolist(), spoken[rows].tolist())
                    for rows in (queries, pool)
                )
                accuracies = pool_accuracy(*asked_of, *among)
                side[queries] = accuracies.correct[pair_name(language, language)]
            asked[queries] = True
    return _left_out(before[None, asked], after[None, asked], folds)


def _left_out(before: NDArray[np.bool_], after: NDArray[np.bool_], divisions: int) -> LeftOut:
    """Return what both encoders have right of Q sentences, (times asked, Q) each."""
    base, specialised = (100 * float(side.mean()) for side in (before, after))
    change = language_change(list(before), list(after))
    return LeftOut(base, specialised, **vars(change), divisions=divisions)


def flagged(changes: Mapping[str, LanguageChange]) -> dict[Verdict, dict[str, float]]:
    """Return which languages lose and which may lose, each with its difference in points, the worst first."""
    worst_first = sorted(changes.items(), key=lambda item: item[1].difference)
    points = {
        verdict: {code: change.difference for code, change in worst_first if change.verdict is verdict}
        for verdict in (Verdict.LOSES, Verdict.MAY_LOSE)
    }
    return {verdict: by_language for verdict, by_language in points.items() if by_language}


def _other_sentences() -> DataError:
    return DataError(
        "base and specialised encoder were measured on different sentences; measure both on the same"
    )
