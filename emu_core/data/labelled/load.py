"""The way from files, or from a mapped table, to labelled rows, an audited labelled set, or unlabelled sentences."""

from collections.abc import Sequence
from importlib.resources import files as package_files
from pathlib import Path

import pandas as pd

from emu_core.data.cleaning import stripped
from emu_core.data.labelled.audit import Audit, audit_rows
from emu_core.data.labelled.columns import LABELLED_COLUMNS, ColumnMapping, apply_columns, guess_columns
from emu_core.data.labelled.sets import LabelledSet, UnlabelledSet
from emu_core.data.languages import checked_language
from emu_core.data.readers.formats import is_table, tables_in
from emu_core.data.readers.limits import check_rows, named_paths
from emu_core.data.readers.tables import read_table
from emu_core.data.readers.text import encoding_notes, read_lines
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError, Fix

DEMO = "demo"
"""The word for the demo set wherever files are named."""
_TRANSLATED = ("translation", "machine_translation", "mt")  # names of a column of machine translations


def demo_paths() -> list[Path]:
    """Return the demo set's files, English first."""
    folder = Path(str(package_files("emu_core.data") / "demo"))
    return [folder / f"{language}.csv" for language in ("en", "de", "es", "fr", "ja", "zh")]


def read_labelled(
    sources: Sequence[str | Path], *, mapping: ColumnMapping | None = None, language: str | None = None
) -> tuple[LabelledSet, Audit]:
    """Read one or more labelled files as one set, or the demo set for the single word "demo".

    Args:
        sources: paths of tables in a format of `TABLE_FORMATS`, or of folders, which stand for the tables in them.
        mapping: columns by name, for all files; those left None are guessed from the usual names.
        language: the language of files without a language column; without it the file's name must state it.

    Raises:
        DataError: a file can't be read or mapped, or fewer than two usable sentences, or a single intent, are left.
    """
    paths = paths_of(sources)
    rows, notes = read_rows(paths, mapping=mapping, language=language)
    name = DEMO if paths == demo_paths() else listed((path.name for path in paths), 4)
    return _audited(rows, name, notes)


