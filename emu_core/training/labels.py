"""The labels of the sentences that a method learns from."""

from collections.abc import Sequence

import pandas as pd

from emu_core.data.sets import LabelledSet
from emu_core.errors import TrainingError


def labelled_rows(labelled: LabelledSet, train_languages: Sequence[str]) -> pd.DataFrame:
    """Return the rows in the training languages, with the number of each row's intent, by name, as `label`.

    Raises:
        TrainingError: there is only one intent.
    """
    part = labelled.select(languages=train_languages)
    intents = part.intents
    if len(intents) < 2:
        raise TrainingError(
            f"the labelled sentences in {', '.join(train_languages)} have the single intent '{intents[0]}'; "
            "add sentences of another, or choose another training language"
        )
    number = {intent: rank for rank, intent in enumerate(intents)}
    return part.frame.assign(label=part.frame["intent"].map(number))


def rows_by_class(labels: Sequence[int]) -> dict[int, list[int]]:
    """Return the row numbers of each class."""
    rows: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return rows
