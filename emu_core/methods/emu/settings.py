"""Settings of Emu and of the other methods of its Table 2."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from emu_core.errors import Fix, TrainingError
from emu_core.settings import PARTIAL_SHARE_LIMITS, SHARE_LIMITS, Settings, setting
from emu_core.training.weight_settings import (
    WEIGHTS,
    Trained,
    last_layers_setting,
    lora_alpha_setting,
    lora_rank_setting,
    trained_setting,
)


class Objective(StrEnum):
    """The loss on the labelled sentences."""

    L2_SOFTMAX = "l2-softmax"
    SOFTMAX = "softmax"
    CONTRASTIVE = "contrastive"
    N_PAIR = "n-pair"


class Adversary(StrEnum):
    """The loss of the language discriminator."""

    NONE = "none"
    CROSS_ENTROPY = "cross-entropy"
    WASSERSTEIN = "wasserstein"


def has_adversary(config: Any) -> bool:
    """Return whether Emu's settings train a language discriminator, which reads unlabelled sentences."""
    return config.adversary is not Adversary.NONE


def has_classifier(config: Any) -> bool:
    """Return whether Emu's settings train an intent classifier with the encoder."""
    return config.objective in (Objective.L2_SOFTMAX, Objective.SOFTMAX)


_HIROTA = "Hirota et al. 2020"
_SETTINGS = f"{_HIROTA}, Experimental Settings"
_STEPS = "Steps"
_LABELS, _LANGUAGES = "Loss on the labelled sentences", "Language discriminator"
_step = partial(setting, group=_STEPS)
_label = partial(setting, group=_LABELS)
_center = partial(_label, matters=lambda config: config.center_weight > 0)
_adversary = partial(setting, group=_LANGUAGES, matters=has_adversary)
_critic = partial(_adversary, source=_SETTINGS)


