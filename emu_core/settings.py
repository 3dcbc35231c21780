"""The base class of settings, whose fields carry the description for checks, help, forms and documentation."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cache
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from emu_core.errors import Fix, TrainingError

OURS = "ours"
CHOSEN_ON = "ours, chosen on {} (benchmarks/README.md)"
SHARE_LIMITS = {"low": 0, "high": 1}
PARTIAL_SHARE_LIMITS = {"low": 0, "below": 1}  # for a share of a whole of which something must be left
_KEY = "setting"


@dataclass(frozen=True, kw_only=True)
class SettingInfo:
    """The description of a field of a `Settings` class.

    Attributes:
        name: the field's name.
        kind: type of the value, or of each item of a tuple: bool, int, float, str or a StrEnum.
        optional: whether the value may be None.
        many: whether the value is a tuple.
        default: the paper's value, if there is a paper.
        help: the meaning, in one or two sentences.
        label: name of the field on a form; by default `name` in words.
        source: where the default comes from, such as "Hirota et al. 2020, eq. 2".
        low: the smallest allowed value of a number, or of each number in a tuple.
        high: the largest allowed value.
        above: exclusive lower bound.
        below: exclusive upper bound.
        choices: labels of the enum members that a form offers; by default all members. Empty for other types.
        transformers_only: the choices that need an encoder that is a transformer.
        group: heading of the field on a form and in the command's help.
        common: whether a form shows the field first.
        is_encoder: whether the value is an encoder as `load_encoder` takes it, besides the one that is trained.
        fixed: whether the method determines the value, so that neither form nor command offers it.
        matters: returns whether the field has any effect under given settings.
    """

    name: str
    kind: type
    optional: bool
    many: bool
    default: Any
    help: str
    label: str
    source: str = OURS
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Mapping[Any, str]
    transformers_only: tuple[Any, ...] = ()
    group: str = ""
    common: bool = False
    is_encoder: bool = False
    fixed: bool = False
    matters: Callable[[Any], bool] = lambda _settings: True

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def range(self) -> str:
        """The allowed range of a number, such as "above 0" or "from 0 to 1"; "" if there is no limit."""
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
        """The allowed values in words, such as "a whole number, 1 or more"."""
        if issubclass(self.kind, StrEnum):
            words = f"one of {', '.join(self.kind)}"
        else:
            words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[self.kind]
        if self.range:
            words += f"{',' if self.range[0].isdigit() else ''} {self.range}"
        words = f"a list, each item {words}" if self.many else words
        return f"{words}, or none" if self.optional else words

    def describe(self, start: "Settings", paper: "Settings") -> str:
        """Return help, default, range and source, given a run's default settings and those of the preset "paper"."""
        of_parts = settings_by_part(start)
        default = " or ".join(dict.fromkeys(value_text(getattr(part, self.name)) for part in of_parts))
        papers = value_text(getattr(paper, self.name))
        facts = [f"Default: {default}" + (f" (preset paper: {papers})" if papers != default else "")]
        facts += [f"range: {self.range}"] if self.range else []
        facts += [] if any(map(self.matters, of_parts)) else ["unused with the other defaults"]
        return f"{self.help}\n{'; '.join(facts)}; source: {self.source}."

    def checked(self, value: Any) -> Any:
        """Return a value converted to the field's type: an enum member's name to the member, an int to a float.

        Raises:
            TrainingError: the value has another type or is out of range.
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
        raise TrainingError(Fix(self.name), f" must be {self.expected}, not {value}")

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
        TrainingError: a value has another type than its field, is out of range, or contradicts another one.
    """

    def __post_init__(self) -> None:
        """Check each field, then all together."""
        for info in infos(type(self)):
            object.__setattr__(self, info.name, info.checked(getattr(self, info.name)))
        self.check_together()

    def check_together(self) -> None:
        """Check conditions on several fields; overridden by subclasses. Raises TrainingError if one is violated."""


@dataclass(frozen=True)
class JoinedSettings(Settings):
    """The settings that the parts of a joined encoder are trained with, in the parts' order."""

    parts: tuple[Settings, ...]

    def __post_init__(self) -> None:
        """Check nothing: each part's settings are checked."""


def settings_by_part(settings: Settings) -> tuple[Settings, ...]:
    """Return the settings of each part, or the settings themselves where the encoder isn't joined."""
    return settings.parts if isinstance(settings, JoinedSettings) else (settings,)


def setting(default: Any, help: str, **described: Any) -> Any:
    """Return a dataclass field of a `Settings` class.

    The field's type is bool, int, float, str or a StrEnum; one of them or None (`int | None`); or a tuple of them
    (`tuple[int, ...]`). The arguments are attributes of `SettingInfo`.
    """
    return field(default=default, metadata={_KEY: {"help": help, **described}})


def infos(kind: type[Settings]) -> tuple[SettingInfo, ...]:
    """Return the description of each field of a class of settings.

    Raises:
        TypeError: a field was not made by `setting`, or has an unsupported type.
    """
    return _infos(cast(Any, kind))


@cache
def _infos(kind: Any) -> tuple[SettingInfo, ...]:
    types = get_type_hints(kind)
    infos_of_kind = []
    for declared in fields(kind):
        if _KEY not in declared.metadata:
            raise TypeError(f"{kind.__name__}.{declared.name} is not made by setting(...)")
        inner = types[declared.name]
        if optional := get_origin(inner) in (Union, UnionType):
            (inner,) = (part for part in get_args(inner) if part is not NoneType)
        many = get_origin(inner) is tuple
        inner = get_args(inner)[0] if many else inner
        if not (isinstance(inner, type) and issubclass(inner, bool | int | float | str)):
            raise TypeError(
                f"{kind.__name__}.{declared.name} has the type {types[declared.name]}, which no setting can have"
            )
        members = {member: member.value for member in inner} if issubclass(inner, StrEnum) else {}
        words = declared.name.replace("_", " ").capitalize()
        described = {"label": words, "choices": members, **declared.metadata[_KEY]}
        infos_of_kind.append(
            SettingInfo(
                name=declared.name,
                kind=inner,
                optional=optional,
                many=many,
                default=declared.default,
                **described,
            )
        )
    return tuple(infos_of_kind)


def value_text(value: Any) -> str:
    """Return a value in words, as help and documentation show it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return ",".join(map(value_text, value)) or "none"
    return "none" if value is None else str(value)
