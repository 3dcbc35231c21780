"""Uploaded tables on their way to a labelled set."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.detection import detect_languages
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.audit import Audit
from emu_core.data.labelled.columns import ColumnMapping, apply_columns, guess_columns
from emu_core.data.labelled.load import labelled_from_frame
from emu_core.data.labelled.rows import located, translations_by_text
from emu_core.data.languages import is_known, language_code, language_of_file
from emu_core.data.readers.limits import check_rows
from emu_core.data.readers.tables import read_table
from emu_core.data.readers.text import encoding_notes
from emu_core.data.wording import listed
from emu_core.errors import DataError

DETECT = "detect"  # in the place of a language: that of each sentence is detected


@dataclass(frozen=True, eq=False)
class Upload:
    """Tables as read; their files' bytes are gone."""

    key: str  # tells this upload from every other
    size: int  # bytes of the tables
    names: tuple[str, ...]  # the files' names, as they came: never a path, never markup
    tables: tuple[pd.DataFrame, ...]  # a frame of strings for each

    @property
    def title(self) -> str:
        """The names in a line."""
        return listed(self.names, 4)

    @property
    def columns(self) -> list[str]:
        """The columns that every table has, in the first one's order."""
        return [column for column in self.tables[0].columns if all(column in table for table in self.tables)]

    def guess(self) -> ColumnMapping:
        """Return the columns' roles as their names tell."""
        return guess_columns(self.tables[0][self.columns])

    @property
    def names_state_languages(self) -> bool:
        """Whether each file's name says its language."""
        return all(language_of_file(name) for name in self.names)

    @property
    def notes(self) -> list[str]:
        """A sentence for each file that was not UTF-8."""
        return [
            note
            for name, table in zip(self.names, self.tables, strict=True)
            for note in encoding_notes(name, table.attrs.get("encoding", "utf-8"))
        ]


def read_upload(key: str, files: Sequence[tuple[str, bytes]]) -> Upload:
    """Read files, each a name and its bytes. Raises DataError for the first that isn't a table."""
    tables = tuple(read_table(payload, name) for name, payload in files)
    size = sum(int(table.memory_usage(deep=True).sum()) for table in tables)
    return Upload(key, size, tuple(name for name, _ in files), tables)


def read_texts(name: str, payload: bytes) -> list[str]:
    """Return the sentences of one file, by its name and bytes, without empty ones.

    Raises:
        DataError: it is no table, or has no column of sentences, or none in it.
    """
    found: list[str] = _sentences(name, payload)["text"].tolist()
    return found


def read_unlabelled(name: str, payload: bytes, language: str) -> pd.DataFrame:
    """Return text and language of the sentences of one file, or of lines where the name is "", each once.

    Args:
        name: the file's.
        payload: its bytes.
        language: of the sentences of which neither a column nor the name says it; `DETECT` has it detected.

    Raises:
        DataError: it is no table, or has no column of sentences, or none in it.
    """
    if name:
        table = _sentences(name, payload)
    else:
        lines = [line.strip() for line in payload.decode().splitlines()]
        table = pd.DataFrame({"text": [line for line in lines if line], "language": "und"}, dtype="str")
    strange = ~table["language"].map(is_known).astype(bool)
    if strange.any():
        codes = detect_languages(table.loc[strange, "text"].tolist()) if language == DETECT else language
        table.loc[strange, "language"] = codes
    return table.drop_duplicates(ignore_index=True)


def _sentences(name: str, payload: bytes) -> pd.DataFrame:
    frame = read_table(payload, name)
    stated = language_of_file(name) or "und"
    table = apply_columns(frame, guess_columns(frame), required=("text",), language=stated, name=name)
    table = table[["text", "language"]].apply(stripped)
    table = table[table["text"] != ""].reset_index(drop=True)
    if table.empty:
        raise DataError(f"there is no sentence in {name}; check its column of sentences")
    return table


def read_triples(name: str, payload: bytes) -> pd.DataFrame:
    """Return the triples of one file, by its name and bytes: s1, s2, s3, and language and language_s3 if it has them.

    Raises:
        DataError: it is no table, or a column or a sentence is missing.
    """
    frame = read_table(payload, name)
    frame.columns = [str(column).strip().lower() for column in frame.columns]
    if missing := [column for column in ("s1", "s2", "s3") if column not in frame]:
        raise DataError(f"{name} has no column {listed(missing, 3)}; its columns must be named s1, s2 and s3")
    known = [column for column in ("s1", "s2", "s3", "language", "language_s3") if column in frame]
    table = frame[known].apply(stripped)
    empty = (table[["s1", "s2", "s3"]] == "").any(axis=1)
    if empty.any():
        raise DataError(f"row {int(empty.to_numpy().argmax()) + 1} of {name} lacks a sentence; fill it in")
    return table.reset_index(drop=True)


def translations_of_upload(upload: Upload, mapping: ColumnMapping) -> dict[str, str]:
    """Return the machine translations that the tables hold, by text."""
    found: dict[str, str] = {}
    for table in upload.tables:
        found |= translations_by_text(table, mapping.text)
    return found


def missing_roles(upload: Upload, mapping: ColumnMapping, language: str | None) -> list[str]:
    """Return which of text, intent and language nothing says yet."""
    missing = [role for role in ("text", "intent") if asdict(mapping)[role] is None]
    if mapping.language is None and not language and not upload.names_state_languages:
        missing.append("language")
    return missing


def unread_languages(upload: Upload, column: str | None) -> list[str]:
    """Return what stands in the column of languages and is none, the most frequent first."""
    if column is None:
        return []
    counts = pd.concat([stripped(table[column]) for table in upload.tables]).value_counts()
    return [value for value in counts.index if value and language_code(value) is None]


def labelled_from_upload(
    upload: Upload,
    mapping: ColumnMapping,
    language: str | None,
    hold_out: float,
    seed: int,
    languages: Mapping[str, str] = MappingProxyType({}),
) -> tuple[LabelledSet, Audit, pd.DataFrame]:
    """Join the tables to one set and audit it.

    Args:
        upload: the tables.
        mapping: which column plays which role.
        language: theirs where neither a column nor their names say it; `DETECT` has each sentence's detected.
        hold_out: the share of every intent that becomes split test where no row has a split.
        seed: of that draw.
        languages: codes of values of the language column that can't be read.

    Returns:
        The set, its audit, and the rows that `labelled_from_frame` made it of.

    Raises:
        DataError: it is not a labelled set, or there are too many rows.
    """
    stated = "und" if language == DETECT else language
    parts = [
        located(apply_columns(table, mapping, language=stated, name=name), name)
        for name, table in zip(upload.names, upload.tables, strict=True)
    ]
    check_rows(sum(map(len, parts)), "the data in all files together")
    rows = pd.concat(parts, ignore_index=True)
    if mapping.language is None and language == DETECT:
        rows["language"] = pd.Series(detect_languages(rows["text"].tolist()), dtype="str")
    rows["language"] = stripped(rows["language"]).replace(dict(languages))
    labelled, audit = labelled_from_frame(rows, upload.title)
    return labelled.hold_out(hold_out, seed) if hold_out and not labelled.splits else labelled, audit, rows
