"""The way from files, or from a mapped table, to labelled rows, an audited labelled set, or unlabelled sentences."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, compress, islice
from pathlib import Path

import numpy as np
import pandas as pd

from emu_core.data.audit import Audit, audited_set
from emu_core.data.cleaning import stripped
from emu_core.data.column_names import role_of_name
from emu_core.data.demo import DEMO, demo_paths
from emu_core.data.ids import comparable_ids
from emu_core.data.languages import checked_language, is_known, language_name
from emu_core.data.reading import ColumnMapping
from emu_core.data.repeats import without_repeats
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet, UnlabelledSet
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError, Fix, in_words
from emu_core.formats.in_memory import LABELLED, SENTENCES, Expected, Sources, as_sources, check_labelled
from emu_core.formats.read import SourceTable, read_tables
from emu_core.formats.source_files import SourceFile, source_files
from emu_core.formats.tables.columns import apply_columns, guess_columns, guess_notes

_TRANSLATED = ("translation", "machine_translation", "mt")  # names of a column of machine translations


def read_labelled(
    sources: Sources,
    *,
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    merge_intents: Sequence[str] = (),
    no_intents: Sequence[str] = (),
    real_intents: Sequence[str] = (),
) -> tuple[LabelledSet, Audit]:
    """Read labelled sentences as one set, or the demo set for the single word "demo".

    Args:
        sources: one or more paths: of tables in a format of `TABLE_FORMATS`, of collections in a format of
            `COLLECTION_FORMATS`, and of folders and zip archives, which stand for the files in them. Or what Python
            holds: a data frame of pandas or polars, a pyarrow Table, a Hugging Face `Dataset` or `DatasetDict` (whose
            keys are splits or languages), several of them in a list, or `(texts, intents)`.
        mapping: columns by name, for all files; those left None are guessed from the usual names.
        language: the language of files for which no column and no name states one.
        merge_intents: merges intents whose names differ only in "case" (Booking, booking), or only in the "language"
            of their sentences at the end (booking-en, booking-fr).
        no_intents: intents that stand for "none of these", beside those with a usual name such as out_of_scope or
            None: their sentences become `LabelledSet.none_of_these`.
        real_intents: intents that don't, though they have a usual name.

    Raises:
        DataError: a file can't be read or mapped, or fewer than two usable sentences, or a single intent, are left.

    Examples:
        >>> import emu_core
        >>> import pandas as pd
        >>> tickets = pd.DataFrame({"utterance": ["My card is lost", "Open an account"], "label": ["lost", "open"]})
        >>> labelled, audit = emu_core.read_labelled(tickets, language="en")
        >>> labelled.intents
        ('lost', 'open')
        >>> print(audit.summary()[0])
        2 of 2 rows kept: 2 intents in 1 language.
    """
    check_labelled(sources)
    if isinstance(sources, LabelledSet):
        no_intents = [*sources.none_of_these["intent"].unique(), *no_intents]
    files, title = files_of(sources)
    rows, notes = read_rows(files, mapping=mapping, language=language)
    return audited_set(rows, title, notes, merge_intents, no_intents, real_intents)


def read_partly_labelled(
    sources: Sources,
    *,
    mapping: ColumnMapping | None = None,
    language: str | None = None,
    merge_intents: Sequence[str] = (),
    no_intents: Sequence[str] = (),
    real_intents: Sequence[str] = (),
) -> tuple[LabelledSet, UnlabelledSet, tuple[str, ...]]:
    """Read sentences of which all, some or none have an intent, for methods that need no labels.

    Args:
        sources: paths as of `read_labelled` and of `read_unlabelled`, in any mixture.
        mapping: columns by name; a file that lacks one that another file has needs none.
        language: see `read_labelled`.
        merge_intents: see `read_labelled`.
        no_intents: see `read_labelled`.
        real_intents: see `read_labelled`.

    Returns:
        The labelled set, without rows if the intents make up none; the sentences to train on without a label, those of
        splits dev and test left out; and the findings of the audit, a sentence each.

    Raises:
        DataError: a file can't be read, has no text column, or states no language; or no sentence is left.
    """
    files, name = files_of(sources, SENTENCES)
    tables, notes = read_tables(files, plain=True)
    labelled_tables, _ = data_tables(tables, (), mapping)
    tables = [table for table in tables if table in labelled_tables or _has_usual_text(table.frame, mapping)]
    mappings, guesses = list[ColumnMapping](), list[str]()
    for table in tables:
        fixed = _known_in(table, tables, mapping)
        columns = guess_columns(table.frame, fixed)
        if table not in labelled_tables:
            columns = replace(columns, intent=None)
        mappings.append(columns)
        guesses += guess_notes(columns, fixed, table.path)
    rows, notes = rows_of_tables(
        tables, mappings, language, (*notes, *guesses), required=("text", "language")
    )
    is_labelled = stripped(rows["intent"]) != ""
    labelled, findings = LabelledSet.of_nothing(name), tuple[str, ...]()
    unused: tuple[str, ...] = ()
    if is_labelled.any() or no_intents or real_intents:
        try:
            labelled, audit = audited_set(
                rows[is_labelled].reset_index(drop=True), name, notes, merge_intents, no_intents, real_intents
            )
            findings = tuple(audit.summary(learns_intents=False))
        except DataError as error:
            if merge_intents or no_intents or real_intents:
                raise
            unused = (
                f"The intents can't be used, so nothing is measured: {error.message.worded(in_words)}.",
            )
    bare = rows[~is_labelled] if len(labelled) else rows
    unlabelled = UnlabelledSet(_training_sentences(bare), name)
    if not len(labelled) and not len(unlabelled):
        raise DataError(f"{shown(name)} has no sentence to train on with a language; check the columns")
    if len(unlabelled):
        count = f"{counted(len(unlabelled), 'sentence')} without labels in {listed(unlabelled.languages)}."
        findings = (*findings, count) if findings else (count, *unused, *notes)
    return labelled, unlabelled, findings


def _has_usual_text(frame: pd.DataFrame, mapping: ColumnMapping | None) -> bool:
    """Return whether a table has a column of sentences that isn't a guess."""
    text = guess_columns(frame, mapping).text
    return text is not None and (role_of_name(text) == "text" or text == getattr(mapping, "text", None))


