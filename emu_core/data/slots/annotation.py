"""MASSIVE's bracket notation for slots: `wake me up at [time : five am]`."""

import re
from dataclasses import dataclass

from emu_core.data.wording import shown
from emu_core.errors import DataError


@dataclass(frozen=True)
class Slot:
    """One slot: `plain[start:end] == value` in the sentence without brackets."""

    name: str
    value: str
    start: int
    end: int


_BRACKET = re.compile(r"[\[\]]")


def parse_annotated(annotated: str) -> tuple[str, tuple[Slot, ...]]:
    """Split an annotated sentence into its plain text and its slots, in order.

    The name ends at the first colon; spaces beside the colon and the brackets are not part of name or value.

    Raises:
        DataError: a bracket is nested, not closed or not opened, or a slot has no name or no value.
    """
    plain: list[str] = []
    slots: list[Slot] = []
    length = position = 0
    opened: int | None = None
    for bracket in _BRACKET.finditer(annotated):
        at = bracket.start()
        piece = annotated[position:at]
        if bracket.group() == "[":
            if opened is not None:
                raise _fault(annotated, at, "a '[' stands inside another slot; slots can't be nested")
            opened = at
        else:
            if opened is None:
                raise _fault(annotated, at, "a ']' closes no slot; remove it or add its '['")
            name, colon, value = (part.strip() for part in piece.partition(":"))
            if not (name and colon):
                raise _fault(annotated, opened, "a slot has no name; write it as [name : value]")
            if not value:
                raise _fault(
                    annotated, opened, f"the slot '{shown(name)}' is empty; write it as [name : value]"
                )
            slots.append(Slot(name, value, length, length + len(value)))
            piece, opened = value, None
        plain.append(piece)
        length += len(piece)
        position = bracket.end()
    if opened is not None:
        raise _fault(annotated, opened, "a '[' is not closed; add its ']'")
    plain.append(annotated[position:])
    return "".join(plain), tuple(slots)


def _fault(annotated: str, at: int, fault: str) -> DataError:
    return DataError(f"at character {at + 1} of '{shown(annotated)}' {fault}")
