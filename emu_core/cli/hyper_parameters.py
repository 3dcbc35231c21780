"""A flag for each hyper-parameter of each method."""

import argparse
from dataclasses import fields
from enum import StrEnum
from typing import Any

from emu_core.methods.method import Needs
from emu_core.methods.registry import methods_that_need


def add_hyper_parameters(parser: argparse.ArgumentParser, *needs: Needs) -> None:
    """A group of flags for each kind of settings; one that an earlier group has too is named and not added again."""
    added: set[str] = set()
    kinds = {method.settings: method for method in reversed(methods_that_need(*needs).values())}
    for kind, method in kinds.items():
        group = parser.add_argument_group(f"hyper-parameters of the method {method.name}")
        names = [field.name for field in fields(kind) if field.name not in method.variant]
        settings = kind()
        for name in names:
            if name not in added:
                _add_flag(group, name, getattr(settings, name))
        if shared := [_flag(name) for name in names if name in added]:
            group.description = f"and of those above: {', '.join(shared)}"
        added.update(names)


def changed(options: argparse.Namespace, *needs: Needs) -> dict[str, Any]:
    """Return the hyper-parameters that were given."""
    kinds = {method.settings for method in methods_that_need(*needs).values()}
    given = {field.name: getattr(options, field.name, None) for kind in kinds for field in fields(kind)}
    return {name: value for name, value in given.items() if value is not None}


def _add_flag(group: Any, name: str, default: object) -> None:
    if isinstance(default, bool):
        group.add_argument(_flag(name), action=argparse.BooleanOptionalAction)  # --x and --no-x
    elif isinstance(default, StrEnum):
        group.add_argument(_flag(name), choices=[member.value for member in type(default)])
    else:
        kind = int if default is None else type(default)  # no limit, of a number that counts
        group.add_argument(_flag(name), type=kind, metavar="N")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
