"""Whether data and settings fit each other, found out before a run is started."""

from collections.abc import Sequence
from typing import cast

from emu_core.config import Adversary, EmuConfig, Settings
from emu_core.data.labelled import LabelledSet, unlabelled_from
from emu_core.data.languages import language_name
from emu_core.encoders.base import Encoder, TokenIds
from emu_core.errors import EmuError
from emu_core.trainers.posterior import check_rows
from emu_core.trainers.prepare import labelled_rows, prepare


class _NoTokens:
    """Stands in for an encoder where only the counts of sentences are looked at."""

    def token_ids(self, texts: Sequence[str]) -> list[TokenIds]:
        return [[] for _ in texts]


def problem(
    labelled: LabelledSet,
    train_languages: Sequence[str],
    unlabelled_languages: Sequence[str],
    config: Settings,
) -> str:
    """Return why training can't start, in one sentence; "" when it can.

    The trainer's own checks are asked, so that what passes here passes there.
    """
    try:
        part = labelled.train_part()
    except EmuError as error:
        return str(error)
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
        else:
            check_rows(labelled_rows(part, train_languages)[1], config)
    except EmuError as error:
        return str(error)
    return ""
