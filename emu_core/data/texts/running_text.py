"""Running text: sentences in the order in which they were written, for the quick-thought task."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from emu_core.data.texts.text import TrainingText
from emu_core.data.wording import shown
from emu_core.errors import DataError

MIN_DOCUMENT_SENTENCES = 3
"""Quick thought needs a sentence with one before it and one after it."""


@dataclass(frozen=True)
class RunningText(TrainingText):
    """Documents in one language, sentence by sentence.

    Attributes:
        language: its code.
        documents: the sentences of each document, none blank; `MIN_DOCUMENT_SENTENCES` or more.
    """

    kind: ClassVar = "running"
    columns: ClassVar = {"documents": "text"}
    language: str
    documents: tuple[tuple[str, ...], ...]
    name: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.documents or min(map(len, self.documents)) < MIN_DOCUMENT_SENTENCES:
            raise DataError(
                f"{shown(self.name)}: a document needs {MIN_DOCUMENT_SENTENCES} sentences or more, because quick "
                "thought learns from a sentence between two others; leave shorter ones out"
            )

    def __len__(self) -> int:
        """Return the number of sentences that have one before and one after them."""
        return sum(len(document) - 2 for document in self.documents)

    def to_frame(self) -> pd.DataFrame:
        """Return the sentences, each with the number of its document."""
        rows = [(number, text) for number, document in enumerate(self.documents) for text in document]
        return pd.DataFrame(rows, columns=["document", "text"])

    @classmethod
    def _rows(cls, frame: pd.DataFrame) -> dict[str, Any]:
        return {"documents": tuple(tuple(part["text"]) for _, part in frame.groupby("document"))}
