"""Hyper-parameters, their defaults and where those come from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Literal, overload

from emu_core.errors import TrainingError


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


class Method(StrEnum):
    """The systems of Emu's Table 2, and one of our own that trains no encoder."""

    POSTERIOR = "posterior"
    EMU = "emu"
    WITHOUT_LD = "emu-without-ld"
    WITHOUT_LD_CL = "emu-without-ld-cl"
    PARALLEL = "emu-parallel"
    SOFTMAX = "softmax"
    CONTRASTIVE = "contrastive"
    N_PAIR = "n-pair"


@dataclass(frozen=True)
class EmuConfig:
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


@dataclass(frozen=True)
class PosteriorConfig:
    """Settings of the posterior method; see `emu_core.models.posterior_head` for what they do there.

    There is no paper to take defaults from: these were found by measuring (benchmarks/README.md), for encoders whose
    vectors all lie in one direction, as those of e5-small do.

    Raises:
        TrainingError: a value is outside its range.
    """

    inverse_penalty: float = 10.0  # C of the logistic regression
    kernel_temperature: float = 0.05  # of the cosines to the training sentences
    share: float = 0.25  # of a vector's squared length that the posterior may take, where it is sure
    neighbours: int = 5  # training sentences whose mean cosine says how near a sentence is to them
    gate_quantile: float = 0.01  # of the training sentences' own nearness: there the gate is half open
    gate_width: float = 0.3  # of the gate's slope, in standard deviations of their nearness
    language_directions: int = 5  # between the languages' means, taken out of every vector
    centering: float = 0.75  # of the mean over all languages, taken out of every vector

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("inverse_penalty", "kernel_temperature", "gate_width"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise TrainingError(f"{name} must be a number above 0, not {value}")
        for name in ("share", "gate_quantile", "centering"):
            if not 0 <= getattr(self, name) <= 1:
                raise TrainingError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        for name, least in (("neighbours", 1), ("language_directions", 0)):
            if not (isinstance(getattr(self, name), int) and getattr(self, name) >= least):
                raise TrainingError(
                    f"{name} must be a whole number, {least} or more, not {getattr(self, name)}"
                )


Settings = EmuConfig | PosteriorConfig

_POSITIVE = (
    "alpha",
    "learning_rate",
    "classifier_learning_rate",
    "critic_learning_rate",
    "critic_clip",
    "n_pair_scale",
)
_WITHOUT_LD: dict[str, Any] = {"adversary": Adversary.NONE}
_WITHOUT_LD_CL: dict[str, Any] = {**_WITHOUT_LD, "center_weight": 0.0}
_METHODS: dict[Method, dict[str, Any]] = {
    Method.EMU: {},
    Method.WITHOUT_LD: _WITHOUT_LD,
    Method.WITHOUT_LD_CL: _WITHOUT_LD_CL,
    Method.PARALLEL: {"parallel": True},
    Method.SOFTMAX: {**_WITHOUT_LD_CL, "objective": Objective.SOFTMAX},
    Method.CONTRASTIVE: {**_WITHOUT_LD_CL, "objective": Objective.CONTRASTIVE},
    Method.N_PAIR: {**_WITHOUT_LD_CL, "objective": Objective.N_PAIR},
}
# Found by measuring on a topic set and on the demo set (benchmarks/README.md). At alpha = 50 the classifier alone fits
# the labels and the encoder hardly moves; 10 leaves it work to do. At gamma = 1e-4 the discriminator's gradient is a
# thousandth of the classifier's; 0.1 is the largest weight tried that cost nothing. One critic update a step gave what
# five gave.
_TUNED: dict[str, dict[str, Any]] = {
    "use": {
        "alpha": 10.0,
        "learning_rate": 3e-4,
        "epochs": 5,
        "adversary_weight": 0.1,
        "critic_steps": 1,
    },
    "e5-small": {
        "alpha": 10.0,
        "learning_rate": 1e-4,
        "epochs": 5,
        "adversary_weight": 0.1,
        "critic_steps": 1,
    },
}


# `use` is trained on translations to have no language directions, and its mean is near zero.
_TUNED_POSTERIOR: dict[str, dict[str, Any]] = {
    "use": {
        "inverse_penalty": 30.0,
        "gate_quantile": 0.05,
        "gate_width": 0.1,
        "language_directions": 0,
        "centering": 0.0,
    },
}
_Trained = Literal[
    Method.EMU,
    Method.WITHOUT_LD,
    Method.WITHOUT_LD_CL,
    Method.PARALLEL,
    Method.SOFTMAX,
    Method.CONTRASTIVE,
    Method.N_PAIR,
]


@overload
def configure(method: _Trained, encoder: str | None = None, **changes: Any) -> EmuConfig: ...


@overload
def configure(
    method: Literal[Method.POSTERIOR], encoder: str | None = None, **changes: Any
) -> PosteriorConfig: ...


@overload
def configure(method: Method, encoder: str | None = None, **changes: Any) -> Settings: ...


def configure(method: Method, encoder: str | None = None, **changes: Any) -> Settings:
    """Settings of a method.

    Args:
        method: one of the systems of Emu's Table 2, or ours.
        encoder: start from the defaults measured for this encoder; without it, from the paper's own values.
        changes: fields of `EmuConfig`, or for the posterior method of `PosteriorConfig`, to set on top.

    Raises:
        TrainingError: a value is outside its range, or the method has no such setting.
    """
    if method is Method.POSTERIOR:
        known = _TUNED_POSTERIOR.get(encoder, {}) if encoder is not None else {}
        _check_names(method, PosteriorConfig, changes)
        return PosteriorConfig(**{**known, **changes})
    _check_names(method, EmuConfig, changes)
    # Any other transformer starts from what was measured for e5-small; LASER from the paper's own, found for it.
    kind = "e5-small" if encoder is not None and encoder.startswith("hf") else encoder
    tuned = _TUNED.get(kind, {}) if kind is not None else {}
    return replace(EmuConfig(**{**tuned, **_METHODS[method]}), **changes)


def settings_from(method: str, values: Mapping[str, Any]) -> Settings:
    """Settings that were written down, as config.json of a run has them."""
    return PosteriorConfig(**values) if method == Method.POSTERIOR else EmuConfig(**values)


def _check_names(method: Method, kind: type[Settings], changes: Mapping[str, Any]) -> None:
    unknown = set(changes) - {field.name for field in fields(kind)}
    if unknown:
        raise TrainingError(
            f"the method {method} has no setting {', '.join(sorted(unknown))}; leave it out, or use another method"
        )
