"""How answers are calibrated in each language: by its labels, by unlabelled sentences, or by built-in translations."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.intents.calibration import Calibration, Shift

ON_SUBJECT = 0.75  # likeness from which sentences calibrate their language
STRANGE = 0.5  # likeness below which they are taken for strangers, which decide nothing
LEAST_LABELLED = 30  # sentences with which a language has labels of its own, unless no language has as many
Spoken = Sequence[str] | NDArray[np.object_]  # Q language codes, "" for an unknown one; none for unknown ones


def labelled_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that have labels of their own, sorted, given those of P labelled sentences.

    Others have a few, which say little of the scores and vectors of their sentences.
    """
    counts = Counter(filter(None, languages))
    least = min(LEAST_LABELLED, max(counts.values(), default=0))
    return tuple(sorted(code for code, count in counts.items() if count >= least))


@dataclass(frozen=True, eq=False)
class Calibrations:
    """The calibration of every language.

    Attributes:
        labelled: the languages with labels of their own, see `labelled_languages`.
        held_out: by language with enough right answers to held-out sentences of its own; "" for all others.
        shifts: by language of which unlabelled sentences were seen.
        expected: by built-in language without labels, how much scores are to be raised; "" for other ones.
    """

    labelled: tuple[str, ...]
    held_out: dict[str, Calibration]
    shifts: dict[str, Shift] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)

    @property
    def usual(self) -> Calibration:
        """That of all languages without their own."""
        return self.held_out[""]

    @property
    def by_themselves(self) -> tuple[str, ...]:
        """The languages that their own labels calibrate."""
        return tuple(sorted(filter(None, self.held_out)))

    @property
    def adapted(self) -> tuple[str, ...]:
        """The languages that unlabelled sentences calibrate."""
        return tuple(sorted(code for code, shift in self.shifts.items() if shift.likeness >= ON_SUBJECT))

    @property
    def strange(self) -> tuple[str, ...]:
        """The languages whose unlabelled sentences may be about something else than the labelled ones."""
        return tuple(sorted(set(self.shifts) - set(self.adapted)))

    def shift(self, code: str) -> Shift:
        """Return how answers in a language are moved to what is known of others; "" is an unknown one."""
        if code in self.shifts:
            return self.shifts[code]
        if not code or code in self.labelled or code in self.held_out:
            return Shift(0.0, 1.0)
        return Shift(self.expected.get(code, self.expected.get("", 0.0)), 1.0)

    def shifted(self, shifts: Mapping[str, Shift]) -> "Calibrations":
        """Return the calibrations with those of unlabelled sentences."""
        return replace(self, shifts=self.shifts | dict(shifts))

    def without_shifts(self, languages: Collection[str]) -> "Calibrations":
        """Return the calibrations without those of unlabelled sentences in some languages."""
        return replace(self, shifts={code: of for code, of in self.shifts.items() if code not in languages})

    def of_each(self, languages: Spoken, count: int) -> Iterator[tuple[NDArray[np.intp], Calibration, Shift]]:
        """Yield the rows of each language among so many sentences, with how they are calibrated."""
        spoken = np.asarray(languages if len(languages) else [""] * count, dtype=object)
        for code in set(spoken.tolist()):
            yield np.flatnonzero(spoken == code), self.held_out.get(code, self.usual), self.shift(code)

    def sharpness(self, languages: Spoken, count: int) -> NDArray[np.float64]:
        """Return what the scores of so many sentences are multiplied by, (Q,)."""
        sharpness = np.ones(count)
        for rows, calibration, shift in self.of_each(languages, count):
            sharpness[rows] = shift.sharpness / (calibration.temperature or 1.0)
        return sharpness

    def is_known(self, score: NDArray[np.float64], languages: Spoken) -> NDArray[np.bool_]:
        """Return which of the scores (Q,) are not below the threshold of their language."""
        is_known = np.ones(len(score), dtype=bool)
        for rows, calibration, shift in self.of_each(languages, len(score)):
            if calibration.threshold is not None:
                is_known[rows] = score[rows] + shift.score >= calibration.threshold
        return is_known

    def facts(self) -> dict[str, Any]:
        """Return what `from_facts` takes, as values for JSON."""
        return {
            "calibrations": {code: list(astuple(of)) for code, of in self.held_out.items()},
            "shifts": {code: list(shift) for code, shift in self.shifts.items()},
            "expected": self.expected,
            "labelled_languages": list(self.labelled),
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "Calibrations":
        """Return the calibrations whose `facts` these are. Raises KeyError, TypeError or ValueError."""
        self = cls(
            tuple(facts["labelled_languages"]),
            {code: Calibration(*of) for code, of in dict(facts["calibrations"]).items()},
            {code: Shift(*numbers) for code, numbers in dict(facts["shifts"]).items()},
            dict(facts["expected"]),
        )
        of_held_out = chain.from_iterable(map(astuple, self.held_out.values()))
        at_least_0 = (*chain.from_iterable(self.shifts.values()), *self.expected.values())
        are_whole = (
            "" in self.held_out
            and all(number is None or is_number(number) for number in of_held_out)
            and all(of.temperature is None or of.temperature > 0 for of in self.held_out.values())
            and all(is_number(number) and number >= 0 for number in at_least_0)
            and all(isinstance(code, str) for code in (*self.shifts, *self.expected, *self.labelled))
        )
        if not are_whole:
            raise ValueError("no calibrations by language")
        return self


def is_number(value: Any) -> bool:
    """Whether a value that was read is a finite number."""
    return isinstance(value, float | int) and bool(np.isfinite(value))
