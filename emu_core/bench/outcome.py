"""What every measured cell says of itself, whatever it measured: its costs, and why it was not measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """Costs of a cell, and what a reader should know of it.

    Attributes:
        seconds: of training alone, from the loaded encoder or the texts to the trained encoder; 0 where nothing is
            trained.
        cpu_seconds: what all threads computed in that time.
        seconds_whole: from loading the encoder or reading the texts to the last measure.
        peak_mb: the most resident memory of the cell's process up to then, in megabytes.
        gpu_mb: the most memory of a GPU that torch held, in megabytes; 0 on a CPU.
        facts: settings and counts that a reader should see.
        not_measured: why nothing was measured; empty where something was.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    seconds_whole: float = 0.0
    peak_mb: float = 0.0
    gpu_mb: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    not_measured: str = ""


OUTCOME = tuple(one.name for one in fields(Outcome))
"""Its fields, which stand in JSON as they are."""
Measured = TypeVar("Measured", bound=Outcome)


def measured(found: Sequence[Measured]) -> tuple[tuple[Measured, ...], str]:
    """The cells that were measured, and why one is missing; empty where none is."""
    missing = [cell.not_measured for cell in found if cell.not_measured]
    whole = tuple(cell for cell in found if not cell.not_measured)
    return whole, missing[0] if missing else "" if whole else "not asked for"
