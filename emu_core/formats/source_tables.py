"""The way from files that are named to tables of sentences: one for each file that holds data, or for each export."""

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import pandas as pd

from emu_core.data.intent_names import seen_names
from emu_core.data.none_of_these import usual_names
from emu_core.data.wording import counted, listed, shown
from emu_core.errors import DataError
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.formats import CollectionFormat, format_of_collection
from emu_core.formats.collections.known_tables import known_table
from emu_core.formats.collections.rows import Rows
from emu_core.formats.encodings import encoding_notes, read_lines
from emu_core.formats.file_names import Statement, language_of_file, statements
from emu_core.formats.limits import check_rows
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.cells import Cells
from emu_core.formats.tables.columns import guess_columns_of
from emu_core.formats.tables.delimited import has_tabs
from emu_core.formats.tables.formats import (
    FORMAT_TITLES,
    PLAIN_ENDING,
    STRUCTURED_ENDINGS,
    TABLE_ENDINGS,
    any_of,
    is_table,
    unpacked_name,
)
from emu_core.formats.tables.read import read_table
from emu_core.formats.tables.shapes import shaped

_OF_PROGRAMS = frozenset(
    ("package.json", "package-lock.json", "tsconfig.json", "composer.json", "jsconfig.json", "firebase.json")
)
"""Names of files in folders of programs, which never hold data."""


@dataclass(frozen=True, eq=False)
class SourceTable:
    """A file as a table, or the files of an export, if nothing that their names state tells them apart.

    Attributes:
        path: the file's path, as users know it; the name of the folder or archive of several.
        around: the folder around the file, if it was named itself; otherwise what was named, a folder or an archive.
        is_named: whether it was named itself.
        frame: strings, in the columns of the file or, of a collection, some of LABELLED_COLUMNS.
        recognised: the title of the collection's format; "" for an ordinary table.
        states: what its name and those of its folders state, among those of all files that hold data.
        notes: what is said about the file in the audit.
        is_collection: whether it is in a format of COLLECTION_FORMATS.
        stands_alone: whether JSON files beside it may be tables, too.
        left_out: the numbers of its sentences that were left out, by reason.
        files: the path and the number of rows of each file.
        is_held: whether Python held it, and no file did.
        split: what a name within the file says of all its rows, see `Cells`.
    """

    path: str
    around: str
    is_named: bool
    frame: pd.DataFrame
    recognised: str = ""
    states: Statement = field(default_factory=Statement)
    notes: tuple[str, ...] = ()
    is_collection: bool = False
    stands_alone: bool = True
    left_out: Mapping[str, int] = field(default_factory=dict)
    files: tuple[tuple[str, int], ...] = ()
    is_held: bool = False
    split: str = ""

    def __post_init__(self) -> None:
        if not self.files:
            object.__setattr__(self, "files", ((self.path, len(self.frame)),))

    def __len__(self) -> int:
        return len(self.frame)


