"""One setting of a method, in a newcomer's words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True)
class Setting:
    """A field of a method's settings that a person may change; one that is on or off gets a checkbox.

    Attributes:
        name: the field.
        label: what the page calls it.
        meaning: what it does.
        least: the smallest number that makes sense.
        most: the largest; None where there is none.
        choices: what the values of a field that is no number are called.
        matters: whether it does anything under these settings.
    """

    name: str
    label: str
    meaning: str
    least: float = 0.0
    most: float | None = None
    choices: Mapping[StrEnum, str] = field(default_factory=dict)
    matters: Callable[[Any], bool] = lambda _: True
