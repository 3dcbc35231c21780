"""News stories with a class each, such as Reuters RCV1 and RCV2, which a person may have under licence.

Two simple forms are read; whoever has the collection's XML brings it to one of them:

- a folder with a folder for each class, and in it a text file for each document: `EN1000/CCAT/2286.txt`;
- a table (CSV, TSV, ...) with a column of text and one of the class, a row for each document.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.labelled.columns import ColumnMapping, apply_columns, guess_columns
from emu_core.data.labelled.sets import LabelledSet
from emu_core.data.languages import checked_language
from emu_core.data.readers.limits import check_rows, opened
from emu_core.data.readers.tables import read_table
from emu_core.data.readers.text import read_text
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError

MAX_DOCUMENTS = 100_000
TEST_SHARE = 3  # of labelled sentences without splits, one of so many is tested
_NAMED = re.compile(r"([A-Za-z_-]+)=(.+)")
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
_SENTENCE_END = re.compile(r"[\r\n]+|(?<=[.!?])\s+|(?<=[。！？])")


@dataclass(frozen=True)
class Documents:
    """Documents of one language with a class each: N texts and N labels, to train on or to test on."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


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


def named_files(given: Sequence[str]) -> dict[str, str]:
    """Return files by language, of what was written as en=PATH.

    Raises:
        DataError: one is written otherwise, or a language is there twice.
    """
    found: dict[str, str] = {}
    for one in given:
        match = _NAMED.fullmatch(one)
        if match is None or match[1] in found:
            raise DataError(
                f"'{shown(one)}' does not name documents of a language of their own; write en=PATH de=PATH"
            )
        found[match[1]] = match[2]
    return found


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a document: its lines, cut after `.`, `!` and `?` too; none of them blank."""
    return tuple(part.strip() for part in _SENTENCE_END.split(text) if part.strip())


def documents_of_labelled(
    labelled: LabelledSet, codes: Sequence[str]
) -> dict[str, tuple[Documents, Documents]]:
    """Divide a labelled set's texts into documents to train on and to test on, by language.

    Split train is trained on, and test (or else dev) tested; a set without splits is divided.

    Args:
        labelled: the set, whose intents are the classes.
        codes: languages, of which it has two or more.

    Raises:
        DataError: it has fewer, or these have no two classes in common.
    """
    there = _two_of(labelled.languages, codes, labelled.name)
    part = labelled.select(languages=there)
    test = part.held_out_part()
    if test is not None:
        train, test_rows = part.train_part().frame, test.frame
    else:
        rows = part.frame
        keys = rows["id"].where(rows["id"] != "", rows["text"])  # translations of each other go the same way
        distinct = np.array(sorted(set(keys)), dtype=object)
        is_out = keys.isin(np.random.default_rng(0).permutation(distinct)[: len(distinct) // TEST_SHARE])
        train, test_rows = rows[~is_out], rows[is_out]
    both = pd.concat([train.assign(part=0), test_rows.assign(part=1)]).rename(columns={"intent": "label"})
    return _checked(both, there, shown(labelled.name))


def documents_of_folders(
    documents: Mapping[str, str | Path], test: Mapping[str, str | Path], codes: Sequence[str]
) -> dict[str, tuple[Documents, Documents]]:
    """Read documents to train on and to test on, by language.

    Args:
        documents: folder or table, by language (see `read_documents`).
        test: those to test on; without any, a third of `documents`.
        codes: languages, of which there are two or more.

    Raises:
        DataError: there are fewer, these have no two classes in common, or one can't be read.
    """
    frames = []
    for name, path in documents.items():
        own = _rows(path, name)
        if not test:
            order = np.random.default_rng(0).permutation(len(own))
            own.loc[order[: len(order) // TEST_SHARE], "part"] = 1
        elif name not in test:
            raise DataError(
                f"no documents in {shown(name)} to test on; name them with --test-documents {name}=PATH"
            )
        else:
            own = pd.concat([own, _rows(test[name], name).assign(part=1)])
        frames.append(own)
    both = pd.concat(frames)
    return _checked(
        both, _two_of(both["language"].unique(), codes, "the documents"), "the documents' folders"
    )


def _rows(path: str | Path, language: str) -> pd.DataFrame:
    own = read_documents(path, language=language)
    texts = ["\n".join(document) for document in own.documents]
    return pd.DataFrame({"language": own.language, "part": 0, "text": texts, "label": own.labels})


def _two_of(there: Sequence[str], codes: Sequence[str], name: str) -> list[str]:
    """Return the languages trained on that there are labels in, which must be two or more."""
    found = [code for code in codes if code in there]
    if len(found) < 2:
        raise DataError(
            f"{shown(name)} has labels in {listed(found) or 'none'} of the languages trained on ({listed(codes)}); to "
            "train a classifier in one and test it in another, give labels in two"
        )
    return found


def _checked(both: pd.DataFrame, codes: Sequence[str], name: str) -> dict[str, tuple[Documents, Documents]]:
    """Keep the classes that every language has documents of to train on: others can't be found across languages."""
    parts = {
        (code, part): both[(both["language"] == code) & (both["part"] == part)]
        for code in codes
        for part in (0, 1)
    }
    if empty := [code for (code, _), rows in parts.items() if rows.empty]:
        raise DataError(f"{name} has nothing in {empty[0]} to train on or to test; add some")
    common = set.intersection(*(set(parts[code, 0]["label"]) for code in codes))
    kept = [rows[rows["label"].isin(common)] for rows in parts.values()]
    if len(common) < 2 or any(rows.empty for rows in kept):
        raise DataError(
            "the languages' documents have fewer than two classes in common; give labels of the same kind"
        )
    return documents_by_language(pd.concat(kept))


def documents_by_language(both: pd.DataFrame) -> dict[str, tuple[Documents, Documents]]:
    """Return the documents in rows of language, part, text and label; of each language part 0 comes first."""
    found: dict[str, list[Documents]] = {}
    for (code, _), own in both.groupby(["language", "part"], sort=False):
        found.setdefault(code, []).append(Documents(tuple(own["text"]), tuple(own["label"])))
    return {code: (parts[0], parts[1]) for code, parts in found.items()}


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
