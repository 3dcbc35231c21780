"""Settings of FMDA and of its baseline."""

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from emu_core.errors import TrainingError
from emu_core.settings import CHOSEN_ON, OURS, Settings, setting

_WU, _TIYAJAMORN = "Wu et al. 2022", "Tiyajamorn et al. 2021"
_STEPS, _LOSSES = "Steps", "Weights of the losses"


def _weight(help: str, *, label: str, source: str, default: float = 1.0) -> Any:
    return setting(default, f"{help} 0 omits it.", label=label, source=source, low=0, group=_LOSSES)


_identification = partial(
    _weight,
    "Weight of language identification: the language is predicted from the language embedding.",
    label="Language identification",
)
_meaning_contrast = partial(
    _weight,
    "Weight of the contrast of meanings: translations are pulled together, other meanings are pushed apart.",
    label="Contrast of meanings",
)
_step = partial(setting, group=_STEPS)
_negatives = partial(
    _step,
    4,
    "Number of sentences with another meaning drawn for each sentence as negatives; each epoch uses the next one.",
    label="Negatives per sentence",
    low=1,
)
_batch_size = partial(_step, 256, "Pairs of translations in a step.", low=1)
_learning_rate = partial(
    setting,
    help="Step size of the trained layers (Adam). Lower it when the loss jumps about.",
    above=0,
    common=True,
)
_epochs = partial(setting, 20, label="Epochs, at most", low=1, common=True)
_patience = partial(_step, 5, low=1)
_standardised = partial(
    _step,
    False,
    "Standardise the encoder's token states to mean 0 and standard deviation 1; otherwise a few large values outweigh "
    "all others.",
    label="Standardised token states",
    source=CHOSEN_ON.format("pairs of split dev of generated commands"),
)


class _WeightedLosses(Settings):
    """Settings with a weight for each loss."""

    def check_together(self) -> None:
        """Check that at least one loss has a weight."""
        weights = [field.name for field in fields(self) if field.name.endswith("_weight")]
        if all(getattr(self, name) == 0 for name in weights):
            raise TrainingError("every loss has weight 0, so nothing would be trained; give one a weight")


@dataclass(frozen=True)
class FmdaConfig(_WeightedLosses):
    """FMDA's settings (Wu et al. 2022, sections 3.5 and 4.2).

    The paper gives no weights (eq. 5 is the plain sum of the losses), and refers to Tiyajamorn et al. for its other
    settings; `configure` has measured ones (benchmarks/README.md).
    """

    epochs: int = _epochs("Maximum number of passes over all pairs in each stage.")
    learning_rate: float = _learning_rate(1e-4)
    two_stage: bool = setting(
        False,
        "Train the template embedding first, on sentences that only differ in their slots, then freeze it and train "
        "the rest. It then retrieves templates far better, and translations far worse.",
        label="In two stages",
        source=f"{_WU}, section 4.6",
        common=True,
    )
    batch_size: int = _batch_size()
    patience: int = _patience(
        "A stage ends after this many consecutive epochs without a better accuracy on held-out pairs."
    )
    negatives: int = _negatives(source=f"{_WU}, section 4.2; number ours")
    hidden: int = _step(768, "Width of the middle layer of each network.", label="Hidden size", low=1)
    language_hidden: int = _step(
        768,
        "Width of the language network's middle layer; if it is small, the language embedding can't hold the meaning.",
        label="Size of the language layer",
        low=1,
    )
    standardised: bool = _standardised()
    language_weight: float = _identification(source=f"{_WU}, section 3.2")
    utterance_weight: float = _weight(
        "Weight of rebuilding the sentence from its language, template and residual.",
        label="Sentence reconstruction",
        source=f"{_WU}, section 3.3",
    )
    utterance_cross_weight: float = _weight(
        "Weight of rebuilding the translation from template and residual with the other language.",
        label="Cross-language sentence reconstruction",
        source=f"{OURS}; {_WU}, eq. 5, has it of template and residual only",
        default=0.0,
    )
    template_weight: float = _weight(
        "Weight of rebuilding the sentence without its slots from template and language.",
        label="Template reconstruction",
        source=f"{_WU}, eq. 1",
    )
    template_cross_weight: float = _weight(
        "Weight of rebuilding the translation without its slots from the template with the other language.",
        label="Cross-language template reconstruction",
        source=f"{_WU}, eq. 2",
    )
    residual_weight: float = _weight(
        "Weight of rebuilding the slots without the rest of the sentence from residual and language.",
        label="Residual reconstruction",
        source=f"{_WU}, section 3.3",
    )
    residual_cross_weight: float = _weight(
        "Weight of rebuilding the translation's slots from the residual with the other language.",
        label="Cross-language residual reconstruction",
        source=f"{_WU}, eq. 5, which prints this pair twice",
    )
    template_contrast_weight: float = _weight(
        "Weight of the contrast of templates: translations are pulled together, other meanings are pushed apart.",
        label="Contrast of templates",
        source=f"{_WU}, eq. 3",
    )
    meaning_contrast_weight: float = _meaning_contrast(source=f"{_WU}, eq. 4")


@dataclass(frozen=True)
class MeaningLanguageConfig(_WeightedLosses):
    """Settings of FMDA's baseline (Tiyajamorn et al. 2021)."""

    epochs: int = _epochs("Maximum number of passes over all pairs.")
    learning_rate: float = _learning_rate(1e-3)
    batch_size: int = _batch_size()
    patience: int = _patience(
        "Training ends after this many consecutive epochs without a better accuracy on held-out pairs."
    )
    negatives: int = _negatives(source="ours, as FMDA's")
    standardised: bool = _standardised()
    reconstruction_weight: float = _weight(
        "Weight of rebuilding the sentence from its meaning and language.",
        label="Sentence reconstruction",
        source=_TIYAJAMORN,
    )
    cross_reconstruction_weight: float = _weight(
        "Weight of rebuilding the translation from the meaning with the other language.",
        label="Cross-language sentence reconstruction",
        source=_TIYAJAMORN,
    )
    meaning_weight: float = _meaning_contrast(source=_TIYAJAMORN)
    attraction_weight: float = _weight(
        "Weight of pulling the language embeddings of one language together.",
        label="Attraction of one language",
        source=_TIYAJAMORN,
    )
    language_weight: float = _identification(source=_TIYAJAMORN)
    repulsion_weight: float = _weight(
        "Weight of pushing the language embeddings of two languages apart.",
        label="Repulsion of two languages",
        source=_TIYAJAMORN,
    )
