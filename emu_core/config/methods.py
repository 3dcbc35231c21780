"""The methods there are, and the settings that each starts from."""

from collections.abc import Mapping
from dataclasses import fields, replace
from enum import StrEnum
from typing import Any, Literal, overload

from emu_core.config.emu import Adversary, EmuConfig, Objective
from emu_core.config.fmda import FmdaConfig, MeaningLanguageConfig
from emu_core.config.posterior import PosteriorConfig
from emu_core.errors import TrainingError


class Method(StrEnum):
    """The systems of Emu's Table 2, one of our own that trains no encoder, and FMDA with its baseline."""

    POSTERIOR = "posterior"
    EMU = "emu"
    WITHOUT_LD = "emu-without-ld"
    WITHOUT_LD_CL = "emu-without-ld-cl"
    PARALLEL = "emu-parallel"
    SOFTMAX = "softmax"
    CONTRASTIVE = "contrastive"
    N_PAIR = "n-pair"
    FMDA = "fmda"
    MEANING_LANGUAGE = "meaning-language"


DISENTANGLING = (Method.FMDA, Method.MEANING_LANGUAGE)
"""Methods that split the vectors of a frozen encoder, learnt from translations with slots instead of intents."""


def usual_encoder(method: Method) -> str:
    """The encoder that a method takes where none is named: one with states of its tokens, if it needs them."""
    return "e5-small" if method in DISENTANGLING else "use"


Settings = EmuConfig | PosteriorConfig | FmdaConfig | MeaningLanguageConfig

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
# five gave, and one every eight steps what one a step gave, in half the time.
_TUNED: dict[str, dict[str, Any]] = {
    "use": {
        "alpha": 10.0,
        "learning_rate": 3e-4,
        "epochs": 5,
        "adversary_weight": 0.1,
        "adversary_every": 8,
        "critic_steps": 1,
    },
    "e5-small": {
        "alpha": 10.0,
        "learning_rate": 1e-4,
        "epochs": 5,
        "adversary_weight": 0.1,
        "adversary_every": 8,
        "critic_steps": 1,
    },
}


# `use` is trained on translations to have no language directions, and its mean is near zero.
_TUNED_POSTERIOR: dict[str, dict[str, Any]] = {
    "use": {
        "kernel_temperature": 0.05,
        "gate_temperature": 0.1,
        "language_directions": 0,
        "centering": 0.0,
    },
}
# Measured on generated commands (benchmarks/README.md). The baseline is given what serves it, too.
_TUNED_FMDA: dict[str, Any] = {
    "standardised": True,
    "language_hidden": 4,
    "utterance_cross_weight": 1.0,
    "template_weight": 0.03,
    "template_cross_weight": 0.03,
    "residual_weight": 3.0,  # the residual keeps its language, so that the template says what it does not
    "residual_cross_weight": 0.003,
    "template_contrast_weight": 0.3,
    "meaning_contrast_weight": 0.03,
    "learning_rate": 3e-3,
}
# In two stages the template's losses are alone with each other, and templates found best with more of these.
_TUNED_TWO_STAGE: dict[str, Any] = {**_TUNED_FMDA, "template_weight": 0.1, "template_cross_weight": 0.1}
_TUNED_MEANING_LANGUAGE: dict[str, Any] = {"standardised": True, "learning_rate": 3e-3}
_KINDS: dict[Method, type[Settings]] = {
    Method.POSTERIOR: PosteriorConfig,
    Method.FMDA: FmdaConfig,
    Method.MEANING_LANGUAGE: MeaningLanguageConfig,
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
def configure(method: Literal[Method.FMDA], encoder: str | None = None, **changes: Any) -> FmdaConfig: ...


@overload
def configure(
    method: Literal[Method.MEANING_LANGUAGE], encoder: str | None = None, **changes: Any
) -> MeaningLanguageConfig: ...


@overload
def configure(method: Method, encoder: str | None = None, **changes: Any) -> Settings: ...


def configure(method: Method, encoder: str | None = None, **changes: Any) -> Settings:
    """Settings of a method.

    Args:
        method: one of the systems of Emu's Table 2, or ours.
        encoder: start from the defaults measured for this encoder; without it, from the paper's own values.
        changes: fields of the method's settings to set on top: of `EmuConfig`, `PosteriorConfig`, `FmdaConfig` or
            `MeaningLanguageConfig`.

    Raises:
        TrainingError: a value is outside its range, or the method has no such setting.
    """
    kind_of_settings = _KINDS.get(method, EmuConfig)
    _check_names(method, kind_of_settings, changes)
    if method is Method.POSTERIOR:
        known = _TUNED_POSTERIOR.get(encoder, {}) if encoder is not None else {}
        return PosteriorConfig(**{**known, **changes})
    if method is Method.FMDA:
        tuned_fmda = _TUNED_TWO_STAGE if changes.get("two_stage") else _TUNED_FMDA
        return FmdaConfig(**{**(tuned_fmda if encoder is not None else {}), **changes})
    if method is Method.MEANING_LANGUAGE:
        return MeaningLanguageConfig(
            **{**(_TUNED_MEANING_LANGUAGE if encoder is not None else {}), **changes}
        )
    # Any other transformer starts from what was measured for e5-small; LASER from the paper's own, found for it.
    kind = "e5-small" if encoder is not None and encoder.startswith("hf") else encoder
    tuned = _TUNED.get(kind, {}) if kind is not None else {}
    return replace(EmuConfig(**{**tuned, **_METHODS[method]}), **changes)


def settings_from(method: str, values: Mapping[str, Any]) -> Settings:
    """Settings that were written down, as config.json of a run has them.

    Raises:
        TrainingError: another version of this library wrote them.
    """
    try:
        return _KINDS.get(Method(method), EmuConfig)(**values)
    except TypeError:
        raise TrainingError(
            f"the settings of the method {method} were written by another version; train again"
        ) from None


def _check_names(method: Method, kind: type[Settings], changes: Mapping[str, Any]) -> None:
    unknown = set(changes) - {field.name for field in fields(kind)}
    if unknown:
        raise TrainingError(
            f"the method {method} has no setting {', '.join(sorted(unknown))}; leave it out, or use another method"
        )
