"""Hyper-parameters, their defaults and where those come from."""

from emu_core.config.bicvm import BicvmConfig
from emu_core.config.dual_encoder import DualEncoderConfig
from emu_core.config.emu import Adversary, EmuConfig, Objective, Trained
from emu_core.config.fmda import FmdaConfig, MeaningLanguageConfig
from emu_core.config.posterior import PosteriorConfig
from emu_core.config.settings import Settings

__all__ = [
    "Adversary",
    "BicvmConfig",
    "DualEncoderConfig",
    "EmuConfig",
    "FmdaConfig",
    "MeaningLanguageConfig",
    "Objective",
    "PosteriorConfig",
    "Settings",
    "Trained",
]
