"""Pairs of utterances with the same template and different slot values (FMDA, sections 4.3.2 and 4.6)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from emu_core.data.cleaning import normal_form
from emu_core.data.slots.utterances import Utterance
from emu_core.data.wording import counted
from emu_core.errors import DataError


class LeftOutReason(StrEnum):
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
    left_out: dict[LeftOutReason, tuple[int, ...]]  # the rows of the others, by reason

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def source_texts(self) -> tuple[str, ...]:
        """The N sources' sentences."""
        return tuple(source.text for source in self.sources)

    @property
    def target_texts(self) -> tuple[str, ...]:
        """The targets' N * K sentences, source by source."""
        return tuple(target.text for targets in self.targets for target in targets)


def template_pairs(
    utterances: Sequence[Utterance], *, target_count: int = 1, seed: int = 0, distinct_templates: bool = False
) -> TemplatePairs:
    """Pair each utterance with others that differ from it in the value of every slot and in nothing else.

    A slot's new value is drawn from the other values of its name in the given utterances of its language; values that
    have the same `normal_form` are one. Targets keep the source's intent and id.

    Args:
        utterances: in one or more languages.
        target_count: K, the targets of a source.
        seed: of the draws, 0 or more.
        distinct_templates: only the first utterance of each template becomes a source: in retrieval, the targets of
            two sources of one template would be equally right for both.

    Raises:
        DataError: a number is out of range, or no utterance can be a source.
    """
    if target_count < 1 or seed < 0:
        raise DataError(
            f"can't draw {target_count} targets with seed {seed}; give 1 or more, and a seed of 0 or more"
        )
    slot_values = _slot_values(utterances)
    rng = np.random.default_rng(seed)
    targets_by_row: dict[int, tuple[Utterance, ...]] = {}
    left_out: dict[LeftOutReason, list[int]] = {}
    templates: set[tuple[str, str]] = set()
    for row, utterance in enumerate(utterances):
        template = (utterance.language, normal_form(utterance.template))
        is_repeated = distinct_templates and bool(utterance.slots) and template in templates
        targets = (
            LeftOutReason.SAME_TEMPLATE
            if is_repeated
            else _targets(utterance, slot_values, target_count, rng)
        )
        if isinstance(targets, LeftOutReason):
            left_out.setdefault(targets, []).append(row)
        else:
            targets_by_row[row] = targets
            templates.add(template)
    if not targets_by_row:
        why = "; ".join(f"{counted(len(rows), 'utterance')}: {reason}" for reason, rows in left_out.items())
        raise DataError(
            f"no utterance's slots can be given {counted(target_count, 'other value')} ({why or 'there is none'}); add "
            "annotated utterances, such as 'wake me up at [time : five am]'"
        )
    return TemplatePairs(
        sources=tuple(utterances[row] for row in targets_by_row),
        targets=tuple(targets_by_row.values()),
        rows=tuple(targets_by_row),
        left_out={reason: tuple(rows) for reason, rows in left_out.items()},
    )


class _SlotValues(NamedTuple):
    """The distinct values of a slot name in a language: each as first written, and its number by its folded form."""

    written: list[str]
    numbers: dict[str, int]


def _slot_values(utterances: Sequence[Utterance]) -> dict[tuple[str, str], _SlotValues]:
    """Return the values of each language and slot name."""
    slot_values: dict[tuple[str, str], _SlotValues] = {}
    for utterance in utterances:
        for slot in utterance.slots:
            values = slot_values.setdefault((utterance.language, slot.name), _SlotValues([], {}))
            if normal_form(slot.value) not in values.numbers:
                values.numbers[normal_form(slot.value)] = len(values.written)
                values.written.append(slot.value)
    return slot_values


def _targets(
    source: Utterance,
    slot_values: dict[tuple[str, str], _SlotValues],
    count: int,
    rng: np.random.Generator,
) -> tuple[Utterance, ...] | LeftOutReason:
    """Draw `count` different utterances with another value in every slot of the source, or say why there are none."""
    if not source.slots:
        return LeftOutReason.NO_SLOT
    values_by_slot = [slot_values[source.language, slot.name] for slot in source.slots]
    source_numbers = [
        values.numbers[normal_form(slot.value)]
        for slot, values in zip(source.slots, values_by_slot, strict=True)
    ]
    # Each way to fill the slots has a number, whose digits are the slots' values; 62 bits are always enough.
    ways = min(math.prod(len(values.written) - 1 for values in values_by_slot), 2**62)
    if not ways:
        return LeftOutReason.ONE_VALUE
    targets: dict[str, Utterance] = {}
    # Twice as many as needed are drawn, because different values may make the same sentence.
    for way in rng.choice(ways, min(ways, 2 * count), replace=False).tolist():
        digits, chosen = way, []
        for values, source_number in zip(values_by_slot, source_numbers, strict=True):
            digits, number = divmod(digits, len(values.written) - 1)
            chosen.append(values.written[number + (number >= source_number)])  # the source's value is skipped
        target = source.filled(chosen)
        if normal_form(target.text) != normal_form(source.text):
            targets.setdefault(normal_form(target.text), target)
        if len(targets) == count:
            return tuple(targets.values())
    return LeftOutReason.TOO_FEW_VALUES
