"""The language guard: did a language's queries gain or lose by specialising the encoder, and how sure is that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.errors import DataError
from emu_core.evaluation.leave_one_out import NeighbourAccuracy
from emu_core.evaluation.significance import student_interval

CONFIDENCE = 0.95


class Verdict(StrEnum):
    """Whether a language's queries gained or lost."""

    GAINS = "gains"
    NO_CLEAR_CHANGE = "no clear change"
    MAY_LOSE = "may lose"
    LOSES = "loses"

    @property
    def is_flagged(self) -> bool:
        """Whether a person must be told before the encoder is used in that language."""
        return self in (Verdict.MAY_LOSE, Verdict.LOSES)


@dataclass(frozen=True)
class LanguageChange:
    """The gain or loss of the queries of one language.

    Attributes:
        difference: specialised minus base, in points of Acc@1.
        low: lower end of its 95 % interval.
        high: its upper end.
        queries: how many sentences it was measured on.
    """

    difference: float
    low: float
    high: float
    queries: int

    @property
    def verdict(self) -> Verdict:
        """Loses or gains where the whole interval says so; may lose where only the estimate does."""
        if self.high < 0:
            return Verdict.LOSES
        if self.low > 0:
            return Verdict.GAINS
        return Verdict.MAY_LOSE if self.difference < 0 else Verdict.NO_CLEAR_CHANGE

    def facts(self) -> dict[str, Any]:
        """As it stands in JSON."""
        return {
            "difference": self.difference,
            "low": self.low,
            "high": self.high,
            "verdict": self.verdict.value,
            "queries": self.queries,
        }


def guard(base: NeighbourAccuracy, specialised: NeighbourAccuracy) -> dict[str, LanguageChange]:
    """Compare two encoders language by language: over every direction with that language's queries, or one whole pool.

    Args:
        base: of the base encoder.
        specialised: of the specialised one, on the same sentences.

    Returns:
        By query language, in the order measured.

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

    The unit is the query: its differences in the several pools are averaged first, since they are the same sentence
    and not independent. The interval is Student's t over the queries, after one query that gained in every pool
    and one that lost in every pool are added, as Bonett and Price (2012) do for paired proportions. A bootstrap, or
    a plain t, has no width where no query changed, or all changed alike; here 20 queries without a change leave
    room for a change of several points, as they should. It says nothing of other pools than these.

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
    # Whole numbers until the last division: no change is 0 and not its last binary place.
    points = (after - before).sum(axis=0)
    widened = 100 * np.append(points, [pools, -pools]) / pools
    low, high = student_interval(widened, CONFIDENCE)
    return LanguageChange(
        difference=100 * int(points.sum()) / (pools * queries),
        low=max(-100.0, low),
        high=min(100.0, high),
        queries=queries,
    )


def flagged(changes: Mapping[str, Mapping[str, Any]]) -> dict[Verdict, dict[str, float]]:
    """Return which languages lose and which may lose, each with its difference in points, the worst first.

    Args:
        changes: the guard as it stands in metrics.json, by language.
    """
    found: dict[Verdict, dict[str, float]] = {}
    for verdict in (Verdict.LOSES, Verdict.MAY_LOSE):
        points = {
            language: change["difference"]
            for language, change in changes.items()
            if change["verdict"] == verdict
        }
        if points:
            found[verdict] = dict(sorted(points.items(), key=lambda item: item[1]))
    return found


def _other_sentences() -> DataError:
    return DataError(
        "base and specialised encoder were measured on different sentences; measure both on the same"
    )
