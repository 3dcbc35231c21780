"""Parsed JSON, which is untrusted, as frozen dataclasses: their annotations say what is allowed."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import msgspec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_T = TypeVar("_T", bound="DataclassInstance")
Reader = Callable[[Any], Any]


def fits(value: object, annotation: Any) -> bool:
    """Return whether parsed JSON is a value of a type."""
    try:
        msgspec.convert(value, annotation)
    except msgspec.ValidationError:
        return False
    return True


def exactly(
    values: Mapping[str, Any], kind: type[_T], readers: Mapping[str, Reader] = MappingProxyType({})
) -> _T:
    """Return the instance of a dataclass with these fields.

    Args:
        values: the fields by name, of parsed JSON.
        kind: the dataclass.
        readers: functions that read the fields of a name, instead of the check of their type.

    Raises:
        msgspec.ValidationError: a field is missing, unknown, or not of its type.
        ValueError: one of the readers raises it.
    """
    hints = get_type_hints(kind, include_extras=True)
    needed = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
    if wrong := (values.keys() - hints.keys()) | (needed - values.keys()):
        raise msgspec.ValidationError(f"missing or unknown: {', '.join(sorted(wrong))}")
    checked = {
        name: msgspec.convert(value, hints[name]) for name, value in values.items() if name not in readers
    }
    return kind(**checked, **{name: read(values[name]) for name, read in readers.items() if name in values})
