"""The settings of FMDA and of its baseline in a newcomer's words."""

from collections.abc import Callable
from typing import Any

from app.setting import Setting


def _weight(name: str, label: str, meaning: str, matters: Callable[[Any], bool] = lambda _: True) -> Setting:
    return Setting(f"{name}_weight", label, f"{meaning} 0 leaves it out.", matters=matters)


_STEPS = (
    Setting("batch_size", "Batch size", "Pairs of translations in a step.", 1),
    Setting(
        "patience",
        "Patience",
        "Training ends when so many epochs in a row have brought no better accuracy on held-out pairs.",
        1,
    ),
    Setting(
        "negatives",
        "Negatives a sentence",
        "So many sentences that mean something else are drawn for each, to be pushed away from it; each epoch uses the "
        "next of them.",
        1,
    ),
)
_LEARNING_RATE = Setting(
    "learning_rate",
    "Learning rate",
    "How far each step moves the layers. Lower it when the loss jumps about.",
)
_STANDARDISED = Setting(
    "standardised",
    "Standardised states",
    "The encoder's numbers are brought to mean 0 and deviation 1 first. Without it, a few of them drown the rest.",
)
FMDA_FIRST = (
    Setting("epochs", "Epochs, at most", "How often training goes through all pairs, at most.", 1),
    _LEARNING_RATE,
    Setting(
        "two_stage",
        "In two stages",
        "The template is learnt first, from sentences that differ in their slots alone, and then left as it is while "
        "the rest is learnt. It finds templates far better, and translations by the template far worse.",
    ),
)
FMDA_MORE: dict[str, tuple[Setting, ...]] = {
    "Steps": (
        *_STEPS,
        Setting("hidden", "Width of the layers", "Numbers in the middle layer of each of its networks.", 1),
        Setting(
            "language_hidden",
            "Width of the language's layer",
            "Kept small, the language part can't carry the sentence along, and the others have to.",
            1,
        ),
        _STANDARDISED,
    ),
    "What counts how much (weights of the losses)": (
        _weight("language", "Telling the language", "The language is to be told from the language part."),
        _weight(
            "utterance", "Rebuilding the sentence", "Language, template and residual together are to give it."
        ),
        _weight(
            "utterance_cross",
            "The other language's sentence",
            "Template and residual with the other language are to give the translation. The paper has no such loss.",
        ),
        _weight(
            "template",
            "Rebuilding the template",
            "Template and language are to give the sentence without its slots.",
        ),
        _weight(
            "template_cross",
            "The other language's template",
            "A template with the other language is to give the translation without its slots.",
        ),
        _weight(
            "residual",
            "Rebuilding the residual",
            "Residual and language are to give the slots without the rest of the sentence.",
        ),
        _weight(
            "residual_cross",
            "The other language's residual",
            "A residual with the other language is to give the translation's slots.",
        ),
        _weight(
            "template_contrast",
            "Templates of translations alike",
            "Templates of translations come close, those of sentences that mean something else stay apart.",
        ),
        _weight(
            "meaning_contrast",
            "Meanings of translations alike",
            "Meanings of translations come close, those of sentences that mean something else stay apart.",
        ),
    ),
}
BASELINE_FIRST = FMDA_FIRST[:2]
BASELINE_MORE: dict[str, tuple[Setting, ...]] = {
    "Steps": (*_STEPS, _STANDARDISED),
    "What counts how much (weights of the losses)": (
        _weight("reconstruction", "Rebuilding the sentence", "Meaning and language together are to give it."),
        _weight(
            "cross_reconstruction",
            "The other language's sentence",
            "A meaning with the other language is to give the translation.",
        ),
        _weight(
            "meaning",
            "Meanings of translations alike",
            "Meanings of translations come close, those of sentences that mean something else stay apart.",
        ),
        _weight("attraction", "One language, one place", "The language parts of one language come close."),
        _weight("language", "Telling the language", "The language is to be told from the language part."),
        _weight("repulsion", "Two languages apart", "The language parts of two languages stay apart."),
    ),
}
