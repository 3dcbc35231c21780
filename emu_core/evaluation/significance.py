"""Statistical significance: intervals of an accuracy, and paired tests of two encoders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors


class Interval(NamedTuple):
    """A confidence interval, in percent."""

    low: float
    high: float


@dataclass(frozen=True)
class PairedTest:
    """Two encoders on the same sentences.

    Attributes:
        gained: sentences that only the other encoder has right.
        lost: sentences that only the base encoder has right.
        p_value: exact McNemar test, two-sided.
        difference: other minus base, in points.
        low: lower end of the difference's confidence interval, in points.
        high: its upper end.
    """

    gained: int
    lost: int
    p_value: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """The points by which one system leads another on the same queries.

    Attributes:
        points: the difference of their accuracies, each a mean over directions.
        low: lower end of its confidence interval.
        high: its upper end.
    """

    points: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether zero is outside the interval."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.points:+.1f} ({self.low:+.1f} to {self.high:+.1f})"


@dataclass(frozen=True)
class SignedRank:
    """A Wilcoxon signed-rank test, two-sided.

    Attributes:
        statistic: the smaller sum of ranks.
        p_value: exact for up to 50 differences, or up to 13 where some are equal in size.
        n: differences that are not zero.
    """

    statistic: float
    p_value: float
    n: int


def binomial_interval(correct: int, n: int, confidence: float = 0.95) -> Interval:
    """Return the Wilson interval of an accuracy, in percent.

    Emu's Table 2 takes its stars from binomial intervals of an unspecified kind; Wilson's keeps its confidence for few
    sentences and for accuracies near 0 and 100 %.

    Args:
        correct: the number of right sentences.
        n: the number of sentences, at least 1.
        confidence: between 0 and 1.

    Raises:
        DataError: a number is outside its range.
    """
    _check_confidence(confidence)
    if not 0 <= correct <= n or n < 1:
        raise DataError(f"{correct} of {n} sentences can't be right; give 0 to n right ones of one or more")
    share, square = correct / n, _normal_quantile(confidence) ** 2
    middle = share + square / (2 * n)
    margin = np.sqrt(square * (share * (1 - share) / n + square / (4 * n**2)))
    low, high = (middle - margin) / (1 + square / n), (middle + margin) / (1 + square / n)
    return Interval(100 * float(low) if correct else 0.0, 100 * float(high) if correct < n else 100.0)


def accuracy_interval(correct: NDArray[np.bool_], confidence: float = 0.95) -> Interval:
    """Return the `binomial_interval` of N sentences, given whether each is right."""
    return binomial_interval(int(np.sum(correct)), len(correct), confidence)


def mean_interval(values: Vectors, confidence: float = 0.95) -> Interval:
    """Return an interval of the mean of scores from 0 to 1, in percent.

    Student's t over the scores and one additional score each of 0 and 1, as in `paired_change`: a plain t interval
    has no width where all scores are equal.

    Args:
        values: (N,) scores, such as average precisions.
        confidence: between 0 and 1.

    Raises:
        DataError: there is no score, one is outside 0 to 1, or the confidence is out of range.
    """
    _check_confidence(confidence)
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or not ((scores >= 0) & (scores <= 1)).all():
        raise DataError("an interval needs one or more scores from 0 to 1")
    low, high = np.clip(student_interval(np.append(scores, [0.0, 1.0]), confidence), 0, 1)
    return Interval(100 * float(low), 100 * float(high))


def student_interval(values: Vectors, confidence: float) -> tuple[float, float]:
    """Return Student's t interval of the mean of values (N,)."""
    n = len(values)
    margin = stdtrit(n - 1, 0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(n)
    return float(values.mean() - margin), float(values.mean() + margin)


def paired_test(
    base_correct: NDArray[np.bool_], other_correct: NDArray[np.bool_], confidence: float = 0.95
) -> PairedTest:
    """Test whether another encoder has more sentences right than the base one.

    The p-value is that of the exact McNemar test (a binomial test of the sentences on which the two differ). The
    interval is Bonett and Price's (2012) adjusted Wald interval for a paired difference; it does not invert that test,
    so that in a borderline case the two may disagree.

    Test one language pair at a time: translations of one sentence are not independent, and pooling them makes p-values
    too small.

    Args:
        base_correct: (N,), whether the base encoder has each sentence right.
        other_correct: (N,), the same of the other encoder, in the same order.
        confidence: of the interval, between 0 and 1.

    Raises:
        DataError: there is no sentence, the two differ in length, or the confidence is out of range.
    """
    from scipy.stats import binomtest

    _check_confidence(confidence)
    base, other = np.asarray(base_correct, dtype=bool), np.asarray(other_correct, dtype=bool)
    if base.shape != other.shape or base.ndim != 1 or not len(base):
        raise DataError(
            f"{base.size:,} and {other.size:,} sentences can't be paired; measure both encoders on the same sentences"
        )
    n = len(base)
    gained, lost = int((~base & other).sum()), int((base & ~other).sum())
    p_value = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    # Bonett and Price add a gained and a lost sentence, which moves the interval towards no difference.
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    margin = _normal_quantile(confidence) * np.sqrt((up + down - (up - down) ** 2) / (n + 2))
    low, high = np.clip([up - down - margin, up - down + margin], -1, 1)
    return PairedTest(gained, lost, p_value, 100 * (gained - lost) / n, 100 * float(low), 100 * float(high))


def wilcoxon(differences: Sequence[float] | Vectors) -> SignedRank:
    """Test whether differences lie around zero (Wilcoxon signed-rank test; Emu, Table 5, over the language pairs).

    Differences of zero are left out, as by Wilcoxon; if all are zero the p-value is 1.

    Args:
        differences: points of accuracy, one for each language pair.

    Raises:
        DataError: there is none, or one is not finite.
    """
    from scipy import stats

    points = np.asarray(differences, dtype=np.float64).ravel()
    if not len(points) or not np.isfinite(points).all():
        raise DataError(
            "the test needs one or more finite differences; leave out pairs that were not measured"
        )
    # Equal differences of percentages must have equal ranks, whatever their rounding error.
    points = points.round(9)
    points = points[points != 0]
    if not len(points):
        return SignedRank(0.0, 1.0, 0)
    result = stats.wilcoxon(points)
    return SignedRank(float(result.statistic), float(result.pvalue), len(points))


BOOTSTRAP_DRAWS = 2000


def paired_bootstrap(
    differences: Sequence[Vectors],
    sentences: Sequence[NDArray[np.integer]],
    confidence: float = 0.95,
    draws: int = BOOTSTRAP_DRAWS,
) -> Difference:
    """Return the mean difference of two systems, with the interval of a bootstrap over sentences.

    The accuracy is a mean over directions, each counting once. Whole sentences are drawn, in all directions and
    languages together, because the translations of a sentence are not independent: with 99 sentences in six languages,
    there are 99 of them and not 594. Percentiles of the draws, which begin with seed 0; the systems are taken as they
    are, so the interval does not cover other training sentences.

    Args:
        differences: by direction, one system's answers minus the other's, (queries,) each: -1, 0 or 1, or means over
            seeds.
        sentences: by direction, the number of each query's sentence, 0 or more, the same for its translations.
        confidence: between 0 and 1.
        draws: of as many sentences as there are, with replacement.

    Raises:
        DataError: there is no direction, one has no query, or the lengths differ.
    """
    _check_confidence(confidence)
    if not differences or not all(map(len, differences)):
        raise DataError("a difference needs one query or more in every direction")
    if list(map(len, differences)) != list(map(len, sentences)):
        raise DataError("each query needs the number of its sentence")
    numbers = np.unique(np.concatenate(list(sentences)), return_inverse=True)[1]
    rows = np.split(numbers, np.cumsum([len(part) for part in sentences])[:-1])
    n = int(numbers.max()) + 1
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)
    # By sentence and direction (n, D): the sum of its differences, and how often it is asked.
    sums = np.stack([np.bincount(own, values, n) for values, own in zip(differences, rows, strict=True)], 1)
    counts = np.stack([np.bincount(own, minlength=n) for own in rows], 1).astype(np.float64)
    whole = np.array([np.mean(values) for values in differences])
    asked = drawn @ counts  # (draws, D)
    # A draw that has none of a direction's sentences says nothing about it: there it is as measured.
    means = np.where(asked > 0, drawn @ sums / np.maximum(asked, 1), whole).mean(axis=1)
    tail = (1 - confidence) / 2
    low, high = 100 * np.quantile(means, [tail, 1 - tail])
    return Difference(100 * float(whole.mean()), float(low), float(high))


def _normal_quantile(confidence: float) -> float:
    return float(ndtri(0.5 + confidence / 2))


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise DataError(f"confidence must be between 0 and 1, not {confidence}; 0.95 is usual")