def paths_of(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files that are named, where a folder stands for the tables in it, and "demo" for the demo set.

    Raises:
        DataError: none is named, a folder holds no table, or the demo set is named beside files.
    """
    paths = named_paths(sources, "no file is named; name one or more, or the word demo")
    if DEMO in map(str, [sources] if isinstance(sources, str | Path) else sources):
        if len(paths) > 1:
            raise DataError("the demo set can't be joined with files; name it alone, or a file as ./demo")
        return demo_paths()
    return [file for path in paths for file in (tables_in(path) if path.is_dir() else [path])]


def labelled_from_frame(frame: pd.DataFrame, name: str) -> tuple[LabelledSet, Audit]:
    """Audit a frame with the six columns, as `apply_columns` returns it, and make a labelled set of it.

    Args:
        frame: the six columns. With row and source, as `located` adds them, the audit names the place of each row;
            otherwise rows count from 1.
        name: the name of the set.

    Raises:
        DataError: a column is missing, or what is left is no labelled set (see `read_labelled`).
    """
    if missing := [column for column in LABELLED_COLUMNS if column not in frame.columns]:
        raise DataError(
            f"{shown(name)}: no column '{missing[0]}'; found: {listed(frame.columns)}. Map the columns first"
        )
    rows = frame if {"row", "source"} <= set(frame.columns) else located(frame[list(LABELLED_COLUMNS)], name)
    return _audited(rows, name, ())


def _audited(rows: pd.DataFrame, name: str, notes: tuple[str, ...]) -> tuple[LabelledSet, Audit]:
    usable, audit = audit_rows(rows, notes)
    if len(usable) < 2:
        reason = next((f" ({row.reason} in row {row.row})" for row in audit.dropped.itertuples()), "")
        raise DataError(
            f"{shown(name)} has {len(usable)} usable of {len(rows):,} rows{reason}; two or more sentences "
            "with text, intent and language are needed"
        )
    labelled = LabelledSet(usable, name)
    if len(labelled.intents) < 2:
        raise DataError(
            f"{shown(name)} has the single intent '{shown(labelled.intents[0])}'; add sentences of another, "
            "or map the column that distinguishes them (",
            Fix("intent_column"),
            ")",
        )
    return labelled, audit


def read_rows(
    paths: Sequence[Path], *, mapping: ColumnMapping | None, language: str | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read files into the six columns, row (from 1 in each file) and source (the file's name).

    Returns:
        The rows of all files in order, and notes for the audit about files that were not UTF-8.

    Raises:
        DataError: a file can't be read or mapped, or they hold too many rows together.
    """
    names = [path.name for path in paths]
    parts: list[pd.DataFrame] = []
    notes: list[str] = []
    for path in paths:
        frame = read_table(path, path.name)
        part = apply_columns(frame, guess_columns(frame, mapping), language=language, name=path.name)
        parts.append(located(part, path.name if names.count(path.name) == 1 else str(path)))
        check_rows(sum(map(len, parts)), "the data in all files together")
        notes += encoding_notes(path.name, frame.attrs.get("encoding", "utf-8"))
    return pd.concat(parts, ignore_index=True), tuple(notes)


def located(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a frame with two more columns: row, from 1, and source."""
    return frame.assign(
        row=range(1, len(frame) + 1), source=pd.Series(source, index=frame.index, dtype="str")
    )


def read_unlabelled(
    paths: Sequence[str | Path], *, mapping: ColumnMapping | None = None, language: str | None = None
) -> UnlabelledSet:
    """Read sentences from tables, ignoring their intents, or from plain files, one sentence a line.

    A file is plain if its name has no table's ending: `hotel.de.txt`, `train.de.gz`. A folder stands for the tables in
    it. Empty sentences and repeats of a
    sentence in the same language are dropped.

    Args:
        paths: the files and folders.
        mapping: columns by name; those left None are guessed.
        language: the language of files without a language column; without it the file's name must state it.

    Raises:
        DataError: a file can't be read, has no text column, or states no language; or no sentence is left.
    """
    files = paths_of(paths)
    parts = []
    for path in files:
        part = read_sentences(path, path.name, mapping, language)
        parts.append(part[list(UnlabelledSet.columns)])
        check_rows(sum(map(len, parts)), "the unlabelled data")
    frame = pd.concat(parts, ignore_index=True).apply(stripped)
    frame = frame[(frame["text"] != "") & (frame["language"] != "")]
    for code in frame["language"].unique():
        checked_language(code)
    frame = frame.drop_duplicates(["text", "language"], ignore_index=True)
    if frame.empty:
        raise DataError(
            f"{listed(path.name for path in files)}: no sentence with a language is left; check the columns"
        )
    return UnlabelledSet(frame, listed((path.name for path in files), 4))


def read_sentences(
    source: Path | bytes, name: str, mapping: ColumnMapping | None, language: str | None
) -> pd.DataFrame:
    """Return every row of a table, or line of a plain file, as columns of LABELLED_COLUMNS; only text is required.

    Raises:
        DataError: the file can't be read, has no text column, or states no language.
    """
    if is_table(name):
        frame = read_table(source, name)
        columns = guess_columns(frame, mapping)
    else:
        frame = pd.DataFrame({"text": read_lines(source, name)[0]}, dtype="str")
        columns = ColumnMapping(text="text")
    return apply_columns(frame, columns, required=("text",), language=language, name=name)


def read_machine_translations(
    files: Sequence[str | Path], mapping: ColumnMapping | None = None
) -> dict[str, str]:
    """Return the translations in a column `translation` of a labelled set's files or folders, by text."""
    translation_by_text: dict[str, str] = {}
    for path in paths_of(files):
        frame = read_table(path, path.name)
        translation_by_text |= translations_by_text(frame, guess_columns(frame, mapping).text)
    return translation_by_text


def translations_by_text(frame: pd.DataFrame, text: str | None) -> dict[str, str]:
    """Return the machine translations in a table by text, the content of the column `text`; none without either."""
    columns = {str(name).strip().casefold().replace(" ", "_"): name for name in frame.columns}
    column = next((columns[name] for name in _TRANSLATED if name in columns), None)
    if column is None or text is None:
        return {}
    return dict(zip(stripped(frame[text]), stripped(frame[column]), strict=True))