@dataclass(frozen=True)
class EmuConfig(Settings):
    """Emu's settings. The defaults are the paper's ("Experimental Settings"), found there for LASER."""

    objective: Objective = setting(
        Objective.L2_SOFTMAX,
        "The loss on the labelled sentences.",
        label="Loss on the labelled sentences",
        source=f"{_HIROTA}, Semantic Classifier and Baselines",
        fixed=True,
    )
    parallel: bool = setting(
        False,
        "The discriminator compares each labelled sentence with its translations (Emu-Parallel).",
        label="Parallel sentences",
        source=f"{_HIROTA}, Emu-Parallel",
        fixed=True,
    )
    epochs: int = setting(3, "Passes over all labelled sentences.", source=_SETTINGS, low=1, common=True)
    learning_rate: float = setting(
        1e-3,
        "Step size of the encoder's weights (Adam). Lower it when the loss jumps about.",
        source=_SETTINGS,
        above=0,
        common=True,
    )
    trained: Trained = trained_setting("ours; not stated in the paper")
    last_layers: int = last_layers_setting()
    lora_rank: int = lora_rank_setting()
    lora_alpha: int = lora_alpha_setting()
    interpolation: float = setting(
        1.0,
        "Share of the trained weights in an average with the base encoder's weights. With less, languages with labels "
        "gain less and languages without labels lose less.",
        label="Interpolation with the base weights",
        source="Wortsman et al. 2022, eq. 1; 1 in Emu's paper",
        group=WEIGHTS,
        above=0,
        high=1,
    )
    batch_size: int = _step(16, "Labelled sentences in a step.", source=_SETTINGS, low=2)
    decay: bool = _step(
        False,
        "Decay the learning rates of encoder and classifier linearly to 0.",
        label="Learning rate decay",
        source="ours; constant in the paper",
    )
    classifier_learning_rate: float = _step(
        1e-3,
        "Step size of the intent classifier, which is discarded after training.",
        label="Learning rate of the classifier",
        source=_SETTINGS,
        above=0,
        matters=has_classifier,
    )
    linear_probe: float = _step(
        0.0,
        "C of a logistic regression on the base embeddings, from which the intent classifier starts: the first steps "
        "then distort the embeddings less. With 0, it starts from random weights.",
        label="Linear probe (C)",
        source="Kumar et al. 2022, LP-FT; random weights in Emu's paper",
        low=0,
        matters=has_classifier,
    )
    alpha: float = _label(
        50.0,
        "Length that embeddings are scaled to before they are classified.",
        label="Radius (alpha)",
        source=_SETTINGS,
        above=0,
        matters=lambda config: config.objective is Objective.L2_SOFTMAX,
    )
    center_weight: float = _center(
        1e-4,
        "Weight lambda of the center loss, which pulls sentences of one intent together; 0 omits it.",
        label="Center loss weight (lambda)",
        source=f"{_HIROTA}, eq. 2",
        low=0,
    )
    center_rate: float = _center(
        0.5,
        "Share of the way that a step moves an intent's centre towards its sentences.",
        label="Update rate of the centres",
        source="Wen et al. 2016, section 4.1",
        **SHARE_LIMITS,
    )
    contrastive_margin: float = _label(
        2.0,
        "Distance m up to which sentences of two intents are pushed apart.",
        label="Margin (m)",
        source=f"{_HIROTA}, Baselines",
        low=0,
        matters=lambda config: config.objective is Objective.CONTRASTIVE,
    )
    n_pair_scale: float = _label(
        20.0,
        "Factor of the cosines before the softmax; without it, a softmax over 16 sentences stays almost uniform.",
        label="Scale of the cosines",
        above=0,
        matters=lambda config: config.objective is Objective.N_PAIR,
    )
    adversary: Adversary = setting(
        Adversary.WASSERSTEIN,
        "The discriminator's loss: the difference between its mean scores for two languages, or the cross-entropy of a "
        "probability for each sentence. The encoder is trained to increase it.",
        label="Discriminator objective",
        source=f"{_HIROTA}, Language Discriminator; eq. 3 prints the cross-entropy",
        choices={
            Adversary.WASSERSTEIN: "Means (Wasserstein)",
            Adversary.CROSS_ENTROPY: "Cross-entropy",
        },
        group=_LANGUAGES,
        matters=has_adversary,
    )
    adversary_weight: float = _adversary(
        1e-4,
        "Weight gamma of the discriminator's loss: how strongly the languages are aligned.",
        label="Discriminator weight (gamma)",
        source=f"{_HIROTA}, eq. 4",
        low=0,
    )
    adversary_every: int = _adversary(
        1,
        "Use the discriminator in every n-th step only, with n times the weight, which saves time.",
        label="Discriminator every n steps",
        source="Karras et al. 2020, section 3.1",
        low=1,
    )
    critic_steps: int = _critic(
        5,
        "Updates k of the discriminator per step.",
        label="Discriminator steps (k)",
        low=1,
    )
    critic_learning_rate: float = _critic(
        5e-4,
        "Step size of the discriminator (Adam).",
        label="Discriminator learning rate",
        above=0,
    )
    critic_clip: float = _critic(
        0.01,
        "After each update, the discriminator's weights are clipped to [-c, c].",
        label="Discriminator weight clipping (c)",
        above=0,
    )
    critic_hidden: int = _critic(
        900,
        "Width of each of the discriminator's two hidden layers.",
        label="Discriminator width",
        low=1,
    )
    critic_dropout: float = _critic(
        0.2,
        "Share of the discriminator's hidden values that are left out at random in training.",
        label="Discriminator dropout",
        **PARTIAL_SHARE_LIMITS,
    )

    def check_together(self) -> None:
        """Check that the objective is compatible with the other settings."""
        if self.objective is Objective.N_PAIR and (self.center_weight or self.parallel):
            raise TrainingError(
                "n-pair draws pairs, not a labelled batch: ",
                Fix("center_weight", 0),
                " and ",
                Fix("parallel", False),
            )
