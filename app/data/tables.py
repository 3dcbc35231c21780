"""Uploaded files, read and turned into a labelled set."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.collections.read import SourceTable, read_tables
from emu_core.data.collections.source_files import source_files
from emu_core.data.detection import detect_languages
from emu_core.data.labelled import LabelledSet
from emu_core.data.labelled.audit import Audit
from emu_core.data.labelled.columns import ColumnMapping, guess_columns, guess_notes
from emu_core.data.labelled.load import (
    data_tables,
    labelled_from_frame,
    read_sentences,
    rows_of_tables,
    translations_by_text,
)
from emu_core.data.labelled.repeats import without_repeats
from emu_core.data.languages import is_known, language_code
from emu_core.data.readers.tables import read_table
from emu_core.data.wording import listed
from emu_core.errors import DataError

DETECT = "detect"  # instead of a language: detect that of each sentence


@dataclass(frozen=True, eq=False)
class Upload:
    """Tables as read; the bytes of their files are not kept."""

    key: str  # identifies the upload
    size: int  # bytes of the tables
    names: tuple[str, ...]  # the names of the uploaded files; untrusted, so never a path or markup
    tables: tuple[SourceTable, ...]  # one for each file, also for those in archives, that holds data
    notes: tuple[str, ...]  # what was recognised, and what names of files state

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    @property
    def title(self) -> str:
        """The names of the files in a line."""
        return listed(self.names, 4)

    @property
    def columns(self) -> list[str]:
        """The columns that all tables have, in the order of the first."""
        first, *others = (table.frame for table in self.tables)
        return [column for column in first.columns if all(column in other for other in others)]

    def guess(self) -> ColumnMapping:
        """Return the roles of the columns, guessed from their names and contents."""
        return guess_columns(self.tables[0].frame[self.columns])

    def guesses(self, mapping: ColumnMapping) -> tuple[str, ...]:
        """Say which columns of a mapping are as they were guessed by anything but a usual name."""
        guess = asdict(self.guess())
        kept = {role: column if column == guess[role] else None for role, column in asdict(mapping).items()}
        return guess_notes(ColumnMapping(**kept), None, self.title)


def read_upload(key: str, files: Sequence[tuple[str, bytes]]) -> Upload:
    """Read files and zip archives, given as names and bytes. Raises DataError for the first that can't be read."""
    tables, notes = data_tables(*read_tables(source_files(files)))
    tables = _aligned(tables)
    size = sum(int(table.frame.memory_usage(deep=True).sum()) for table in tables)
    return Upload(key, size, tuple(name for name, _ in files), tuple(tables), notes)


def _aligned(tables: Sequence[SourceTable]) -> list[SourceTable]:
    """Return tables of which those of collections have the same columns, so that none of them is lost.

    Some files of an export have slots, ids or a language, and others don't. A language is added only where the names
    of all other files state theirs.
    """
    columns = {column for table in tables if table.is_collection for column in table.frame.columns}
    lacking = [table for table in tables if table.is_collection and "language" not in table.frame]
    added = columns & {"id", "annotated"}
    if all(table.states.language for table in lacking):
        added |= columns & {"language"}
    aligned = []
    for table in tables:
        blanks = dict.fromkeys(sorted(added - set(table.frame.columns)), "") if table.is_collection else {}
        if "language" in blanks:
            blanks["language"] = table.states.language or ""
        aligned.append(replace(table, frame=table.frame.assign(**blanks)) if blanks else table)
    return aligned


def read_texts(name: str, payload: bytes) -> list[str]:
    """Return the sentences of a file or, if the name is "", of lines; errors are those of `unlabelled_from_upload`."""
    sentences: list[str] = _sentences(name, payload)["text"].tolist()
    return sentences