def read_tables(
    files: Sequence[SourceFile],
    *,
    plain: bool = False,
    wanted: Callable[[list[SourceTable]], list[SourceTable]] | None = None,
) -> tuple[list[SourceTable], tuple[str, ...]]:
    """Read files; those in a folder or an archive that hold no data are left out, and their names state nothing.

    Args:
        files: as `source_files` returns them.
        plain: whether sentences without an intent are data, too, such as the lines of a text file that is no table.
        wanted: returns those of the tables that hold what is looked for; by default all.

    Returns:
        The tables, and sentences about all files together: what was recognised, and which files were left out.

    Raises:
        DataError: a file can't be read, or none holds data.
    """
    found: list[tuple[SourceFile, _Part | SourceTable]] = []
    left: list[str] = []
    reason: DataError | None = None
    rows = 0
    for file in files:
        collection: CollectionFormat | None = None
        content: _Part | SourceTable | None = None
        if file.name in _OF_PROGRAMS and not file.is_named:
            left.append(file.path)
            continue
        try:
            if isinstance(file.source, Cells):
                content = _held(file, file.source)
            else:
                document = Document(file)
                collection = format_of_collection(document)
                content = _part(document, collection, plain) if collection else _in_table(document, plain)
        except _NoSentencesError as error:
            reason = reason or error
        except DataError as error:
            if collection or file.is_named or (is_table(file.path) and not is_json(file)):
                raise
            reason = reason or error
        if content is None:
            left.append(file.path)
            continue
        found.append((file, content))
        rows += len(content)
        check_rows(rows, "the data in all files together")
    if not found:
        raise unread(files, reason)
    exports = {id(file.tree) for file, content in found if not content.stands_alone}
    is_setting = [_is_setting(file, content, exports) for file, content in found]
    left += [file.path for file, _ in compress(found, is_setting)]
    tables = _tables([pair for pair, is_left in zip(found, is_setting, strict=True) if not is_left])
    kept = tables if wanted is None else wanted(tables)
    lacking = [table.path for table in tables if table not in kept]
    kept = _stating(kept) if lacking else kept
    notes = _notes(kept, sorted(left))
    if lacking:
        notes.append(f"Not read, since they lack a column of sentences or of intents: {listed(lacking, 6)}.")
    return kept, tuple(notes)


def unread(files: Sequence[SourceFile], reason: DataError | None = None) -> DataError:
    """Return the error for files of which none holds data, by what was named: a folder, or the files.

    Args:
        files: one or more.
        reason: what the first that might be data lacks.
    """
    if reason and len(files) == 1 and files[0].is_named:
        return reason
    named = listed((_end_of(file.path) for file in files), 4)
    fix = "name the files to read, or save the data as CSV"
    kinds = f"{FORMAT_TITLES} file (their names end in {any_of(TABLE_ENDINGS)})"
    if files[0].around and not any(file.is_named for file in files):
        return DataError(
            f"{shown(files[0].around)}: none of its files ({named}) is a {kinds} with sentences, or an export of "
            "another tool that Emu knows",
            *((" (", reason, ")") if reason else ()),
            f"; the guide 'Prepare your data' has the way in from other tools; {fix}",
        )
    return DataError(f"{named}: no {kinds} and no export of another tool that Emu knows; {fix}")


class _NoSentencesError(DataError):
    """A file is in a known format, but holds no sentences, as some files of an export."""


def is_json(file: SourceFile | SourceTable) -> bool:
    """Return whether a file's name is that of a JSON file, which may hold settings."""
    return unpacked_name(file.path).lower().endswith(".json")


def _is_setting(file: SourceFile, content: "_Part | SourceTable", exports: Container[int]) -> bool:
    """Return whether a JSON file is no data: a setting of a chatbot, or a list beside a data set."""
    is_table_of_json = isinstance(content, SourceTable) and is_json(file)
    return is_table_of_json and not file.is_named and id(file.tree) in exports


@dataclass(frozen=True, eq=False)
class _Part:
    """A collection's file: its rows, its format, and what its name states."""

    file: SourceFile
    rows: Rows
    collection: CollectionFormat
    notes: tuple[str, ...]
    states: Statement = field(default_factory=Statement)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def stands_alone(self) -> bool:
        """Whether JSON files beside it may be tables, too."""
        return self.collection.stands_alone

    def stating(self, states: Statement) -> "_Part":
        """Return the part with what its name states; its project may state the language of its rows."""
        states = replace(states, project=self.rows.project or None)
        if self.collection.names_intents:
            states = replace(states, name=None, sibling=None, doubtful=None, split="")
        if states.project and states.believed()[0] == "project":
            self.rows.fill_language(states.project)
        return replace(self, states=states)

    @property
    def export(self) -> tuple[object, ...]:
        """The folder or archive and the columns that the files of one table have in common."""
        return (
            self.collection.title,
            id(self.file.tree),
            self.rows.is_complete("language"),
            self.rows.is_complete("split"),
        )

    @property
    def can_be_joined(self) -> bool:
        """Whether the file's name states nothing that its rows lack, so that it may be in one table with others."""
        needs_language = not self.rows.is_complete("language") and (
            self.states.by_names or self.states.doubtful
        )
        needs_split = not self.rows.is_complete("split") and self.states.split
        return self.rows.are_labelled and not (self.file.is_named or needs_language or needs_split)


