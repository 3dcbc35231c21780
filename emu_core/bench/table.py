"""A table as the report holds it: numbers for programs, words for people."""

from dataclasses import dataclass, field
from typing import Any

NOT_MEASURED = "not measured:"


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: of its CSV file, such as "table2".
        title: above it.
        head: the columns' names.
        rows: cells as people read them.
        verdict: what it says, a sentence each.
        notes: how to read it, a sentence or more each.
        data: its numbers, unrounded.
    """

    name: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    verdict: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


def not_measured(label: str, reason: str, columns: int) -> tuple[str, ...]:
    """Return the row of a system that has no numbers."""
    return (label, f"{NOT_MEASURED} {reason}", *[""] * (columns - 2))
