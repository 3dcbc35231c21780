"""Running text: sentences in the order in which they were written, for the quick-thought task."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from emu_core.data.cleaning import clean
from emu_core.data.file_names import language_of_file, stated_language
from emu_core.data.readers.formats import STRUCTURED_ENDINGS, is_table, unpacked_name
from emu_core.data.readers.limits import check_rows
from emu_core.data.readers.text import read_lines
from emu_core.data.texts.text import TrainingText, left_out_note, read_training_texts
from emu_core.data.wording import counted, shown
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


def read_running_text(files: Sequence[str | Path], language: str | None = None) -> list[RunningText]:
    """Read plain text, gzipped or not: a sentence a line, in order, with a blank line between documents.

    A file without blank lines is one document. Documents of fewer than three sentences, from which quick thought cannot
    learn, are left out and counted in `notes`.

    Args:
        files: the files, each in one language.
        language: their language; without it each file's name must state it (`news.en.txt`).

    Raises:
        DataError: a file can't be read, doesn't state its language, or has no document of three sentences.
    """
    return read_training_texts(
        files,
        lambda path: _read(path, language),
        "running text",
        "with a sentence a line",
        lambda name: (
            (language or language_of_file(name)) is not None
            and not (is_table(name) or unpacked_name(name).lower().endswith(STRUCTURED_ENDINGS))
        ),
    )


def _read(path: Path, given: str | None) -> list[RunningText]:
    language = stated_language(given, path.name)
    lines, notes = read_lines(path, path.name)
    check_rows(len(lines), path.name)
    documents = [tuple(group) for has_text, group in groupby(clean(lines), key=bool) if has_text]
    long_enough = tuple(document for document in documents if len(document) >= MIN_DOCUMENT_SENTENCES)
    if not long_enough:
        raise DataError(
            f"{shown(path.name)}: none of {counted(len(documents), 'document')} has {MIN_DOCUMENT_SENTENCES} "
            "sentences, and quick thought can't learn from shorter ones; write a sentence a line, and a blank line "
            "only between documents"
        )
    short = len(documents) - len(long_enough)
    notes += left_out_note(path, short, "document", f"of fewer than {MIN_DOCUMENT_SENTENCES} sentences")
    return [RunningText(language, long_enough, path.name, notes)]
