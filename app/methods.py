"""The methods and their settings in a newcomer's words."""

from collections.abc import Callable
from dataclasses import dataclass

from emu_core.config import Adversary, EmuConfig, Method, Objective

METHODS = {
    Method.EMU: (
        "Emu",
        "The full method. Sentences of one intent are drawn together, and a language discriminator keeps the "
        "languages alike.",
    ),
    Method.WITHOUT_LD: (
        "Emu without the language discriminator",
        "Sentences of one intent are drawn together; nothing looks after the other languages.",
    ),
    Method.WITHOUT_LD_CL: (
        "Emu without discriminator and center loss",
        "The L2-constrained softmax alone: sentences are told apart by intent.",
    ),
    Method.PARALLEL: (
        "Emu with parallel sentences",
        "Emu, whose discriminator compares each sentence with its own translation. Needs ids that join translations.",
    ),
    Method.SOFTMAX: ("Softmax", "A baseline: a plain classifier on the encoder, trained with it."),
    Method.CONTRASTIVE: ("Contrastive", "A baseline: pairs of one intent come close, other pairs stay apart."),
    Method.N_PAIR: ("N-pair", "A baseline: each sentence's partner is picked out among those of other intents."),
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A number of `EmuConfig` that a person may change.

    Attributes:
        name: the field.
        label: what the page calls it.
        meaning: what it does.
        least: the smallest value that makes sense.
        matters: whether it does anything under these settings.
    """

    name: str
    label: str
    meaning: str
    least: float
    matters: Callable[[EmuConfig], bool] = lambda _: True


FIRST = (
    Setting("epochs", "Epochs", "How often training goes through all labelled sentences.", 1),
    Setting(
        "learning_rate",
        "Learning rate",
        "How far each step moves the encoder. Lower it when the loss jumps about.",
        0.0,
    ),
)
MORE = (
    Setting("batch_size", "Batch size", "Labelled sentences in a step.", 2),
    Setting(
        "alpha",
        "Radius (alpha)",
        "Length the vectors are scaled to before they are told apart by intent.",
        0.0,
        lambda config: config.objective is Objective.L2_SOFTMAX,
    ),
    Setting(
        "center_weight",
        "Center loss weight (lambda)",
        "How strongly sentences of one intent are drawn together.",
        0.0,
        lambda config: config.center_weight > 0,
    ),
    Setting(
        "adversary_weight",
        "Discriminator weight (gamma)",
        "How strongly the languages are kept alike.",
        0.0,
        lambda config: config.adversary is not Adversary.NONE,
    ),
    Setting(
        "critic_steps",
        "Discriminator steps (k)",
        "How often the discriminator learns in each step.",
        1,
        lambda config: config.adversary is not Adversary.NONE,
    ),
)
