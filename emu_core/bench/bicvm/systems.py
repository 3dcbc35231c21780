"""The systems of BiCVM's benchmark and how each is trained."""

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from emu_core.bench.pretrained.setting import PretrainedSetting, Recipe
from emu_core.config.bicvm import TUNED_BICVM, BicvmConfig, Composition
from emu_core.config.dual_encoder import SUM_OF_WORDS, DualEncoderConfig


class System(StrEnum):
    """What a cell trains."""

    SUM_OF_WORDS = "sum-of-words"
    GLOSSED = "glossed"
    PAPER = "bicvm-paper"
    OURS = "bicvm-ours"
    OURS_BIGRAM = "bicvm-ours-bigram"


LABELS = MappingProxyType(
    {
        System.SUM_OF_WORDS: "sum of words, in-batch softmax",
        System.GLOSSED: "glossed",
        System.PAPER: "BiCVM, the paper's settings",
        System.OURS: "BiCVM, our settings",
        System.OURS_BIGRAM: "BiCVM, our settings, bigrams",
    }
)
ENCODERS = (System.SUM_OF_WORDS, System.PAPER, System.OURS, System.OURS_BIGRAM)


@dataclass(frozen=True)
class BicvmSetting(PretrainedSetting):
    """What every cell of a folder of this benchmark shares."""

    def recipe(self, system: str) -> Recipe | None:
        """How a system is trained; None for glosses, which are counted."""
        match System(system):
            case System.GLOSSED:
                return None
            case System.SUM_OF_WORDS:
                plain = {**SUM_OF_WORDS, **self.epochs_of(SUM_OF_WORDS["epochs"])}
                return Recipe("dual-encoder", DualEncoderConfig(**plain))
            case System.PAPER:
                paper = BicvmConfig()
                epochs = self.epochs_of(paper.epochs).get("epochs", paper.epochs)
                return Recipe("bicvm", replace(paper, epochs=epochs))
            case _:
                tuned = {**TUNED_BICVM, **self.epochs_of(TUNED_BICVM["epochs"])}
                if system == System.OURS_BIGRAM:
                    tuned["composition"] = Composition.BIGRAM
                return Recipe("bicvm", BicvmConfig(**tuned))
