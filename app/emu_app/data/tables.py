"""Uploaded files, read and turned into a labelled set."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain

import pandas as pd

from emu_core.data.audit import Audit, labelled_from_frame
from emu_core.data.cleaning import stripped
from emu_core.data.detection import detect_languages
from emu_core.data.languages import is_known, language_code
from emu_core.data.missing import is_error
from emu_core.data.reading import ColumnMapping, Reading
from emu_core.data.repeats import without_repeats
from emu_core.data.sets import LabelledSet
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError
from emu_core.formats.in_memory import SENTENCES
from emu_core.formats.labelled import translations_by_text
from emu_core.formats.lines import lines_of
from emu_core.formats.read import labelled_tables, read_files, rows_of_tables
from emu_core.formats.source_files import source_files
from emu_core.formats.source_tables import SourceTable, read_tables
from emu_core.formats.tables.columns import guess_columns_of, guess_notes
from emu_core.formats.tables.read import read_table

_File = tuple[str, bytes]  # name and content
DETECT = "detect"  # instead of a language: detect that of each sentence
NOTES = "notes"  # in a table's attrs


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
        return listed(dict.fromkeys(self.names), 4)

    @property
    def states_splits(self) -> bool:
        """Whether the names of files state splits."""
        return any(table.states.split for table in self.tables)

    @property
    def columns(self) -> list[str]:
        """The columns of the tables, in their order."""
        return list(dict.fromkeys(column for table in self.tables for column in table.frame.columns))

    def guess(self) -> ColumnMapping:
        """Return the roles of the columns, guessed from their names and contents; of the first table that has one."""
        frames = [table.frame for table in self.tables]
        guesses = [asdict(columns) for columns in guess_columns_of(frames, [None] * len(frames))]
        return ColumnMapping(
            **{role: next(filter(None, (guess[role] for guess in guesses)), None) for role in guesses[0]}
        )

    def mappings(self, chosen: ColumnMapping) -> tuple[list[ColumnMapping], tuple[str, ...]]:
        """Return the columns of each table, and what is said about those that were guessed by no usual name.

        A role that a person left as it was guessed may have another column in each table, since tables of several
        tools have several names for it; a column that was chosen holds for the tables that have it.
        """
        guess = asdict(self.guess())
        changed = {role: column for role, column in asdict(chosen).items() if column != guess[role]}
        cleared = {role: None for role, column in changed.items() if column is None}
        frames = [table.frame for table in self.tables]
        fixed = [
            ColumnMapping(**{role: column for role, column in changed.items() if column in frame.columns})
            for frame in frames
        ]
        mappings = [replace(columns, **cleared) for columns in guess_columns_of(frames, fixed)]
        paths = (table.path for table in self.tables)
        notes = chain.from_iterable(map(guess_notes, mappings, fixed, paths))
        return mappings, tuple(dict.fromkeys(notes))


def read_upload(key: str, files: Sequence[_File]) -> Upload:
    """Read files and zip archives, given as names and bytes; of several files, those that hold no data are left out.

    Two files of one name are told apart, unless their contents are the same: then one is read. Raises DataError if a
    table can't be read, or none is there.
    """
    distinct = list(dict.fromkeys(files))
    tables, notes = read_tables(source_files(distinct, as_folder=len(distinct) > 1), wanted=labelled_tables)
    notes = (*_notes_on_names(files, distinct), *notes)
    size = sum(int(table.frame.memory_usage(deep=True).sum()) for table in tables)
    return Upload(key, size, tuple(name for name, _ in distinct), tuple(tables), notes)


def _notes_on_names(files: Sequence[_File], distinct: Sequence[_File]) -> Iterator[str]:
    """Say which files have the name of another one, and which of them were read."""
    counts, read = Counter(name for name, _ in files), Counter(name for name, _ in distinct)
    for name, count in counts.items():
        if read[name] < count:
            yield f"{shown(name)} was given {counted(count, 'time')} with the same content, which is read once."
        if read[name] > 1:
            yield f"{read[name]} files are called {shown(name)}: the second is 2/{shown(name)} here, and so on."


def unlabelled_from_upload(name: str, payload: bytes, language: str) -> pd.DataFrame:
    """Return text and language of the distinct sentences of a file or, if the name is "", of lines.

    `language` is that of sentences for which neither a column nor the name states one; `DETECT` detects it. What was
    noticed is as of `read_sentences`. Raises DataError if the file is not a table or has no sentences.
    """
    table = read_sentences(name, payload)
    notes = table.attrs[NOTES]
    strange = ~table["language"].map(is_known).astype(bool)
    if strange.any():
        codes = detect_languages(table.loc[strange, "text"].tolist()) if language == DETECT else language
        table.loc[strange, "language"] = codes
    return _with_notes(without_repeats(table), notes)


def read_sentences(name: str, payload: bytes) -> pd.DataFrame:
    """Return the sentences of a file or, if the name is "", of lines: text, and language, "" if none is stated.

    What was noticed, such as a guessed column, is in its attrs under NOTES. Errors are those of
    `unlabelled_from_upload`.
    """
    notes: tuple[str, ...] = ()
    if name:
        data = read_files(source_files([(name, payload)]), SENTENCES, required=("text",))
        table, notes = data.rows, data.notes
    else:
        table = pd.DataFrame({"text": lines_of(payload.decode()), "language": ""}, dtype="str")
    table = table[["text", "language"]].apply(stripped)
    table = table[table["text"] != ""].reset_index(drop=True)
    if table.empty and name:
        raise DataError(f"there is no sentence in {name}; check its column of sentences")
    return _with_notes(table, notes)


def _with_notes(table: pd.DataFrame, notes: tuple[str, ...]) -> pd.DataFrame:
    table.attrs = {NOTES: notes}
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
    texts = (table_mapping.text for table_mapping in upload.mappings(mapping)[0])
    tables = (
        translations_by_text(table.frame, text) for table, text in zip(upload.tables, texts, strict=True)
    )
    return {text: translation for translated in tables for text, translation in translated.items()}


def missing_roles(upload: Upload, mapping: ColumnMapping, language: str | None) -> list[str]:
    """Return which of text, intent and language are still unknown."""
    mappings, _ = upload.mappings(mapping)
    missing = [
        role for role in ("text", "intent") if any(asdict(columns)[role] is None for columns in mappings)
    ]
    states = [
        columns.language or table.states.language()
        for table, columns in zip(upload.tables, mappings, strict=True)
    ]
    if not language and not all(states):
        missing.append("language")
    return missing


def unread_languages(upload: Upload, column: str | None) -> list[str]:
    """Return the unknown values in the column of languages, the most frequent first."""
    if column is None:
        return []
    named = [table.frame[column] for table in upload.tables if column in table.frame]
    counts = pd.concat([stripped(values) for values in named]).value_counts()
    unread = (value for value in counts.index if value and language_code(value) is None)
    return [value for value in unread if not is_error(value)]


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
    mappings, guesses = upload.mappings(mapping)
    rows, notes = rows_of_tables(
        upload.tables,
        mappings,
        Reading(language=None if language == DETECT else language),
        (*upload.notes, *guesses),
        required=[role for role in required if role != "language" or not is_detected],
    )
    if is_detected:
        unknown = rows["language"] == ""
        rows.loc[unknown, "language"] = detect_languages(rows.loc[unknown, "text"].tolist())
    return rows, notes


def audited(
    rows: pd.DataFrame,
    title: str,
    hold_out: float,
    seed: int,
    notes: tuple[str, ...] = (),
    no_intents: Sequence[str] = (),
    real_intents: Sequence[str] = (),
) -> tuple[LabelledSet, Audit]:
    """Return the labelled set of rows and its audit, which repeats the notes; the intents are those of `read_labelled`.

    If no row has a split, a share `hold_out` of every intent, drawn with `seed`, becomes split test.
    """
    reading = Reading(no_intents=no_intents, real_intents=real_intents)
    labelled, audit = labelled_from_frame(rows, title, notes, reading=reading)
    return labelled.hold_out(hold_out, seed) if hold_out and not labelled.splits else labelled, audit
