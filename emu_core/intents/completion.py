"""Joined encoders in languages that one of them never learnt: what another lets expect it to say."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.data.languages import unknown_languages
from emu_core.evaluation.arrays import Vectors, rows_by_language, unit_vectors
from emu_core.intents.space import Floats, scaled

# Of the ridge regression: what the squared vectors of all sentences add up to in a dimension, on the mean.
PENALTY = 1.0
MOST_FITTED = 6_000  # labelled sentences and names; of more, so many are drawn
LEAST_FITTED = 30  # sentences in each half; of fewer, nothing is learnt


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
        weight: (e, f), A.
        mean: (e,), m.
        other_mean: (f,), the mean of x, where A x + b is m.
        agreement: a.
    """

    start: int
    languages: tuple[str, ...]
    other_start: int
    other_languages: tuple[str, ...]
    weight: Floats
    mean: Floats
    other_mean: Floats
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
        units, starts = np.concatenate([vectors[drawn], *known]), np.cumsum([0, *dims])
        found = []
        for number in lacking:
            blank = cls(
                int(starts[number]),
                tuple(languages[number]),
                int(starts[other]),
                tuple(languages[other]),
                np.zeros((dims[number], dims[other]), dtype=np.float32),
                np.zeros(dims[number], dtype=np.float32),
                np.zeros(dims[other], dtype=np.float32),
                1.0,
            )
            agreement = float(blank._fitted(units[~is_asked])._agreements(units[is_asked]).mean())
            if agreement > 0:
                found.append(replace(blank._fitted(units), agreement=agreement))
        return found

    def _fitted(self, units: Floats) -> "Completion":
        """Return the regression on unit vectors (N, d). It is rounded as it is stored, so that both are the same."""
        y, x = self._parts(units)
        mean, other_mean = (_rounded(of.mean(axis=0)) for of in (y, x))
        away = (x - other_mean).astype(np.float64)
        products = away.T @ away
        penalty = PENALTY * products.trace() / len(products) + np.finfo(np.float32).tiny
        weight = np.linalg.solve(products + penalty * np.eye(len(products)), away.T @ (y - mean))
        return replace(self, weight=_rounded(weight.T), mean=mean, other_mean=other_mean)

    def _parts(self, units: Floats) -> tuple[Floats, Floats]:
        """Return the unit vectors of the part (N, e), and of the other one (N, f)."""
        e, f = self.weight.shape
        return (
            scaled(units[:, self.start : self.start + e]),
            scaled(units[:, self.other_start : self.other_start + f]),
        )

    def _away(self, x: Floats) -> Floats:
        """Return e - m, (N, e), for unit vectors (N, f)."""
        return np.asarray((x - self.other_mean) @ self.weight.T, dtype=np.float32)

    def _agreements(self, units: Floats) -> Floats:
        """Return cos(y - m, e - m) for unit vectors (N, d), (N,)."""
        y, x = self._parts(units)
        agreements: Floats = (scaled(y - self.mean) * scaled(self._away(x))).sum(axis=1)
        return agreements

    def completes(self, code: str) -> bool:
        """Whether the part has not learnt a language that the other one has."""
        return any(unknown_languages(self.languages, [code])) and not any(
            unknown_languages(self.other_languages, [code])
        )

    def completed(self, units: Floats) -> Floats:
        """Return unit vectors (N, d) of sentences in languages that the part never learnt, completed."""
        y, x = self._parts(units)
        share = np.clip(self._agreements(units) / np.float32(self.agreement), 0, 1)[:, None]
        columns = slice(self.start, self.start + len(self.mean))
        length = np.linalg.norm(units[:, columns], axis=1, keepdims=True)
        completed = units.copy()
        completed[:, columns] = length * scaled(share * y + (1 - share) * scaled(self._away(x) + self.mean))
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
        arrays = {"weight": self.weight, "mean": self.mean, "other_mean": self.other_mean}
        return facts, {f"completion_{number}_{name}": of.astype(np.float16) for name, of in arrays.items()}

    @classmethod
    def from_state(
        cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], number: int, d: int
    ) -> "Completion":
        """Return what has this `state`, for vectors of length d. Raises KeyError, TypeError or ValueError."""
        weight, mean, other_mean = (
            arrays[f"completion_{number}_{name}"] for name in ("weight", "mean", "other_mean")
        )
        starts = facts["start"], facts["other_start"]
        languages = facts["languages"], facts["other_languages"]
        agreement = float(facts["agreement"])
        are_whole = (
            weight.ndim == 2
            and weight.shape == (len(mean), len(other_mean))
            and (mean.ndim, other_mean.ndim) == (1, 1)
            and all(of.dtype.kind == "f" and np.isfinite(of).all() for of in (weight, mean, other_mean))
            and all(
                isinstance(start, int) and 0 <= start <= d - length
                for start, length in zip(starts, weight.shape, strict=True)
            )
            and all(isinstance(code, str) for codes in languages for code in codes)
            and np.isfinite(agreement)
            and agreement > 0
        )
        if not are_whole:
            raise ValueError("no completion of a joined encoder")
        return cls(
            starts[0],
            tuple(languages[0]),
            starts[1],
            tuple(languages[1]),
            weight.astype(np.float32),
            mean.astype(np.float32),
            other_mean.astype(np.float32),
            agreement,
        )


def completed(
    completions: Collection[Completion], units: Floats, languages: Sequence[str], labelled: Collection[str]
) -> Floats:
    """Return unit vectors (N, d) of sentences in some languages (N,), completed; none are known without languages.

    In languages with labels of their own, vectors are left as they are.
    """
    if not completions or not len(languages):
        return units
    units = units.copy()
    for code, rows in rows_by_language(languages, len(units)).items():
        if code and code not in labelled:
            for completion in completions:
                if completion.completes(code):
                    units[rows] = completion.completed(units[rows])
    return units


def _rounded(x: NDArray[Any]) -> Floats:
    return x.astype(np.float16).astype(np.float32)
