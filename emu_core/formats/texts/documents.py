"""Classified documents, such as the news stories of Reuters RCV1 and RCV2, for those who have a licence.

Two forms are read, to which the collection's XML has to be converted:

- a folder for each class with a text file for each document, such as `EN1000/CCAT/2286.txt`;
- a table (CSV, TSV, ...) with a row for each document and columns for text and class.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from emu_core.data.cleaning import clean, stripped
from emu_core.data.languages import checked_language
from emu_core.data.reading import ABOUT_INTENTS, Reading, checked_reading
from emu_core.data.repeats import sentence_groups
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError, Fix
from emu_core.formats.encodings import read_text
from emu_core.formats.in_memory import Sources, as_sources
from emu_core.formats.limits import check_rows, opened
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.columns import apply_columns, guess_columns
from emu_core.formats.tables.read import read_table
from emu_core.formats.tables.shapes import shaped

MAX_DOCUMENTS = 100_000
_TEST_DIVISOR = 3  # without splits, a third of the documents is for testing
_NAMED = re.compile(r"([A-Za-z_-]+)=(.+)")
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
_SENTENCE_END = re.compile(r"[\r\n]+|(?<=[.!?])\s+|(?<=[。！？])")


@dataclass(frozen=True)
class Documents:
    """Documents of one language: N texts and their N classes."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


def read_documents(path: Sources, *, reading: Reading) -> Documents:
    r"""Read documents from a folder of class folders, or from a table, as sentences joined by "\n".

    Documents without text are left out.

    Args:
        path: the folder, the table's file, or a table that Python holds: a DataFrame, a pyarrow Table ...
        reading: the language of all documents; of a table with a column of languages, only the rows in this one are
            read. Columns of the table that are not mapped are guessed (`text`, and `intent`, `label` or `class`).

    Raises:
        DataError: the language is unknown, nothing can be read, a link leads out of the folder, or there is no
            document or a single class.
    """
    reading = checked_reading(reading)
    reading.refuse("documents are read as they are labelled", *ABOUT_INTENTS)
    code = checked_language(reading.language or "")
    source, *others = as_sources(path)
    if others:
        raise DataError(
            f"there are {len(others) + 1} files or tables of documents in {code}; give one, or a folder"
        )
    folder = source if isinstance(source, Path) and source.is_dir() else None
    rows = _from_folder(folder) if folder else _from_table(source, code, reading)
    texts = [("\n".join(sentences(text)), label) for text, label in rows]
    filled = [(text, label) for text, label in texts if text]
    classes = {label for _, label in filled}
    if len(classes) < 2:
        content = f"the single class '{shown(next(iter(classes)))}'" if classes else "no document with text"
        raise DataError(f"{shown(source.name)} has {content}; give documents of two classes or more")
    return Documents(*zip(*filled, strict=True))


