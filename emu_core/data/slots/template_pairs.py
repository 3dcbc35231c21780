"""Pairs of utterances with the same template and different slot values (FMDA, sections 4.3.2 and 4.6)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from emu_core.data.slots.utterances import Utterance
from emu_core.data.wording import counted
from emu_core.errors import DataError


class LeftOut(StrEnum):
    """The reason why an utterance is no source."""

    NO_SLOT = "it has no slot"
    ONE_VALUE = "one of its slots has no other value in its language"
    TOO_FEW_VALUES = "its slots have too few other values for so many different targets"
    SAME_TEMPLATE = "its template is a source already"


@dataclass(frozen=True)
class TemplatePairs:
    """N utterances, each with K different ones of the same template and language that differ in every slot's value."""

    sources: tuple[Utterance, ...]  # N
    targets: tuple[tuple[Utterance, ...], ...]  # N x K
    rows: tuple[int, ...]  # each source's row among the given utterances
    left_out: dict[LeftOut, tuple[int, ...]]  # the rows of the others, by reason

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def source_texts(self) -> tuple[str, ...]:
        """The N sources' sentences."""
        return tuple(one.text for one in self.sources)

    @property
    def target_texts(self) -> tuple[str, ...]:
        """The targets' N * K sentences, source by source."""
        return tuple(one.text for of_source in self.targets for one in of_source)


def template_pairs(
    utterances: Sequence[Utterance], *, each: int = 1, seed: int = 0, distinct_templates: bool = False
) -> TemplatePairs:
    """Pair each utterance with others that differ from it in the value of every slot and in nothing else.

    A slot's new value is drawn from the other values of its name in the given utterances of its language; case and
    outer spaces do not count. Targets keep the source's intent and id.

    Args:
        utterances: in one or more languages.
        each: K, targets of a source.
        seed: of the draws, 0 or more.
        distinct_templates: only the first utterance of each template becomes a source: in retrieval, the targets of
            two sources of one template would be equally right for both.

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
        is_repeated = distinct_templates and bool(one.slots) and template in templates
        found = LeftOut.SAME_TEMPLATE if is_repeated else _targets(one, values, each, rng)
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


class _Values(NamedTuple):
    """The distinct values of a slot name in a language: each as first written, and its place by its folded form."""

    written: list[str]
    places: dict[str, int]


def _values(utterances: Sequence[Utterance]) -> dict[tuple[str, str], _Values]:
    found: dict[tuple[str, str], _Values] = {}
    for one in utterances:
        for slot in one.slots:
            values = found.setdefault((one.language, slot.name), _Values([], {}))
            if _folded(slot.value) not in values.places:
                values.places[_folded(slot.value)] = len(values.written)
                values.written.append(slot.value)
    return found


def _targets(
    one: Utterance, values: dict[tuple[str, str], _Values], each: int, rng: np.random.Generator
) -> tuple[Utterance, ...] | LeftOut:
    if not one.slots:
        return LeftOut.NO_SLOT
    of_slots = [values[one.language, slot.name] for slot in one.slots]
    owns = [of_slot.places[_folded(slot.value)] for slot, of_slot in zip(one.slots, of_slots, strict=True)]
    # A number for each way to fill the slots; 62 bits of them are always enough.
    ways = min(math.prod(len(of_slot.written) - 1 for of_slot in of_slots), 2**62)
    if not ways:
        return LeftOut.ONE_VALUE
    found: dict[str, Utterance] = {}
    for way in rng.choice(ways, min(ways, 2 * each), replace=False).tolist():
        rest, chosen = way, []
        for of_slot, own in zip(of_slots, owns, strict=True):
            rest, place = divmod(rest, len(of_slot.written) - 1)
            chosen.append(of_slot.written[place + (place >= own)])  # its own value is skipped
        filled = one.filled(chosen)
        if _folded(filled.text) != _folded(one.text):
            found.setdefault(_folded(filled.text), filled)
        if len(found) == each:
            return tuple(found.values())
    return LeftOut.TOO_FEW_VALUES


def _folded(value: str) -> str:
    return value.strip().casefold()