def unlabelled_from_upload(name: str, payload: bytes, language: str) -> pd.DataFrame:
    """Return text and language of the distinct sentences of a file or, if the name is "", of lines.

    `language` is that of sentences for which neither a column nor the name states one; `DETECT` detects it. Raises
    DataError if the file is not a table or has no sentences.
    """
    table = _sentences(name, payload)
    strange = ~table["language"].map(is_known).astype(bool)
    if strange.any():
        codes = detect_languages(table.loc[strange, "text"].tolist()) if language == DETECT else language
        table.loc[strange, "language"] = codes
    return without_repeats(table)


def _sentences(name: str, payload: bytes) -> pd.DataFrame:
    if name:
        table, _ = read_sentences(source_files([(name, payload)]), None, None)
    else:
        table = pd.DataFrame({"text": payload.decode().splitlines(), "language": ""}, dtype="str")
    table = table[["text", "language"]].apply(stripped)
    table = table[table["text"] != ""].reset_index(drop=True)
    if table.empty and name:
        raise DataError(f"there is no sentence in {name}; check its column of sentences")
    return table


def read_triples(name: str, payload: bytes) -> pd.DataFrame:
    """Return the triples of a file: s1, s2, s3, and language and language_s3 if it has them.

    Raises DataError if it is not a table, or a column or a sentence is missing.
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
    """Return the machine translations in the tables, by text."""
    tables = (translations_by_text(table.frame, mapping.text) for table in upload.tables)
    return {text: translation for translated in tables for text, translation in translated.items()}


def missing_roles(upload: Upload, mapping: ColumnMapping, language: str | None) -> list[str]:
    """Return which of text, intent and language are still unknown."""
    missing = [role for role in ("text", "intent") if asdict(mapping)[role] is None]
    states = [table.states.language or table.states.around for table in upload.tables]
    if mapping.language is None and not language and not all(states):
        missing.append("language")
    return missing


def unread_languages(upload: Upload, column: str | None) -> list[str]:
    """Return the unknown values in the column of languages, the most frequent first."""
    if column is None:
        return []
    counts = pd.concat([stripped(table.frame[column]) for table in upload.tables]).value_counts()
    return [value for value in counts.index if value and language_code(value) is None]


def labelled_from_upload(
    upload: Upload,
    mapping: ColumnMapping,
    language: str | None,
    hold_out: float,
    seed: int,
    languages: Sequence[tuple[str, str]] = (),
) -> tuple[LabelledSet, Audit, pd.DataFrame]:
    """Join the tables to one set and audit it, as `audited` does; also return the rows that it was made of.

    `language` is that of all sentences if neither a column nor the files' names state one, and `DETECT` detects each;
    `languages` are unknown values of the language column with their codes. Raises DataError if it is not a labelled
    set, or there are too many rows.
    """
    rows, notes = rows_from_upload(upload, mapping, language, ("text", "intent", "language"))
    rows["language"] = stripped(rows["language"]).replace(dict(languages))
    return *audited(rows, upload.title, hold_out, seed, notes), rows


def rows_from_upload(
    upload: Upload, mapping: ColumnMapping, language: str | None, required: Sequence[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return all rows in the six columns, row and source, and notes; see `labelled_from_upload`."""
    is_detected = mapping.language is None and language == DETECT
    rows, notes = rows_of_tables(
        upload.tables,
        [mapping] * len(upload.tables),
        None if language == DETECT else language,
        (*upload.notes, *upload.guesses(mapping)),
        required=[role for role in required if role != "language" or not is_detected],
    )
    if is_detected:
        unknown = rows["language"] == ""
        rows.loc[unknown, "language"] = detect_languages(rows.loc[unknown, "text"].tolist())
    return rows, notes


def audited(
    rows: pd.DataFrame, title: str, hold_out: float, seed: int, notes: tuple[str, ...] = ()
) -> tuple[LabelledSet, Audit]:
    """Return the labelled set of rows and its audit, which repeats the notes.

    If no row has a split, a share `hold_out` of every intent, drawn with `seed`, becomes split test.
    """
    labelled, audit = labelled_from_frame(rows, title, notes)
    return labelled.hold_out(hold_out, seed) if hold_out and not labelled.splits else labelled, audit
