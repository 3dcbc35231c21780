"""Whether data and settings fit each other, found out before a run is started."""

from collections.abc import Sequence
from typing import cast

from emu_core.api.train_disentangled import training_pairs
from emu_core.trainers.prepare import labelled_rows, prepare

from emu_core.config import (
    Adversary,
    EmuConfig,
    FmdaConfig,
    MeaningLanguageConfig,
    PosteriorConfig,
    Settings,
)
from emu_core.data.labelled import LabelledSet, unlabelled_from
from emu_core.data.languages import language_name
from emu_core.data.slots.template_pairs import template_pairs
from emu_core.data.slots.utterances import Utterance
from emu_core.encoders.base import Encoder, TokenIds
from emu_core.errors import EmuError
from emu_core.trainers.posterior import check_rows


class _NoTokens:
    """Stands in for an encoder where only the counts of sentences are looked at."""

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        return [[] for _ in texts]


def problem(
    labelled: LabelledSet,
    train_languages: Sequence[str],
    unlabelled_languages: Sequence[str],
    config: Settings,
    pairs: Sequence[tuple[str, str]] = (),
) -> str:
    """Return why training can't start, in one sentence; "" when it can.

    The trainer's own checks are asked, so that what passes here passes there.
    """
    try:
        part = labelled.train_part()
    except EmuError as error:
        return str(error)
    if isinstance(config, FmdaConfig | MeaningLanguageConfig):
        return _problem_of_pairs(labelled, pairs, config)
    if not train_languages:
        return "choose a language whose labels are used"
    if isinstance(config, EmuConfig) and config.adversary is not Adversary.NONE and not unlabelled_languages:
        return (
            "this method needs sentences in another language than "
            f"{language_name(train_languages[0])}; choose one above, or a method without the language discriminator"
        )
    try:
        if isinstance(config, EmuConfig):
            pool = unlabelled_from(part, unlabelled_languages) if unlabelled_languages else None
            prepare(cast(Encoder, _NoTokens()), part, pool, train_languages, config)
        elif isinstance(config, PosteriorConfig):
            check_rows(labelled_rows(part, train_languages)[1])
    except EmuError as error:
        return str(error)
    return ""


def _problem_of_pairs(
    labelled: LabelledSet, pairs: Sequence[tuple[str, str]], config: FmdaConfig | MeaningLanguageConfig
) -> str:
    there = labelled.train_part().languages
    if len(there) < 2:
        return (
            f"this method learns from translations, and every sentence to train on is in {language_name(there[0])}; "
            "add the same sentences, with the same ids, in another language"
        )
    if not pairs:
        return "choose two languages whose translations are learnt from"
    try:
        train, _ = training_pairs(labelled, pairs)
        if isinstance(config, FmdaConfig) and config.two_stage:
            sentences: list[Utterance] = [one for pair in train for one in (*pair.first, *pair.second)]
            template_pairs(sentences)
    except EmuError as error:
        return str(error)
    return ""
