"""A flag for each hyper-parameter of each method."""

import argparse
from dataclasses import fields
from enum import StrEnum
from typing import Any

from emu_core.config import EmuConfig, FmdaConfig, MeaningLanguageConfig, Method, PosteriorConfig, Settings
from emu_core.config.bicvm import BicvmConfig
from emu_core.config.dual_encoder import DualEncoderConfig
from emu_core.config.pretraining import Pretraining, PretrainingSettings

_DECIDED = ("objective", "parallel")  # by the method itself
Groups = tuple[tuple[Settings | PretrainingSettings, str, str | None], ...]
TRAINING: Groups = (
    (EmuConfig(), "hyper-parameters", "defaults: those measured for the encoder (--preset)"),
    (PosteriorConfig(), f"hyper-parameters of the method {Method.POSTERIOR}", None),
    (FmdaConfig(), f"hyper-parameters of the method {Method.FMDA}", None),
    (MeaningLanguageConfig(), f"hyper-parameters of the method {Method.MEANING_LANGUAGE}", None),
)
PRETRAINING: Groups = (
    (DualEncoderConfig(), f"hyper-parameters of the method {Pretraining.DUAL_ENCODER}", None),
    (BicvmConfig(), f"hyper-parameters of the method {Pretraining.BICVM}", None),
)


def add_hyper_parameters(parser: argparse.ArgumentParser, groups: Groups) -> None:
    """A group of flags for each kind of settings; one that an earlier group has too is named and not added again."""
    added: set[str] = set()
    for settings, title, description in groups:
        group = parser.add_argument_group(title, description)
        names = [field.name for field in fields(settings) if field.name not in _DECIDED]
        for name in names:
            if name not in added:
                _add_flag(group, name, getattr(settings, name))
        if shared := [_flag(name) for name in names if name in added]:
            group.description = f"and of those above: {', '.join(shared)}"
        added.update(names)


def changed(options: argparse.Namespace, groups: Groups) -> dict[str, Any]:
    """The hyper-parameters that were given."""
    names = dict.fromkeys(field.name for settings, *_ in groups for field in fields(settings))
    given = {name: getattr(options, name, None) for name in names}
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
