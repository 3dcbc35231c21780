"""The base class of all settings: each field is described once, for the check, `--help`, the forms and the docs."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from emu_core.errors import TrainingError

OURS = "ours"
CHOSEN_ON = "ours, chosen on {} (benchmarks/README.md)"  # what a measured default was chosen on
Value = float | str | bool | tuple[Any, ...] | None  # of a setting, as a form or a file has it
_KEY = "setting"


def _always(_settings: Any) -> bool:
    return True


def setting(
    default: Any,
    help: str,
    *,
    label: str,
    source: str = OURS,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: Mapping[Any, str] | None = None,
    group: str = "",
    common: bool = False,
    fixed: bool = False,
    added: bool = False,
    matters: Callable[[Any], bool] = _always,
) -> Any:
    """Return a dataclass field of a `Settings` class.

    The field's type is bool, int, float, str or a StrEnum; one of them or None (`int | None`); or a tuple of them
    (`tuple[int, ...]`).

    Args:
        default: the paper's value, where there is a paper.
        help: the meaning, in one or two plain sentences.
        label: the field's name on a form.
        source: where the default comes from, such as "Hirota et al. 2020, eq. 2".
        low: the smallest value of a number, or of each number of a tuple; and so for the next three.
        high: the largest value.
        above: every value is larger than this.
        below: every value is smaller than this.
        choices: labels of an enum's members on a form, which offers these members alone; by default all of them.
        group: heading under which a form and `--help` have it.
        common: whether a form shows it first.
        fixed: whether the method decides it, so that neither a form nor the command offers it.
        added: whether earlier versions had no such field and did what the default does, so that their runs may lack it.
        matters: whether the field does anything under given settings of its class.
    """
    described = {
        "label": label, "help": help, "source": source, "low": low, "high": high, "above": above, "below": below,
        "labels": choices or {}, "group": group, "common": common, "fixed": fixed, "added": added, "matters": matters,
    }  # fmt: skip
    return field(default=default, metadata={_KEY: described})


@dataclass(frozen=True)
class SettingInfo:
    """A field of a `Settings` class, as its author described it; see `setting` for what has no line here.

    Attributes:
        name: the field's.
        kind: bool, int, float, str or a StrEnum: the type of the value, or of each item of a tuple.
        optional: whether the value may be None.
        many: whether the value is a tuple.
        labels: labels of an enum's members on a form.
    """

    name: str
    kind: type
    optional: bool
    many: bool
    default: Any
    label: str
    help: str
    source: str
    low: float | None
    high: float | None
    above: float | None
    below: float | None
    labels: Mapping[Any, str]
    group: str
    common: bool
    fixed: bool
    added: bool
    matters: Callable[[Any], bool]

    @property
    def flag(self) -> str:
        """The field's option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def choices(self) -> Mapping[Any, str]:
        """The members of an enum with their labels; none for a field of another type."""
        if not issubclass(self.kind, StrEnum):
            return {}
        return self.labels or {member: member.value for member in self.kind}

    @property
    def range(self) -> str:
        """The values that a number may take, such as "above 0" or "from 0 to 1"; "" where any will do."""
        if self.low is not None and self.high is not None:
            return f"from {self.low:g} to {self.high:g}"
        parts = (
            (self.low, "{:g} or more"),
            (self.above, "above {:g}"),
            (self.high, "at most {:g}"),
            (self.below, "below {:g}"),
        )
        return " and ".join(words.format(limit) for limit, words in parts if limit is not None)

    @property
    def expected(self) -> str:
        """A description of the values that the field takes, such as "a whole number, 1 or more"."""
        if issubclass(self.kind, StrEnum):
            one = f"one of {', '.join(self.kind)}"
        else:
            one = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[self.kind]
        if self.range:
            one += f"{',' if self.range[0].isdigit() else ''} {self.range}"
        one = f"a list, each item {one}" if self.many else one
        return f"{one}, or none" if self.optional else one

    def describe(self, start: "Settings", paper: "Settings") -> str:
        """Return the meaning, and below it the default, range and source.

        Args:
            start: the settings that a run starts from.
            paper: the settings of the preset "paper".
        """
        default, papers = as_text(getattr(start, self.name)), as_text(getattr(paper, self.name))
        facts = [f"Default: {default}" + (f" (preset paper: {papers})" if papers != default else "")]
        facts += [f"range: {self.range}"] if self.range else []
        facts += [] if self.matters(start) else ["unused with the other defaults"]
        return f"{self.help}\n{'; '.join(facts)}; source: {self.source}."

    def checked(self, value: Any) -> Any:
        """Return a value of the field as its type: an enum's member for its name, a float for a whole number.

        Raises:
            TrainingError: it is of another type or outside the range.
        """
        if value is None and self.optional:
            return None
        try:
            if not self.many:
                return self._checked(value)
            if isinstance(value, list | tuple):
                return tuple(map(self._checked, value))
        except (ValueError, OverflowError):
            pass
        raise TrainingError(f"{self.name} must be {self.expected}, not {value}")

    def _checked(self, value: Any) -> Any:
        if issubclass(self.kind, StrEnum):
            return self.kind(value)
        if self.kind is float and isinstance(value, Real) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not self.kind or not self._in_range(value):
            raise ValueError(value)
        return value

    def _in_range(self, value: Any) -> bool:
        if self.kind not in (int, float):
            return True
        return (
            math.isfinite(value)
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )


@dataclass(frozen=True)
class Settings:
    """Base of the settings of a method or a benchmark: a frozen dataclass whose fields are made by `setting`.

    Raises:
        TrainingError: a value is of another type than its field, outside its range, or does not go with the others.
    """

    def __post_init__(self) -> None:
        """Check every field by itself, then all together."""
        for info in infos(type(self)):
            object.__setattr__(self, info.name, info.checked(getattr(self, info.name)))
        self.check_together()

    def check_together(self) -> None:
        """Check what several fields must fulfil together. Raises TrainingError where they do not."""


def infos(kind: type[Settings]) -> tuple[SettingInfo, ...]:
    """Return the description of each field of a class of settings.

    Raises:
        TypeError: a field was not made by `setting`, or has a type that no setting can have.
    """
    return _infos(cast(Any, kind))


@cache
def _infos(kind: Any) -> tuple[SettingInfo, ...]:
    types = get_type_hints(kind)
    found = []
    for one in fields(kind):
        if _KEY not in one.metadata:
            raise TypeError(f"{kind.__name__}.{one.name} is not made by setting(...)")
        inner, optional = _without_none(types[one.name])
        many = get_origin(inner) is tuple
        inner = get_args(inner)[0] if many else inner
        if not (isinstance(inner, type) and issubclass(inner, bool | int | float | str)):
            raise TypeError(
                f"{kind.__name__}.{one.name} has the type {types[one.name]}, which no setting can have"
            )
        found.append(SettingInfo(one.name, inner, optional, many, one.default, **one.metadata[_KEY]))
    return tuple(found)


def _without_none(kind: Any) -> tuple[Any, bool]:
    """Return the type of a field but for None, and whether None is part of it."""
    if get_origin(kind) not in (Union, UnionType):
        return kind, False
    (inner,) = (part for part in get_args(kind) if part is not NoneType)
    return inner, True


def as_text(value: Any) -> str:
    """Return a value as people read it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return ",".join(map(as_text, value)) or "none"
    return "none" if value is None else str(value)
