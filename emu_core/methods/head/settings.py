"""Settings of the head method."""

from dataclasses import dataclass
from functools import partial

from emu_core.settings import CHOSEN_ON, SHARE_LIMITS, Settings, setting

_chosen = partial(setting, source=CHOSEN_ON.format("SIB-200, the demo set and Home Assistant's commands"))
_INTENTS, _OTHERS, _LANGUAGES = "Intents", "Sentences of other topics", "Languages"
_new = partial(_chosen, group="New intents")
_other = partial(_chosen, group=_OTHERS)
_language = partial(_chosen, group=_LANGUAGES)


@dataclass(frozen=True)
class HeadConfig(Settings):
    """Settings of the head method; see `emu_core.methods.head.head` for what they do there.

    There is no paper to take defaults from: these were chosen on SIB-200, the demo set and Home Assistant's commands
    (benchmarks/README.md), for encoders whose vectors all lie in one direction, as those of e5-small do. The logistic
    regression's penalty is no setting: it is chosen on labelled sentences that are held out
    (`emu_core.methods.head.fit`).
    """

    share: float = _chosen(
        0.13,
        "How far an embedding is moved towards its intent where the probabilities are sure: the share of its squared "
        "length that the intent takes. More separates intents better, and changes other comparisons more.",
        label="Move towards the intent",
        group=_INTENTS,
        **SHARE_LIMITS,
    )
    softening: float = _chosen(
        1.0,
        "Above 1, intent probabilities are made less sure: translations stay closer together, and intents that are "
        "hard to tell apart are separated less.",
        label="Temperature",
        group=_INTENTS,
        above=0,
    )
    whitening: float = _chosen(
        0.15,
        "How far the directions are evened out in which sentences of one intent differ. More separates intents better, "
        "those without labels too, and translations less well. With few labels, it is weaker than set here. 0 leaves "
        "the embedding as it is.",
        label="Whitening within intents",
        group=_INTENTS,
        **SHARE_LIMITS,
    )
    whitening_factor: float = _new(
        3.0,
        "The whitening is so many times stronger where that helps intents without labels: if, with intents left out, "
        "it brings their sentences closer to those of the same intent. At 1 there is nothing to choose.",
        label="Stronger whitening, factor",
        low=1,
        matters=lambda settings: settings.whitening > 0,
    )
    share_factor: float = _new(
        1.2,
        "With the stronger whitening, embeddings are moved towards their intents by so many times the share.",
        label="Stronger move, factor",
        low=1,
        matters=lambda settings: settings.whitening > 0 and settings.whitening_factor > 1,
    )
    intent_parts: int = _new(
        4,
        "Parts of the intents, each left out in turn to learn which sentences are of no labelled intent; those "
        "are changed less. 0 does not learn it.",
        label="Folds of left-out intents",
        low=0,
    )
    kernel_temperature: float = _chosen(
        0.035,
        "Temperature of the cosines to the labelled sentences; the smaller, the more the nearest of them decide.",
        above=0,
        group=_INTENTS,
    )
    gate_temperature: float = _other(
        0.05,
        "Temperature of the cosines that measure how near a sentence is to the labelled ones; the smaller, the more "
        "the nearest of them decide.",
        label="Temperature of the gate",
        above=0,
    )
    gate_quantile: float = _other(
        0.0,
        "Share of the labelled sentences that count as unlike the others; with more, fewer sentences are changed. At 0 "
        "only the parts of intents left out decide, if there are any.",
        label="Quantile of the gate",
        **SHARE_LIMITS,
    )
    gate_width: float = _other(
        0.4,
        "How gradually a sentence becomes unlike the labelled ones, in standard deviations of their nearness.",
        label="Width of the gate",
        above=0,
    )
    language_directions: int = _language(
        5,
        "Directions in which the languages' mean embeddings differ most; so many are removed from every embedding.",
        label="Language directions removed",
        low=0,
    )
    centering: float = _language(
        0.75,
        "Share of the mean embedding that is subtracted, for encoders whose embeddings all lie in one direction.",
        label="Share of the mean subtracted",
        **SHARE_LIMITS,
    )

    @property
    def evens_languages(self) -> bool:
        """Whether differences between languages, or a common mean, are removed from the embeddings."""
        return bool(self.language_directions or self.centering)
