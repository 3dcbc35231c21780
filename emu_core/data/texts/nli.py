"""Natural language inference: pairs of sentences and their relation."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from emu_core.data.texts.text import TrainingText
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError

LABELS = ("entailment", "neutral", "contradiction")
"""In the order of the numbers in `Nli.labels`."""


@dataclass(frozen=True, eq=False)
class Nli(TrainingText):
    """Premises, hypotheses and their relation, in one language.

    Attributes:
        premises: N sentences, none blank.
        hypotheses: N sentences, none blank.
        labels: (N,) int64, places in `LABELS`.
        language: its code.
    """

    kind: ClassVar = "nli"
    columns: ClassVar = {"premises": "premise", "hypotheses": "hypothesis", "labels": "label"}
    premises: tuple[str, ...]
    hypotheses: tuple[str, ...]
    labels: NDArray[np.int64]
    language: str
    name: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.premises) == len(self.hypotheses) == len(self.labels) or not len(self.labels):
            raise DataError(
                f"{shown(self.name)} has {counted(len(self.premises), 'premise')}, "
                f"{counted(len(self.hypotheses), 'hypothesis', 'hypotheses')} and "
                f"{counted(len(self.labels), 'label')}; give one label for each pair"
            )
        if self.labels.min() < 0 or self.labels.max() >= len(LABELS):
            raise DataError(f"{shown(self.name)}: labels are 0, 1 and 2 for {listed(LABELS)}")

    @classmethod
    def _rows(cls, frame: pd.DataFrame) -> dict[str, Any]:
        return {**super()._rows(frame), "labels": frame["label"].to_numpy(np.int64)}
