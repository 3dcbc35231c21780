"""Joined encoders in languages that one of them never learnt: what another lets expect it to say."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu_core.data.languages import unknown_languages
from emu_core.evaluation.arrays import Vectors, rows_by_language, unit_vectors
from emu_core.intents.space import Floats, as_stored, scaled

# Of the ridge regression: what the squared vectors of all sentences add up to in a dimension, on the mean.
PENALTY = 1.0
MOST_FITTED = 6_000  # labelled sentences and names; of more, so many are drawn
LEAST_FITTED = 30  # sentences in each half; of fewer, nothing is learnt


class Regression(NamedTuple):
    """A ridge regression of unit vectors (N, e) on unit vectors (N, f), both without their means.

    It is rounded as it is stored, so that both are the same.

    Attributes:
        weight: (e, f).
        mean: (e,).
        other_mean: (f,).
    """

    weight: Floats
    mean: Floats
    other_mean: Floats

    @classmethod
    def fit(cls, y: Floats, x: Floats) -> "Regression":
        """Fit it on (N, e) and (N, f)."""
        from sklearn.linear_model import Ridge

        mean, other_mean = (as_stored(of.mean(axis=0)) for of in (y, x))
        away = (x - other_mean).astype(np.float64)
        penalty = PENALTY * np.square(away).sum() / away.shape[1] + np.finfo(np.float32).tiny
        ridge = Ridge(penalty, fit_intercept=False, solver="cholesky").fit(away, y - mean)
        return cls(as_stored(ridge.coef_), mean, other_mean)

    def away(self, x: Floats) -> Floats:
        """Return how far from the mean it expects (N, e) to be, given (N, f)."""
        return np.asarray((x - self.other_mean) @ self.weight.T, dtype=np.float32)

    def agreements(self, y: Floats, x: Floats) -> Floats:
        """Return the cosine of that and of how far (N, e) is, (N,)."""
        agreements: Floats = (scaled(y - self.mean) * scaled(self.away(x))).sum(axis=1)
        return agreements


@dataclass(frozen=True, eq=False)
class Completion:
    """Completes the vectors of a joined encoder in the languages that one of its parts never learnt.

    With y the unit vector of such a part, x that of the part that has learnt the most languages, A and b a ridge
    regression of y on x in languages that both know, and m the mean of y there, y becomes in all others

        s y + (1 - s) e,  e = A x + b,  s = clip(cos(y - m, e - m) / a, 0, 1)

    as long as it was; a is the mean of that cosine for new sentences in languages that both know. What a part says of a
    language that it never learnt so counts as far as it goes together with what the other one says: more of it in
    Danish, which reads like German, than in Hungarian.

    Attributes:
        start: the first column of the part, which has e columns.
        languages: those that it has learnt.
        other_start: the first column of the other part, which has f columns.
        other_languages: those that the other part has learnt.
        regression: of y on x.
        agreement: a.
    """

    start: int
    languages: tuple[str, ...]
    other_start: int
    other_languages: tuple[str, ...]
    regression: Regression
    agreement: float

    @classmethod
    def of_parts(
        cls,
        dims: Sequence[int],
        languages: Sequence[Sequence[str]],
        vectors: Floats,
        groups: NDArray[np.int64],
        reference: Mapping[str, Vectors],
    ) -> "list[Completion]":
        """Learn to complete each part that has learnt fewer languages than another.

        Args:
            dims: the lengths of the parts, whose sum is d.
            languages: by part, those that it has learnt; none where that is not known.
            vectors: (N, d), of labelled sentences and of names.
            groups: (N,), from 0, equal for translations and repeats.
            reference: by language, which all parts have learnt, vectors (M, d) of the same M sentences.
        """
        if len(languages) < 2:
            return []
        other = max(range(len(languages)), key=lambda number: len(languages[number]))
        lacking = [
            number
            for number, learnt in enumerate(languages)
            if any(unknown_languages(learnt, languages[other]))
        ]
        if not lacking:
            return []
        drawn = np.random.default_rng(0).permutation(len(vectors))[:MOST_FITTED]
        known = [unit_vectors(of) for of in reference.values()]
        first = groups.max(initial=-1) + 1
        numbers = np.concatenate([groups[drawn], *(first + np.arange(len(of)) for of in known)])
        is_asked = np.random.default_rng(0).permutation(numbers.max(initial=-1) + 1)[numbers] % 2 == 0
        if min(is_asked.sum(), (~is_asked).sum()) < LEAST_FITTED:
            return []
        starts = np.cumsum([0, *dims]).tolist()
        units = np.split(np.concatenate([vectors[drawn], *known]), starts[1:-1], axis=1)
        x, found = scaled(units[other]), list[Completion]()
        for number in lacking:
            y, learnt = scaled(units[number]), tuple(languages[number])
            half = Regression.fit(y[~is_asked], x[~is_asked])
            agreement = float(half.agreements(y[is_asked], x[is_asked]).mean())
            if agreement > 0:
                whole = Regression.fit(y, x)
                of_other = starts[other], tuple(languages[other])
                found.append(cls(starts[number], learnt, *of_other, whole, agreement))
        return found

    def completes(self, code: str) -> bool:
        """Whether the part has not learnt a language that the other one has."""
        return any(unknown_languages(self.languages, [code])) and not any(
            unknown_languages(self.other_languages, [code])
        )

    def completed(self, units: Floats) -> Floats:
        """Return unit vectors (N, d) of sentences in languages that the part never learnt, completed."""
        e, f = self.regression.weight.shape
        columns = slice(self.start, self.start + e)
        y, x = scaled(units[:, columns]), scaled(units[:, self.other_start : self.other_start + f])
        share = np.clip(self.regression.agreements(y, x) / np.float32(self.agreement), 0, 1)[:, None]
        expected = scaled(self.regression.away(x) + self.regression.mean)
        length = np.linalg.norm(units[:, columns], axis=1, keepdims=True)
        completed = units.copy()
        completed[:, columns] = length * scaled(share * y + (1 - share) * expected)
        return completed

    def state(self, number: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what `from_state` takes: values for JSON, and arrays, named by a number."""
        facts = {
            "start": self.start,
            "languages": list(self.languages),
            "other_start": self.other_start,
            "other_languages": list(self.other_languages),
            "agreement": self.agreement,
        }
        arrays = self.regression._asdict().items()
        return facts, {f"completion_{number}_{name}": of.astype(np.float16) for name, of in arrays}

    @classmethod
    def from_state(
        cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], number: int, d: int
    ) -> "Completion":
        """Return what has this `state`, for vectors of length d. Raises KeyError, TypeError or ValueError."""
        stored = Regression(*(arrays[f"completion_{number}_{name}"] for name in Regression._fields))
        starts = facts["start"], facts["other_start"]
        languages = facts["languages"], facts["other_languages"]
        agreement = float(facts["agreement"])
        are_whole = (
            (stored.mean.ndim, stored.other_mean.ndim) == (1, 1)
            and stored.weight.shape == (len(stored.mean), len(stored.other_mean))
            and all(of.dtype.kind == "f" and np.isfinite(of).all() for of in stored)
            and all(
                isinstance(start, int) and 0 <= start <= d - length
                for start, length in zip(starts, stored.weight.shape, strict=True)
            )
            and all(isinstance(code, str) for codes in languages for code in codes)
            and np.isfinite(agreement)
            and agreement > 0
        )
        if not are_whole:
            raise ValueError("no completion of a joined encoder")
        regression = Regression(*(of.astype(np.float32) for of in stored))
        return cls(starts[0], tuple(languages[0]), starts[1], tuple(languages[1]), regression, agreement)


def completed(
    completions: Collection[Completion], units: Floats, languages: Sequence[str], labelled: Collection[str]
) -> Floats:
    """Return unit vectors (N, d) of sentences in some languages (N,), completed; none are known without languages.

    In languages with labels of their own, vectors are left as they are.
    """
    others = {*languages} - {"", *labelled}
    lacking = {code: [of for of in completions if of.completes(code)] for code in others}
    if not any(lacking.values()):
        return units
    units = units.copy()
    for code, rows in rows_by_language(languages, len(units)).items():
        for completion in lacking.get(code, ()):
            units[rows] = completion.completed(units[rows])
    return units
