"""How much better or worse the same sentences are answered, with intervals; also of sentences left out of a fit."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors, pair_name
from emu_core.evaluation.leave_one_out import NeighbourAccuracy, leave_one_out, pool_accuracy
from emu_core.evaluation.significance import student_interval

_CONFIDENCE = 0.95
LEAST_INTENTS = 4  # two to learn from and two to be told apart


class Verdict(StrEnum):
    """Whether sentences are answered better, by one rule: the whole interval of the change is above or below zero."""

    BETTER = "better"
    WORSE = "worse"
    NOT_CLEAR = "not clear"


@dataclass(frozen=True)
class PairedChange:
    """How much better or worse the same sentences are answered by another encoder.

    Attributes:
        base: percent of right answers by the base encoder.
        specialised: that by the specialised one.
        difference: specialised minus base, in points.
        low: lower end of its 95 % interval.
        high: its upper end.
        verdict: whether the whole interval is above zero, or below.
        queries: the number of sentences measured.
    """

    base: float
    specialised: float
    difference: float
    low: float
    high: float
    verdict: Verdict = field(init=False, default=Verdict.NOT_CLEAR)
    queries: int

    def __post_init__(self) -> None:
        """Decide the verdict."""
        verdict = Verdict.WORSE if self.high < 0 else Verdict.BETTER if self.low > 0 else Verdict.NOT_CLEAR
        object.__setattr__(self, "verdict", verdict)

    def given(self) -> dict[str, Any]:
        """Return the arguments that make the same change."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}


@dataclass(frozen=True)
class Changes:
    """How much better or worse sentences are answered, of all languages together and of each."""

    overall: PairedChange
    by_language: Mapping[str, PairedChange]

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each language: its `language` and the attributes of its `PairedChange`."""
        return pd.DataFrame(
            [{"language": code, **asdict(change)} for code, change in self.by_language.items()]
        )


def similar_changes(
    base: NeighbourAccuracy, specialised: NeighbourAccuracy, groups: NDArray[np.integer]
) -> Changes:
    """Compare how two encoders find similar sentences, over the directions that their `outcomes` are of.

    Overall, each direction counts once, as in the mean.

    Args:
        base: the accuracy of the base encoder.
        specialised: that of the specialised encoder, on the same sentences.
        groups: (N,) the same number for translations and repeats of one sentence.

    Raises:
        DataError: the two were not measured on the same sentences.
    """
    if base.counts != specialised.counts:
        raise _other_sentences()
    by_language, parts = {}, []
    for source, queries in base.queries.items():
        before, after = (np.mean(side.outcomes(source), axis=0) for side in (base, specialised))  # (queries,)
        by_language[source] = paired_change(before, after, groups[queries])
        weights = np.full(len(queries), len(base.outcomes(source)) / len(queries))
        parts.append((before, after, groups[queries], weights))
    before, after, numbers, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Changes(paired_change(before, after, numbers, weights), by_language)


def paired_change(
    base: NDArray[Any],
    specialised: NDArray[Any],
    groups: NDArray[np.integer] | None = None,
    weights: NDArray[np.floating] | None = None,
) -> PairedChange:
    """Estimate the difference of two encoders on the same sentences, with a 95 % interval.

    The unit is the group, as the translations of a sentence are not independent. The interval is Student's t over the
    groups, after adding one group that is wholly gained and one that is wholly lost, as Bonett and Price (2012) do for
    paired proportions. A bootstrap or a plain t interval has no width where nothing changed or all changed alike; here
    20 sentences without a change still allow a change of several points, as they should.

    Args:
        base: (N,) whether the base encoder is right, or how often, from 0 to 1.
        specialised: (N,) the same of the specialised encoder, in the same order.
        groups: (N,) numbers of sentences that belong together; None if none do.
        weights: (N,) how much each counts; None for all alike.

    Raises:
        DataError: the two were not measured on the same sentences.
    """
    if base.shape != specialised.shape or base.ndim != 1 or not base.size:
        raise _other_sentences()
    n = len(base)
    share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    number = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    before, after = (100 * float(share @ side.astype(float)) for side in (base, specialised))
    points = 100 * share * (specialised.astype(float) - base.astype(float))
    difference = round(float(points.sum()), 9)  # no change is exactly 0
    of_groups = np.bincount(number, points - share * difference)  # each group's part of what is not the mean
    widened = np.append(difference + len(of_groups) * of_groups, [100.0, -100.0])
    low, high = student_interval(widened, _CONFIDENCE)
    return PairedChange(before, after, difference, max(-100.0, low), min(100.0, high), n)


def language_change(
    base: Sequence[NDArray[np.bool_]], specialised: Sequence[NDArray[np.bool_]]
) -> PairedChange:
    """Return the `paired_change` of the same queries in several pools.

    A query's differences in several pools are averaged first, since they are not independent. The interval does not
    extend to other pools.

    Args:
        base: for each pool, whether the base encoder has each of the queries right.
        specialised: the same of the specialised encoder, in the same order.

    Raises:
        DataError: the two were not measured on the same sentences.
    """
    if list(map(len, base)) != list(map(len, specialised)) or len({*map(len, base)}) != 1:
        raise _other_sentences()
    return paired_change(np.mean(base, axis=0), np.mean(specialised, axis=0))


Refit = Callable[[NDArray[np.intp]], Callable[[Vectors], Vectors]]
"""Rows to learn from -> the map of the base encoder's vectors that the method fits on them."""


@dataclass(frozen=True)
class LeftOut(PairedChange):
    """How similar sentences are found among those that the method was fitted without.

    A sentence is asked once in each division; for the other attributes see `PairedChange`.

    Attributes:
        divisions: the number of divisions of the intents; for cross-validation, the number of folds.
    """

    divisions: int


def new_intent_change(
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
    `StratifiedGroupKFold`). The arguments are those of `new_intent_change`, except that `most_rows` limits the queries
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
    return LeftOut(**language_change(list(before), list(after)).given(), divisions=divisions)


def _other_sentences() -> DataError:
    return DataError(
        "base and specialised encoder were measured on different sentences; measure both on the same"
    )
