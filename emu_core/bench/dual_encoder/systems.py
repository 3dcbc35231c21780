"""The systems of the dual encoder's benchmark and how each is trained."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from emu_core.bench.pretrained.setting import PretrainedSetting, Recipe
from emu_core.bench.pretrained.texts import BenchTexts
from emu_core.config.dual_encoder import SUM_OF_WORDS, TUNED_DUAL_ENCODER, DualEncoderConfig

HARD_NEGATIVES = 5  # section 2.2


class System(StrEnum):
    """What a cell trains."""

    SUM_OF_WORDS = "sum-of-words"
    TRANSLATION = "translation"
    HARD_NEGATIVES = "hard-negatives"
    QUICK_THOUGHT = "quick-thought"
    DIALOGUES = "dialogues"
    NLI = "nli"
    MULTI_TASK = "multi-task"


LABELS = MappingProxyType(
    {
        System.SUM_OF_WORDS: "sum of words",
        System.TRANSLATION: "translation ranking",
        System.HARD_NEGATIVES: "translation ranking, hard negatives",
        System.QUICK_THOUGHT: "translation + quick thought",
        System.DIALOGUES: "translation + conversation",
        System.NLI: "translation + NLI",
        System.MULTI_TASK: "translation + all other tasks",
    }
)


def systems_for(texts: BenchTexts) -> tuple[System, ...]:
    """The systems that there is text for; all tasks together are one of their own where there are two others."""
    others = [
        system
        for system, there in (
            (System.QUICK_THOUGHT, texts.running),
            (System.DIALOGUES, texts.dialogues),
            (System.NLI, texts.nli),
        )
        if there
    ]
    together = [System.MULTI_TASK] if len(others) > 1 else []
    return System.SUM_OF_WORDS, System.TRANSLATION, System.HARD_NEGATIVES, *others, *together


def paper_name(system: System, systems: tuple[System, ...]) -> str:
    """Which of the paper's models a system is beside: its multi-task one, its translation-ranking one, or "" (none).

    The paper's translation ranking has hard negatives; its multi-task model is beside the system with most tasks.
    """
    if system is System.HARD_NEGATIVES:
        return "translation-ranking"
    return "multi-task" if system is systems[-1] and system is not System.HARD_NEGATIVES else ""


@dataclass(frozen=True)
class DualSetting(PretrainedSetting):
    """What every cell of a folder of this benchmark shares."""

    def recipe(self, system: str) -> Recipe:
        """How a system is trained."""
        own = System(system)
        base = SUM_OF_WORDS if own is System.SUM_OF_WORDS else TUNED_DUAL_ENCODER
        values = {**base, **self.epochs_of(base["epochs"])}
        if own is System.HARD_NEGATIVES:
            values["hard_negatives"] = HARD_NEGATIVES
        every = own is System.MULTI_TASK
        return Recipe(
            "dual-encoder",
            DualEncoderConfig(**values),
            dialogues=every or own is System.DIALOGUES,
            running=every or own is System.QUICK_THOUGHT,
            nli=every or own is System.NLI,
        )