def _joined(parts: Sequence[_Part]) -> SourceTable:
    """Return files of one export as a table: a bot may have thousands, for which pandas would take a minute."""
    [first, *others] = parts
    if others:
        rows = Rows(first.file.around)
        for part in parts:
            rows.extend(part.rows)
    try:
        frame = rows.frame() if others else first.rows.frame()
    except DataError:
        for part in parts:
            part.rows.frame()  # names the file
        raise
    return SourceTable(
        path=first.file.around if others else first.file.path,
        around=first.file.around,
        is_named=first.file.is_named,
        frame=frame,
        recognised=first.collection.title,
        states=Statement(around=first.states.around, archive=language_of_file(first.file.around))
        if others
        else first.states,
        notes=tuple(note for part in parts for note in part.notes),
        is_collection=True,
        stands_alone=first.stands_alone,
        left_out=sum((Counter(part.rows.left_out) for part in parts), Counter()),
        files=tuple((part.file.path, len(part)) for part in parts),
    )


def _tables(found: Sequence[tuple[SourceFile, _Part | SourceTable]]) -> list[SourceTable]:
    """Return a table for each file or, of exports whose files can be joined, for each export."""
    tables: list[SourceTable] = []
    exports: dict[tuple[object, ...], list[_Part]] = {}
    stated = statements(
        [_stating_path(file) for file, _ in found],
        [file.around for file, _ in found],
        [content.split if isinstance(content, SourceTable) else "" for _, content in found],
    )
    for (_, content), states in zip(found, stated, strict=True):
        if isinstance(content, SourceTable):
            tables.append(replace(content, states=states))
        elif (part := content.stating(states)).can_be_joined:
            exports.setdefault(part.export, []).append(part)
        else:
            tables.append(_joined([part]))
    return [*tables, *map(_joined, exports.values())]


def _stating(tables: Sequence[SourceTable]) -> list[SourceTable]:
    """Return tables with what the names of their files alone state; a joined one has nothing of the kind."""
    paths = [_stating_path(table) if len(table.files) == 1 else "" for table in tables]
    stated = statements(paths, [table.around for table in tables], [table.split for table in tables])
    return [
        replace(table, states=replace(states, project=table.states.project))
        if len(table.files) == 1
        else table
        for table, states in zip(tables, stated, strict=True)
    ]


def _stating_path(file: SourceFile | SourceTable) -> str:
    """Return the path that may state a language or a split; "" for a table that nobody gave a name."""
    return "" if file.is_held and file.is_named else file.path


def _part(document: Document, collection: CollectionFormat, plain: bool) -> _Part:
    """Return a collection's file with its rows. Raises DataError if it is damaged or holds no sentences."""
    file, rows = document.file, Rows(document.path, unlabelled=plain)
    collection.read(document, rows)
    if not len(rows):
        left = f" ({listed(rows.left_out)})" if rows.left_out else ""
        raise _NoSentencesError(
            f"{shown(file.path)} ({collection.title}) holds no sentences to read{left}; export it with its examples, "
            "or name the whole export, as a folder or a zip archive"
        )
    notes = (*rows.notes, *encoding_notes(file.path, document.encoding))
    return _Part(file, rows, collection, notes)