def _known_in(
    table: SourceTable, tables: Sequence[SourceTable], mapping: ColumnMapping | None
) -> ColumnMapping | None:
    """Return a mapping without the columns that a table lacks, where another table has them."""
    if mapping is None:
        return None
    others = {column for other in tables for column in other.frame.columns} - set(table.frame.columns)
    return ColumnMapping(**{role: None if name in others else name for role, name in asdict(mapping).items()})


def _training_sentences(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the sentences of the six columns that are in no split, or in split train, each once."""
    frame = rows[list(LABELLED_COLUMNS)].apply(stripped)
    usable = (frame["text"] != "") & frame["language"].map(is_known).astype("bool")
    frame = frame[usable & frame["split"].isin(["", "train"])]
    frame = frame.assign(id=comparable_ids(frame["id"]))[list(UnlabelledSet.columns)]
    return without_repeats(frame)


def files_of(sources: Sources, expected: Expected = LABELLED) -> tuple[list[SourceFile], str]:
    """Return the files that are named, and the name of the set that they make.

    Folders and zip archives stand for the files in them, and "demo" for the demo set.

    A table that Python holds is as a file.

    Raises:
        DataError: it is nothing that can be read, a file can't be opened, or the demo set is named beside files.
    """
    named = as_sources(sources, expected)
    is_demo = Path(DEMO) in named
    if is_demo and len(named) > 1:
        raise DataError("the demo set can't be joined with others; name it alone, or a file as ./demo")
    files = source_files(demo_paths() if is_demo else named)
    return files, DEMO if is_demo else _title(files, named)


def _title(files: Sequence[SourceFile], named: Sequence[Path | SourceFile]) -> str:
    """Return the name of a set: that of a folder, an archive or a `DatasetDict`, or else those of its files."""
    if len(files) > len(named):
        names = [source.name or str(source) for source in named]
    else:
        names = [file.name if file.is_named or not file.is_held else file.around for file in files]
    return listed(dict.fromkeys(names), 4)


def read_rows(
    files: Sequence[SourceFile], *, mapping: ColumnMapping | None, language: str | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read files into the six columns, row (from 1 in each file) and source (the file's path).

    Returns:
        The rows of all files in order, and notes for the audit: what was recognised, what names of files state.

    Raises:
        DataError: a file can't be read or mapped, or they hold too many rows together.
    """
    tables, notes = data_tables(*read_tables(files), mapping)
    mappings, guesses = guessed_mappings(tables, mapping)
    return rows_of_tables(tables, mappings, language, (*notes, *guesses))


def guessed_mappings(
    tables: Sequence[SourceTable], fixed: ColumnMapping | None
) -> tuple[list[ColumnMapping], list[str]]:
    """Return the columns of each table, and notes on those that were guessed by anything but a usual name."""
    mappings = [guess_columns(table.frame, fixed) for table in tables]
    notes = [guess_notes(columns, fixed, table.path) for table, columns in zip(tables, mappings, strict=True)]
    return mappings, list(chain.from_iterable(notes))


def data_tables(
    tables: Sequence[SourceTable], notes: tuple[str, ...], mapping: ColumnMapping | None = None
) -> tuple[Sequence[SourceTable], tuple[str, ...]]:
    """Return the tables that hold labelled sentences, and the notes with those that were left out.

    In a folder or an archive, a table without a column of sentences or of intents is something else, such as a list of
    names, if another one has both; so is one whose columns are a guess, if those of another one are not.
    """
    guessed = [guess_columns(table.frame, mapping) for table in tables]
    whole = [bool(columns.text and columns.intent) for columns in guessed]
    if not any(whole):
        return tables, notes
    sure = [
        is_whole and not guess_notes(columns, mapping, "")
        for is_whole, columns in zip(whole, guessed, strict=True)
    ]
    whole = sure if any(sure) else whole
    kept = [table.is_named or is_whole for table, is_whole in zip(tables, whole, strict=True)]
    left = [table.path for table, is_kept in zip(tables, kept, strict=True) if not is_kept]
    note = f"Not read, since they lack a column of sentences or of intents: {listed(left, 6)}."
    return list(compress(tables, kept)), (*notes, note) if left else notes


def rows_of_tables(
    tables: Sequence[SourceTable],
    mappings: Sequence[ColumnMapping],
    language: str | None,
    notes: Sequence[str] = (),
    *,
    required: Sequence[str] = ("text", "intent", "language"),
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the rows of tables in the six columns with row and source, and the notes with those on languages.

    A language in a file's name is believed rather than `language`, which is that of the other files; the audit says
    where they differ.

    Args:
        tables: as `read_tables` returns them.
        mappings: the columns of each.
        language: the language of sentences for which neither a column nor the name of their file states one.
        notes: what is known already.
        required: roles that need a column.

    Raises:
        DataError: see `apply_columns`.
    """
    sources = iter(_told_apart(tables))
    code = None if language is None else checked_language(language)
    parts = []
    for table, mapping in zip(tables, mappings, strict=True):
        stated = table.states.language or code or table.states.around
        missing = [role for role in required if getattr(mapping, role) is None]
        if table.is_held and missing == ["language"] and stated is None:  # it has no file to name so
            raise DataError(
                f"{shown(table.path)} does not say its language; name it (",
                Fix("language", "en"),
                "), or add a column of languages, as emu_core.detect_languages returns them",
            )
        part = apply_columns(table.frame, mapping, language=stated, name=table.path, required=required)
        if mapping.split is None:
            part["split"] = table.states.split
        counts = [count for _, count in table.files]
        parts.append(
            part.assign(
                row=np.concatenate([np.arange(1, count + 1) for count in counts]),
                source=pd.Series(list(islice(sources, len(counts))), dtype="str").repeat(counts).to_numpy(),
            )
        )
    unstated = [table for table, mapping in zip(tables, mappings, strict=True) if mapping.language is None]
    return pd.concat(parts, ignore_index=True), (*notes, *_language_notes(unstated, code))


def _told_apart(tables: Sequence[SourceTable]) -> list[str]:
    """Return a name for each file: its path, with the folder around it or a number where two have the same."""
    paths = Counter(path for table in tables for path, _ in table.files)
    names = [
        path if paths[path] == 1 else f"{table.around}/{path}".lstrip("/")
        for table in tables
        for path, _ in table.files
    ]
    counts, numbers = Counter(names), Counter[str]()
    numbers_by_file = [numbers.update([name]) or numbers[name] for name in names]
    return [
        name if counts[name] == 1 else f"{name} ({number})"
        for name, number in zip(names, numbers_by_file, strict=True)
    ]


def _language_notes(tables: Sequence[SourceTable], given: str | None) -> Iterator[str]:
    """Say where names of files contradict the language that was given, and where a folder alone states one."""
    states = {table.path: table.states for table in tables}
    if given is None:
        folders = {path: stated.around for path, stated in states.items() if not stated.language}
        for code, paths in _by_language(folders):
            yield f"Read as {language_name(code)}, as the folder is named: {paths}."
        return
    name = language_name(given)
    for code, paths in _by_language({path: stated.language for path, stated in states.items()}, given):
        yield f"Read as {language_name(code)}, as the names state, and not as {name}, which was given: {paths}."
    for code, paths in _by_language({path: stated.doubtful for path, stated in states.items()}, given):
        yield f"Read as {name}, though the names may mean {language_name(code)}: {paths}."


def _by_language(codes: Mapping[str, str | None], except_for: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield each language but one, with the paths of its files in words."""
    for code in dict.fromkeys(codes.values()):
        if code and code != except_for:
            yield code, listed((path for path, stated in codes.items() if stated == code), 4)


def read_unlabelled(
    paths: Sources, *, mapping: ColumnMapping | None = None, language: str | None = None
) -> UnlabelledSet:
    """Read sentences from tables, ignoring their intents, or from plain files, one sentence a line; or take a list.

    A file is plain if its name has no ending of a structured file: `hotel.de.txt`, `train.de.gz`. A folder or a zip
    archive stands for the files in it. Empty sentences and repeats of a sentence in the same language are dropped.

    Args:
        paths: sentences (a list, a Series or an array), or files, folders, data frames and so on as for
            `read_labelled`.
        mapping: columns by name; those left None are guessed.
        language: the language of files without a language column; without it the file's name must state it.

    Raises:
        DataError: a file can't be read, has no text column, or states no language; or no sentence is left.

    Examples:
        >>> import emu_core
        >>> sentences = emu_core.read_unlabelled(["Wo ist der Pool?", "Wo ist der Pool?"], language="de")
        >>> sentences.frame[["text", "language"]].values.tolist()
        [['Wo ist der Pool?', 'de']]
    """
    files, title = files_of(paths, SENTENCES)
    frame, _ = read_sentences(files, mapping, language, required=("text", "language"))
    frame = frame[list(UnlabelledSet.columns)].apply(stripped)
    frame = frame[(frame["text"] != "") & (frame["language"] != "")]
    for code in frame["language"].unique():
        checked_language(code)
    frame = without_repeats(frame.assign(id=comparable_ids(frame["id"])))
    if frame.empty:
        raise DataError(
            f"{listed(file.path for file in files)}: no sentence with a language is left; check the columns"
        )
    return UnlabelledSet(frame, title)


def read_sentences(
    files: Sequence[SourceFile],
    mapping: ColumnMapping | None,
    language: str | None,
    *,
    required: Sequence[str] = ("text",),
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return every row of tables, or line of plain files, in the columns of `read_rows`, and notes on them.

    Raises:
        DataError: a file can't be read, has no text column, or states no language although it is required.
    """
    tables, notes = read_tables(files, plain=True)
    mappings, guesses = guessed_mappings(tables, mapping)
    return rows_of_tables(tables, mappings, language, (*notes, *guesses), required=required)


def read_machine_translations(sources: Sources, mapping: ColumnMapping | None = None) -> dict[str, str]:
    """Return the translations in a column `translation` of a labelled set's files or folders, by text."""
    translation_by_text: dict[str, str] = {}
    for table in read_tables(files_of(sources)[0])[0]:
        translation_by_text |= translations_by_text(table.frame, guess_columns(table.frame, mapping).text)
    return translation_by_text


def translations_by_text(frame: pd.DataFrame, text: str | None) -> dict[str, str]:
    """Return the machine translations in a table by text, the content of the column `text`; none without either."""
    columns = {str(name).strip().casefold().replace(" ", "_"): name for name in frame.columns}
    column = next((columns[name] for name in _TRANSLATED if name in columns), None)
    if column is None or text is None:
        return {}
    return dict(zip(stripped(frame[text]), stripped(frame[column]), strict=True))
