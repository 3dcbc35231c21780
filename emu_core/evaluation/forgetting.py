"""Catastrophic forgetting: whether a specialised encoder is still as good at similarity and translations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from emu_core.data.languages import language_name, split_pair
from emu_core.evaluation.arrays import Vectors, paired_cosines
from emu_core.evaluation.retrieval import translation_retrieval
from emu_core.evaluation.significance import paired_test
from emu_core.evaluation.similarity import check_scored

MOST_FALL_SPEARMAN = 0.02  # a larger fall is flagged
MOST_FALL_POINTS = 1.0  # points of retrieval accuracy
RESAMPLES = 1_000
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class ForgettingPart:
    """A part of the check."""

    title: str
    short: str  # its name before that of a measure: "STS de"
    unit: str
    most_fall: float  # the largest harmless fall
    places: int  # decimals of its figures


PARTS: Mapping[str, ForgettingPart] = MappingProxyType(
    {
        "sts": ForgettingPart(
            "Similarity of sentences", "STS", "Spearman's correlation", MOST_FALL_SPEARMAN, 3
        ),
        "translations": ForgettingPart("Finding translations", "translations", "points", MOST_FALL_POINTS, 1),
    }
)
"""The parts, by their names in forgetting.json."""


@dataclass(frozen=True)
class MeasureChange:
    """One measure of the base and of the specialised encoder.

    Attributes:
        base: Spearman's correlation (-1 to 1), or retrieval accuracy in percent.
        specialised: the same of the specialised encoder.
        difference: specialised minus base.
        low: lower end of the difference's 95 % interval.
        high: its upper end.
        count: the number of sentence pairs measured.
        flagged: whether the fall is larger than the largest harmless one.
    """

    base: float
    specialised: float
    difference: float
    low: float
    high: float
    count: int
    flagged: bool


class MeasureFigures(TypedDict):
    """A `MeasureChange` in JSON."""

    base: float
    specialised: float
    difference: float
    low: float
    high: float
    count: int
    flagged: bool


class ForgettingFigures(TypedDict):
    """A `Forgetting` in JSON."""

    sts: dict[str, MeasureFigures]
    translations: dict[str, MeasureFigures]
    flagged: list[str]
    measured_on: str


@dataclass(frozen=True)
class Forgetting:
    """The changes of a run's encoder on other tasks: the contents of forgetting.json.

    Attributes:
        sts: the change of Spearman's correlation by language.
        translations: the change of retrieval accuracy by direction "s-t".
        flagged: the names of measures that fell too far, such as "STS de".
        measured_on: a description of the small set, or "" if files were given.
    """

    sts: Mapping[str, MeasureChange]
    translations: Mapping[str, MeasureChange]
    flagged: Sequence[str] = ()
    measured_on: str = ""

    @property
    def parts(self) -> dict[str, Mapping[str, MeasureChange]]:
        """The measures by the names of `PARTS`."""
        return {"sts": self.sts, "translations": self.translations}


def measure_name(part: str, name: str) -> str:
    """Return "German" for "de" of STS, and "German to English" for the direction "de-en" of translations.

    A direction that can't be split into two codes is returned unchanged.
    """
    codes = [name] if part == "sts" else split_pair(name) or [name]
    return " to ".join(map(language_name, codes))


def similarity_change(
    base: tuple[Vectors, Vectors],
    specialised: tuple[Vectors, Vectors],
    scores: Sequence[float],
    *,
    seed: int = 0,
) -> MeasureChange:
    """Compare Spearman's correlation of cosines with human similarity scores (STS).

    The interval is a percentile bootstrap over sentence pairs, with the same draws for both encoders.

    Args:
        base: vectors (N, d) of the pairs' first and of their second sentences, by the base encoder.
        specialised: the same by the specialised encoder.
        scores: N similarities; only their order matters.
        seed: of the draws.

    Raises:
        DataError: there are fewer than 3 pairs, all scores or all of an encoder's cosines are equal, a score or a
            vector is not finite, or the lengths differ.
    """
    cosines = [paired_cosines(*vectors) for vectors in (base, specialised)]
    (_, wanted), _ = (check_scored(part, scores) for part in cosines)
    n = len(wanted)
    before, after = (float(_spearman(part[None], wanted[None])[0]) for part in cosines)
    draws = np.random.default_rng(seed).integers(0, n, (RESAMPLES, n))
    of_scores = wanted[draws]
    differences = _spearman(cosines[1][draws], of_scores) - _spearman(cosines[0][draws], of_scores)
    tail = 100 * (1 - _CONFIDENCE) / 2
    # A draw of equal scores, which occurs with few pairs, has no correlation.
    low, high = np.nanpercentile(differences, [tail, 100 - tail])
    return MeasureChange(
        before, after, after - before, float(low), float(high), n, before - after > MOST_FALL_SPEARMAN
    )


def retrieval_change(
    base: tuple[Vectors, Vectors], specialised: tuple[Vectors, Vectors], answers: Sequence[str]
) -> MeasureChange:
    """Compare how often a sentence's translation is its nearest neighbour by cosine among all translations.

    A neighbour with the translation's text is right, too. The interval is that of `paired_test`.

    Args:
        base: vectors (N, d) of the sentences and of their translations, in the same order, by the base encoder.
        specialised: the same by the specialised encoder.
        answers: the N translations.

    Raises:
        DataError: a vector is zero or not finite, or the lengths differ.
    """
    before, after = (
        translation_retrieval(*vectors, pool_texts=answers).correct for vectors in (base, specialised)
    )
    test = paired_test(before, after)
    return MeasureChange(
        base=100 * float(before.mean()),
        specialised=100 * float(after.mean()),
        difference=test.difference,
        low=test.low,
        high=test.high,
        count=len(before),
        # Counts of sentences, so that a fall of exactly 1 point does not depend on rounding.
        flagged=100 * (test.lost - test.gained) > MOST_FALL_POINTS * len(before),
    )


def _spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank correlation of each draw, (draws, N) twice to (draws,); NaN where all values are equal."""
    from scipy.stats import rankdata

    a, b = (rankdata(values, axis=1) for values in (first, second))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    lengths = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return np.divide((a * b).sum(axis=1), lengths, out=np.full(len(a), np.nan), where=lengths > 0)
