"""News stories with a class each, such as Reuters RCV1 and RCV2, which a person may have under licence.

Two simple forms are read; whoever has the collection's XML brings it to one of them:

- a folder with a folder for each class, and in it a text file for each document: `EN1000/CCAT/2286.txt`;
- a table (CSV, TSV, ...) with a column of text and one of the class, a row for each document.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emu_core.data.cleaning import stripped
from emu_core.data.labelled.columns import ColumnMapping, apply_columns, guess_columns
from emu_core.data.languages import checked_language
from emu_core.data.readers.limits import check_rows, opened
from emu_core.data.readers.tables import read_table
from emu_core.data.readers.text import read_text
from emu_core.data.wording import shown
from emu_core.errors import DataError

MAX_DOCUMENTS = 100_000
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
_SENTENCE_END = re.compile(r"[\r\n]+|(?<=[.!?])\s+|(?<=[。！？])")


@dataclass(frozen=True)
class ClassifiedDocuments:
    """Documents of one language with a class each.

    Attributes:
        language: code.
        documents: N documents of one or more sentences, none of them blank.
        labels: the N documents' classes.
        name: the name of the set.
    """

    language: str
    documents: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    name: str

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self.documents)


def read_documents(
    path: str | Path, *, language: str, mapping: ColumnMapping | None = None
) -> ClassifiedDocuments:
    """Read documents from a folder of class folders, or from a table; a document without text is left out.

    Args:
        path: the folder, or the table's file.
        language: of all documents; of a table that has a column of languages, its rows in this one are read.
        mapping: the table's columns by name; those left None are guessed (`text`, and `intent`, `label` or `class`).

    Raises:
        DataError: the language is none, nothing can be read, a link leads out of the folder, or there is no document
            or a single class.
    """
    path = Path(path)
    code = checked_language(language)
    texts, labels = _from_folder(path) if path.is_dir() else _from_table(path, code, mapping)
    documents = [sentences(text) for text in texts]
    filled = [row for row, document in enumerate(documents) if document]
    classes = {labels[row] for row in filled}
    if len(classes) < 2:
        found = f"the single class '{shown(next(iter(classes)))}'" if classes else "no document with text"
        raise DataError(f"{shown(path.name)} has {found}; give documents of two classes or more")
    return ClassifiedDocuments(
        code, tuple(documents[row] for row in filled), tuple(labels[row] for row in filled), path.name
    )


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a document: its lines, cut after `.`, `!` and `?` too; none of them blank."""
    return tuple(part.strip() for part in _SENTENCE_END.split(text) if part.strip())


def _from_table(
    path: Path, language: str, mapping: ColumnMapping | None
) -> tuple[Sequence[str], Sequence[str]]:
    frame = read_table(path, path.name)
    columns = guess_columns(frame, mapping)
    table = apply_columns(frame, columns, required=("text", "intent"), language=language, name=path.name)
    labels = stripped(table["intent"])
    if (labels == "").any():
        raise DataError(
            f"{shown(path.name)}: row {int((labels == '').argmax()) + 1} has no class; give it one, or remove it"
        )
    chosen = table["language"] == language
    if not chosen.any():
        raise DataError(f"{shown(path.name)} has no document in '{language}'; name another language or file")
    return table["text"][chosen].tolist(), labels[chosen].tolist()


def _from_folder(folder: Path) -> tuple[Sequence[str], Sequence[str]]:
    texts: list[str] = []
    labels: list[str] = []
    for label in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
        for file in sorted(entry for entry in label.iterdir() if not entry.name.startswith(".")):
            name = f"{label.name}/{file.name}"
            if not file.resolve().is_relative_to(folder.resolve()):
                raise DataError(f"{shown(name)} is a link out of the folder; put the file itself there")
            check_rows(len(texts) + 1, MAX_DOCUMENTS, folder.name)
            with opened(file, name, MAX_DOCUMENT_BYTES) as stream:
                payload = stream.read()
            if payload.strip():
                texts.append(read_text(payload, name)[0])
                labels.append(label.name)
    if not texts:
        raise DataError(
            f"{shown(folder.name)} has no folder of text files; put each class's documents in a folder of its name"
        )
    return texts, labels
