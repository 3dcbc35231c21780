"""Settings of Emu and of the other systems of its Table 2."""

import math
from dataclasses import dataclass, fields
from enum import StrEnum

from emu_core.config.settings import Settings
from emu_core.errors import TrainingError

_POSITIVE = (
    "alpha",
    "learning_rate",
    "classifier_learning_rate",
    "critic_learning_rate",
    "critic_clip",
    "n_pair_scale",
)


class Objective(StrEnum):
    """What the labelled sentences are trained on."""

    L2_SOFTMAX = "l2-softmax"
    SOFTMAX = "softmax"
    CONTRASTIVE = "contrastive"
    N_PAIR = "n-pair"


class Adversary(StrEnum):
    """What the language discriminator is trained on."""

    NONE = "none"
    CROSS_ENTROPY = "cross-entropy"
    WASSERSTEIN = "wasserstein"


class Trained(StrEnum):
    """Which of the encoder's weights are trained."""

    ALL = "all"
    ALL_BUT_EMBEDDINGS = "all-but-embeddings"
    LAST_LAYERS = "last-layers"
    LORA = "lora"


@dataclass(frozen=True)
class EmuConfig(Settings):
    """Emu's settings. Defaults are the paper's ("Experimental Settings"), found there for LASER.

    Raises:
        TrainingError: a value is outside its range.
    """

    objective: Objective = Objective.L2_SOFTMAX
    alpha: float = 50.0  # radius of the sphere, "Hyper-parameters"
    center_weight: float = 1e-4  # lambda, eq. 2; 0 leaves the center loss out
    center_rate: float = 0.5  # Wen et al. 2016, section 4.1
    adversary: Adversary = Adversary.WASSERSTEIN  # "we use Wasserstein GAN"; eq. 3 prints cross-entropy
    adversary_weight: float = 1e-4  # gamma, eq. 4
    adversary_every: int = 1  # steps; its weight is as many times gamma (Karras et al. 2020, section 3.1)
    parallel: bool = False  # Emu-Parallel: adversarial sentences are translations of the labelled ones
    critic_steps: int = 5  # k
    critic_clip: float = 0.01  # c
    critic_learning_rate: float = 5e-4
    critic_hidden: int = 900
    critic_dropout: float = 0.2
    learning_rate: float = 1e-3
    classifier_learning_rate: float = 1e-3
    batch_size: int = 16
    epochs: int = 3
    trained: Trained = (
        Trained.ALL_BUT_EMBEDDINGS
    )  # the paper does not say; a table's rows move for seen pieces only
    last_layers: int = 2  # read by Trained.LAST_LAYERS
    lora_rank: int = 16  # r of Hu et al. 2022, section 4.1; read by Trained.LORA
    lora_alpha: int = 32  # the same section's alpha; the update is scaled by alpha / r
    contrastive_margin: float = 2.0  # m, "Baselines"
    n_pair_scale: float = 20.0  # not in the paper: a bare cosine hardly moves a softmax over 16

    def __post_init__(self) -> None:
        """Check the ranges; names become members of their enums."""
        try:
            object.__setattr__(self, "objective", Objective(self.objective))
            object.__setattr__(self, "adversary", Adversary(self.adversary))
            object.__setattr__(self, "trained", Trained(self.trained))
        except ValueError as error:
            raise TrainingError(
                f"{error}; there are: {', '.join([*Objective, *Adversary, *Trained])}"
            ) from None
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in (int, "int") and not (isinstance(value, int) and value > 0):
                raise TrainingError(f"{field.name} must be a whole number above 0, not {value}")
            if field.type in (float, "float") and not (math.isfinite(value) and value >= 0):
                raise TrainingError(f"{field.name} must be a number, 0 or more, not {value}")
        for name in _POSITIVE:
            if getattr(self, name) == 0:
                raise TrainingError(f"{name} must be above 0")
        if self.critic_dropout >= 1 or self.center_rate > 1:
            raise TrainingError("critic_dropout must be below 1 and center_rate at most 1")
        if self.batch_size < 2:
            raise TrainingError(
                "batch_size must be 2 or more: one sentence has nothing to be told apart from"
            )
        if self.objective is Objective.N_PAIR and (self.center_weight or self.parallel):
            raise TrainingError(
                "n-pair draws pairs, not a labelled batch: set center_weight to 0 and parallel off"
            )