def _in_table(document: Document, plain: bool) -> SourceTable | None:
    """Return another file as a table; None if it is in a folder and no table. Raises DataError if it can't be read."""
    file = document.file
    about = file.path, file.around, file.is_named
    is_text = unpacked_name(file.path).lower().endswith(PLAIN_ENDING)
    is_tabular = is_table(file.path) or (is_text and has_tabs(document.text))  # MTOP's train.txt
    is_plain = plain and not is_tabular and _is_plain(document)
    if not file.is_named and not is_tabular and not (is_plain and is_text):
        return None
    if is_plain:
        lines, notes = read_lines(document.payload, file.path)
        return SourceTable(*about, pd.DataFrame({"text": lines}, dtype="str"), notes=notes)
    if not is_table(file.path) and unpacked_name(file.path).lower().endswith(STRUCTURED_ENDINGS):
        raise _unknown(document)
    frame = read_table(document.payload, unpacked_name(file.path), _shaped, document.json)
    notes = (*frame.attrs.get("notes", ()), *encoding_notes(file.path, frame.attrs.get("encoding", "utf-8")))
    recognised, split = (str(frame.attrs.get(name, "")) for name in ("recognised", "split"))
    return SourceTable(*about, frame, recognised, notes=notes, split=split)


def _held(file: SourceFile, cells: Cells) -> SourceTable:
    """Return a table that Python holds."""
    frame = read_table(cells, file.path, _shaped)
    return SourceTable(
        file.path,
        file.around,
        file.is_named,
        frame,
        str(frame.attrs.get("recognised", "")),
        notes=frame.attrs.get("notes", ()),
        is_held=True,
    )


def _shaped(cells: Cells, name: str) -> Cells:
    return known_table(cells) or shaped(cells, name)


def _is_plain(document: Document) -> bool:
    name = unpacked_name(document.path).lower()
    return not name.endswith(STRUCTURED_ENDINGS) and bool(document.text) and document.json is None


def _unknown(document: Document) -> DataError:
    if document.is_damaged_yaml:
        return DataError(document.yaml_fault)
    ending = shown(unpacked_name(document.path).rpartition(".")[2], 10)
    return DataError(
        f"{shown(document.path)} is a .{ending} file, but none that Emu knows; the guide 'Prepare your data' lists "
        "what is read; save other data as CSV with the columns text, intent and language"
    )


def _end_of(path: str) -> str:
    """Return a path, of a long one the end: the folders that all files share are the first."""
    return path if len(path) <= 40 else f"...{path[-37:]}"


def _notes(tables: Sequence[SourceTable], left: Sequence[str]) -> list[str]:
    notes = []
    for title in dict.fromkeys(table.recognised for table in tables if table.recognised):
        parts = [table for table in tables if table.recognised == title]
        guessed = guess_columns_of([part.frame for part in parts], [None] * len(parts))
        intents = {
            intent
            for part, columns in zip(parts, guessed, strict=True)
            if columns.intent
            for intent in part.frame[columns.intent]
        }
        size = counted(sum(map(len, parts)), "example")
        names = set(seen_names(intents).values()) - {""}
        if intents := names - usual_names(names):
            size += f", {counted(len(intents), 'intent')}"
        files = sum(len(part.files) for part in parts)
        where = f" in {files:,} files" if files > 1 else ""
        notes.append(f"{title}: {size}{where}.")
    for reason in dict.fromkeys(reason for table in tables for reason in table.left_out):
        parts = [table for table in tables if reason in table.left_out]
        count = sum(table.left_out[reason] for table in parts)
        where = listed((part.path for part in parts), 3)
        notes.append(f"Left out of {where}, {reason}: {counted(count, 'sentence')}.")
    notes += [note for table in tables for note in table.notes]
    for what, by_path in (
        (
            "Language",
            {table.path: table.states.by_names for table in tables if "language" not in table.frame},
        ),
        ("Split", {table.path: table.states.split for table in tables if "split" not in table.frame}),
    ):
        if stated := [f"{value} ({path})" for path, value in by_path.items() if value]:
            is_within = what == "Split" and any(table.split for table in tables)
            where = "names within files" if is_within else "the names of files"
            notes.append(f"{what} by {where}: {listed(stated, 4)}.")
    if left:
        notes.append(f"Not read, since they hold no labelled sentences: {listed(map(_end_of, left), 6)}.")
    return notes