def named_files(given: Sequence[str]) -> dict[str, str]:
    """Return paths by language, given as en=PATH. Raises DataError for another form or a repeated language."""
    paths: dict[str, str] = {}
    for argument in given:
        match = _NAMED.fullmatch(argument)
        if match is None or match[1] in paths:
            raise DataError(
                f"'{shown(argument)}' does not name documents of a language of their own; write en=PATH de=PATH"
            )
        paths[match[1]] = match[2]
    return paths


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a document: its lines, split after `.`, `!` and `?` too; none of them blank."""
    return tuple(filter(None, clean(_SENTENCE_END.split(text))))


def documents_of_labelled(
    labelled: LabelledSet, codes: Sequence[str]
) -> dict[str, tuple[Documents, Documents]]:
    """Return the documents of split train, and of test (or else dev), by language; a set without splits is divided.

    Raises:
        DataError: the set has fewer than two of the languages, or these have fewer than two classes in common.
    """
    languages = _two_of(labelled.languages, codes, labelled.name)
    part = labelled.select(languages=languages)
    test = part.held_out_part()
    if test is not None:
        train, test_rows = part.train_part().frame, test.frame
    else:
        rows = part.frame
        # Translations and repeats of a sentence go the same way.
        groups = pd.Series(sentence_groups(rows), index=rows.index, dtype="str")
        keys = groups.where(groups != "", rows["text"])
        distinct = np.array(sorted(set(keys)), dtype=object)
        is_out = keys.isin(np.random.default_rng(0).permutation(distinct)[: len(distinct) // _TEST_DIVISOR])
        train, test_rows = rows[~is_out], rows[is_out]
    documents = pd.concat([train.assign(part=0), test_rows.assign(part=1)]).rename(
        columns={"intent": "label"}
    )
    return _checked(documents, languages, shown(labelled.name))


def documents_of_folders(
    documents: Mapping[str, Sources], test: Mapping[str, Sources], codes: Sequence[str]
) -> dict[str, tuple[Documents, Documents]]:
    """Read documents to train on and to test on, by language; without any to test on, a third of the others serve.

    Raises:
        DataError: there are fewer than two of the languages, these have fewer than two classes in common, or a folder
            or table can't be read.
    """

    def rows(path: Sources, language: str, part: int) -> pd.DataFrame:
        read = read_documents(path, reading=Reading(language=language))
        code = checked_language(language)
        return pd.DataFrame({"language": code, "part": part, "text": read.texts, "label": read.labels})

    frames = []
    for name, path in documents.items():
        frame = rows(path, name, 0)
        if not test:
            order = np.random.default_rng(0).permutation(len(frame))
            frame.loc[order[: len(order) // _TEST_DIVISOR], "part"] = 1
        elif name not in test:
            raise DataError(
                f"no documents in {shown(name)} to test on; name them with ", Fix("test_documents")
            )
        else:
            frame = pd.concat([frame, rows(test[name], name, 1)])
        frames.append(frame)
    joined = pd.concat(frames)
    return _checked(
        joined, _two_of(joined["language"].unique(), codes, "the documents"), "the documents' folders"
    )


def _two_of(available: Sequence[str], codes: Sequence[str], name: str) -> list[str]:
    """Return the languages trained on that have labels. Raises DataError for fewer than two."""
    labelled_codes = [code for code in codes if code in available]
    if len(labelled_codes) < 2:
        raise DataError(
            f"{shown(name)} has labels in {listed(labelled_codes) or 'none'} of the languages trained on "
            f"({listed(codes)}); to train a classifier in one and test it in another, give labels in two"
        )
    return labelled_codes


def _checked(
    documents: pd.DataFrame, codes: Sequence[str], name: str
) -> dict[str, tuple[Documents, Documents]]:
    """Keep the classes that every language has training documents of; others can't be predicted across languages."""
    parts = {
        (code, part): documents[(documents["language"] == code) & (documents["part"] == part)]
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


def documents_by_language(documents: pd.DataFrame) -> dict[str, tuple[Documents, Documents]]:
    """Return the documents in rows of language, part, text and label, where part 0 of a language comes first."""
    parts_by_language: dict[str, list[Documents]] = {}
    for (code, _), rows in documents.groupby(["language", "part"], sort=False):
        parts_by_language.setdefault(code, []).append(Documents(tuple(rows["text"]), tuple(rows["label"])))
    return {code: (parts[0], parts[1]) for code, parts in parts_by_language.items()}


def _from_table(path: Path | SourceFile, language: str, reading: Reading) -> list[tuple[str, str]]:
    frame = read_table(path if isinstance(path, Path) else path.source, path.name, shaped)
    columns = guess_columns(frame, reading.mapping)
    table = apply_columns(
        frame, columns, required=("text", "intent"), language=language, name=path.name, reading=reading
    )
    labels = stripped(table["intent"])
    if (labels == "").any():
        raise DataError(
            f"{shown(path.name)}: row {int((labels == '').argmax()) + 1} has no class; give it one, or remove it"
        )
    chosen = table["language"] == language
    if not chosen.any():
        raise DataError(f"{shown(path.name)} has no document in '{language}'; name another language or file")
    return list(zip(table["text"][chosen], labels[chosen], strict=True))


def _from_folder(folder: Path) -> list[tuple[str, str]]:
    documents: list[tuple[str, str]] = []
    for label in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
        for file in sorted(entry for entry in label.iterdir() if not entry.name.startswith(".")):
            name = f"{label.name}/{file.name}"
            if not file.resolve().is_relative_to(folder.resolve()):
                raise DataError(f"{shown(name)} is a link out of the folder; put the file itself there")
            check_rows(len(documents) + 1, folder.name, MAX_DOCUMENTS)
            with opened(file, name, MAX_DOCUMENT_BYTES) as stream:
                payload = stream.read()
            if payload.strip():
                documents.append((read_text(payload, name)[0], label.name))
    if not documents:
        raise DataError(
            f"{shown(folder.name)} has no folder of text files; put each class's documents in a folder of its name"
        )
    return documents
