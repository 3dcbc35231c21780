"""Base of all hyper-parameters."""

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Base class."""


@dataclass(frozen=True)
class SettingInfo:
    """A field of settings."""

    name: str


def infos(kind: type[Any]) -> tuple[SettingInfo, ...]:
    """Return the fields of a class of settings."""
    return tuple(SettingInfo(field.name) for field in fields(kind))
