"""Pairs of utterances with one template and other slot values (FMDA, sections 4.3.2 and 4.6)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from emu_core.data.slots.utterances import Utterance
from emu_core.data.wording import counted
from emu_core.errors import DataError


class LeftOut(StrEnum):
    """Why an utterance is no source."""

    NO_SLOT = "it has no slot"
    ONE_VALUE = "one of its slots has no other value in its language"
    TOO_FEW_VALUES = "its slots have too few other values for so many different targets"
    SAME_TEMPLATE = "its template is a source already"


@dataclass(frozen=True)
class TemplatePairs:
    """N utterances, each with K of the same template in the same language that differ in every slot's value."""

    sources: tuple[Utterance, ...]  # N utterances
    targets: tuple[tuple[Utterance, ...], ...]  # for each of them its K, all different
    rows: tuple[int, ...]  # for each source its row number among the utterances given
    left_out: dict[LeftOut, tuple[int, ...]]  # row numbers of the others, by why

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self.sources)

    @property
    def source_texts(self) -> tuple[str, ...]:
        """The N sources' sentences."""
        return tuple(one.text for one in self.sources)

    @property
    def target_texts(self) -> tuple[str, ...]:
        """The targets' sentences, N * K: those of the first source, then those of the second, and so on."""
        return tuple(one.text for of_source in self.targets for one in of_source)


def template_pairs(
    utterances: Sequence[Utterance], *, each: int = 1, seed: int = 0, distinct_templates: bool = False
) -> TemplatePairs:
    """Give each utterance others that differ from it in the value of every slot and in nothing else.

    A slot's new value is drawn from the values that slots of its name have in the given utterances of its language, its
    own (whatever its case and outer spaces) left out. Targets keep the source's intent and id.

    Args:
        utterances: of one language or several.
        each: K, targets a source.
        seed: of the draws, 0 or more.
        distinct_templates: only the first utterance of each template becomes a source. In retrieval two sources of one
            template would make each other's targets as right as their own.

    Raises:
        DataError: a number is out of range, or no utterance can be a source.
    """
    if each < 1 or seed < 0:
        raise DataError(
            f"can't draw {each} targets with seed {seed}; give 1 or more, and a seed of 0 or more"
        )
    values = _values(utterances)
    rng = np.random.default_rng(seed)
    found_of: dict[int, tuple[Utterance, ...]] = {}
    left_out: dict[LeftOut, list[int]] = {}
    templates: set[tuple[str, str]] = set()
    for row, one in enumerate(utterances):
        template = (one.language, one.template.casefold())
        if distinct_templates and one.slots and template in templates:
            found: tuple[Utterance, ...] | LeftOut = LeftOut.SAME_TEMPLATE
        else:
            found = _targets(one, values, each, rng)
        if isinstance(found, LeftOut):
            left_out.setdefault(found, []).append(row)
        else:
            found_of[row] = found
            templates.add(template)
    if not found_of:
        why = "; ".join(f"{counted(len(rows), 'utterance')}: {reason}" for reason, rows in left_out.items())
        raise DataError(
            f"no utterance's slots can be given {counted(each, 'other value')} ({why or 'there is none'}); add "
            "annotated utterances, such as 'wake me up at [time : five am]'"
        )
    return TemplatePairs(
        sources=tuple(utterances[row] for row in found_of),
        targets=tuple(found_of.values()),
        rows=tuple(found_of),
        left_out={reason: tuple(rows) for reason, rows in left_out.items()},
    )


@dataclass(frozen=True)
class _Values:
    """The different values of one slot name in one language: each as first written, and its place."""

    written: list[str]
    places: dict[str, int]

    def add(self, value: str) -> None:
        if _folded(value) not in self.places:
            self.places[_folded(value)] = len(self.written)
            self.written.append(value)

    def other(self, value: str, choice: int) -> str:
        """Return the value of that number when `value` itself is not counted."""
        return self.written[choice + (choice >= self.places[_folded(value)])]


def _values(utterances: Sequence[Utterance]) -> dict[tuple[str, str], _Values]:
    found: dict[tuple[str, str], _Values] = {}
    for one in utterances:
        for slot in one.slots:
            found.setdefault((one.language, slot.name), _Values([], {})).add(slot.value)
    return found


def _targets(
    one: Utterance, values: dict[tuple[str, str], _Values], each: int, rng: np.random.Generator
) -> tuple[Utterance, ...] | LeftOut:
    if not one.slots:
        return LeftOut.NO_SLOT
    of_slots = [values[one.language, slot.name] for slot in one.slots]
    sizes = [len(of_slot.written) - 1 for of_slot in of_slots]
    # A number for each way to fill the slots; more than fit into 63 bits are never needed.
    ways = min(math.prod(sizes), 2**62)
    if not ways:
        return LeftOut.ONE_VALUE
    found: dict[str, Utterance] = {}
    for way in rng.choice(ways, min(ways, 2 * each), replace=False).tolist():
        digits = _digits(way, sizes)
        chosen = [
            of_slot.other(slot.value, digit)
            for slot, of_slot, digit in zip(one.slots, of_slots, digits, strict=True)
        ]
        filled = one.filled(chosen)
        if _folded(filled.text) != _folded(one.text):
            found.setdefault(_folded(filled.text), filled)
        if len(found) == each:
            return tuple(found.values())
    return LeftOut.TOO_FEW_VALUES


def _digits(number: int, sizes: Sequence[int]) -> list[int]:
    digits = []
    for size in sizes:
        number, digit = divmod(number, size)
        digits.append(digit)
    return digits


def _folded(value: str) -> str:
    return value.strip().casefold()
