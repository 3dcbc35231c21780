"""Hyper-parameters, their defaults and where those come from."""

from emu_core.config.emu import Adversary, EmuConfig, Objective, Trained
from emu_core.config.fmda import FmdaConfig, MeaningLanguageConfig
from emu_core.config.methods import DISENTANGLING, Method, Settings, configure, settings_from, usual_encoder
from emu_core.config.posterior import PosteriorConfig

__all__ = [
    "DISENTANGLING",
    "Adversary",
    "EmuConfig",
    "FmdaConfig",
    "MeaningLanguageConfig",
    "Method",
    "Objective",
    "PosteriorConfig",
    "Settings",
    "Trained",
    "configure",
    "settings_from",
    "usual_encoder",
]
