"""Running text: sentences in the order they were written in, for the quick-thought task."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from emu_core.data.cleaning import clean
from emu_core.data.languages import stated_language
from emu_core.data.readers.limits import MAX_ROWS, check_rows, named_paths
from emu_core.data.readers.text import read_lines
from emu_core.data.texts.text import Text
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError

SHORTEST = 3
"""Sentences: quick thought needs one with a sentence before it and one after it."""


@dataclass(frozen=True)
class RunningText(Text):
    """Documents in one language, sentence by sentence.

    Attributes:
        language: its code.
        documents: the sentences of each document, none blank; `SHORTEST` or more.
        name: the name of the text.
        notes: anything odd about how it was read.
    """

    kind: ClassVar = "running"
    columns: ClassVar = {"documents": "text"}
    language: str
    documents: tuple[tuple[str, ...], ...]
    name: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that there are documents, long enough to learn from. Raises DataError."""
        if not self.documents or min(map(len, self.documents)) < SHORTEST:
            raise DataError(
                f"{shown(self.name)}: a document needs {SHORTEST} sentences or more, for quick thought learns from a "
                "sentence between two others; leave shorter ones out"
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

    A file without blank lines is one document. Documents of fewer than three sentences give quick thought nothing:
    they are left out and counted in `notes`.

    Args:
        files: the files, each of one language.
        language: their language; without it each file's name must state it (`news.en.txt`).

    Raises:
        DataError: a file can't be read, doesn't state its language, or has no document of three sentences.
    """
    paths = named_paths(files, "no file of running text is named; name one with a sentence a line")
    found = [_read(path, stated_language(language, path.name)) for path in paths]
    check_rows(sum(map(len, found)), MAX_ROWS, "the running text in all files together")
    return found


def _read(path: Path, language: str) -> RunningText:
    lines, notes = read_lines(path)
    check_rows(len(lines), MAX_ROWS, path.name)
    documents: list[list[str]] = [[]]
    for line in clean(lines):
        if line:
            documents[-1].append(line)
        elif documents[-1]:
            documents.append([])
    documents = [document for document in documents if document]
    long_enough = tuple(tuple(document) for document in documents if len(document) >= SHORTEST)
    if not long_enough:
        raise DataError(
            f"{shown(path.name)}: none of {counted(len(documents), 'document')} has {SHORTEST} sentences, and shorter "
            "ones give quick thought nothing; write a sentence a line, and a blank line only between documents"
        )
    if short := len(documents) - len(long_enough):
        notes = (
            *notes,
            f"{shown(path.name)}: {counted(short, 'document')} of fewer than {SHORTEST} sentences left out, for they "
            "give quick thought nothing.",
        )
    return RunningText(language, long_enough, path.name, notes)
