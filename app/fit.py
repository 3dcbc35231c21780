"""Whether data and settings fit each other, found out before a run is started."""

from collections.abc import Sequence

from emu_core.api.train import plan_training
from emu_core.config.settings import Settings
from emu_core.data.labelled import LabelledSet
from emu_core.errors import EmuError


def problem(
    labelled: LabelledSet,
    method: str,
    train_languages: Sequence[str],
    unlabelled_languages: Sequence[str],
    settings: Settings,
    pairs: Sequence[tuple[str, str]] = (),
) -> str:
    """Return why training can't start, in one sentence; "" when it can. The training's own checks are asked."""
    if not train_languages and not pairs:
        return "choose a language whose labels are used"
    try:
        plan_training(
            labelled,
            method=method,
            train_languages=train_languages or ("en",),
            unlabelled_languages=unlabelled_languages,
            pairs=pairs,
            config=settings,
        )
    except EmuError as error:
        return str(error)
    return ""
