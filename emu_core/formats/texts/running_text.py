"""Running text from plain files, lists and tables."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from emu_core.data.cleaning import clean
from emu_core.data.texts.running_text import MIN_DOCUMENT_SENTENCES, RunningText
from emu_core.data.wording import counted, shown
from emu_core.errors import DataError
from emu_core.formats.encodings import read_lines
from emu_core.formats.file_names import language_of_file, stated_language
from emu_core.formats.in_memory import Expected, Sources
from emu_core.formats.limits import check_rows
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.formats import STRUCTURED_ENDINGS, is_table, unpacked_name
from emu_core.formats.texts.read import held_columns, left_out_note, parts_by_language, read_training_texts

_EXPECTED = Expected(
    "name files with a sentence a line, or give sentences in order: a list, a Series or a table with a column text",
    are_sentences=True,
    may_be_blank=True,
)


_NAMES = {"text": ("text", "sentence"), "document": ("document",), "language": ("language",)}


def read_running_text(files: Sources, language: str | None = None) -> list[RunningText]:
    """Read sentences in order: of plain text, gzipped or not, with a sentence a line; of a list; or of a table.

    A blank line or an empty sentence stands between two documents, unless a column `document` of a table tells them
    apart; without any, all sentences are one document. Documents of fewer than three sentences, from which quick
    thought cannot learn, are left out and counted in `notes`.

    Args:
        files: files, each in one language; a list, a Series or an array of sentences; or a DataFrame, a pyarrow Table
            or a Hugging Face `Dataset` with a column `text`, whose languages may be in a column `language`.
        language: their language; without it each file's name must state it (`news.en.txt`).

    Returns:
        The text of each file, and each language of a table, in order.

    Raises:
        DataError: a file can't be read, doesn't state its language, or has no document of three sentences.

    Examples:
        >>> import emu_core
        >>> sentences = ["We arrived late.", "It rained.", "The pool was closed."]
        >>> (text,) = emu_core.read_running_text(sentences, language="en")
        >>> len(text.documents)
        1
    """
    return read_training_texts(
        files,
        _EXPECTED,
        lambda source: _held(source, language) if isinstance(source, SourceFile) else _read(source, language),
        "running text",
        lambda name: (
            (language or language_of_file(name)) is not None
            and not (is_table(name) or unpacked_name(name).lower().endswith(STRUCTURED_ENDINGS))
        ),
    )


def _held(table: SourceFile, given: str | None) -> list[RunningText]:
    rows = held_columns(table, _NAMES, ("document", "language"))
    texts = []
    for code, part in parts_by_language(rows, table, given, "read_running_text"):
        groups = part.groupby("document", sort=False) if "document" in part else [("", part)]
        documents = [document for _, group in groups for document in _documents(group["text"].tolist())]
        texts.append(_of_documents(code, documents, table.name))
    return texts


def _read(path: Path, given: str | None) -> list[RunningText]:
    language = stated_language(given, path.name)
    lines, notes = read_lines(path, path.name)
    check_rows(len(lines), path.name)
    return [_of_documents(language, _documents(lines), path.name, notes)]


def _documents(lines: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the runs of lines that are not blank."""
    return [tuple(group) for has_text, group in groupby(clean(lines), key=bool) if has_text]


def _of_documents(
    language: str, documents: Sequence[tuple[str, ...]], name: str, notes: tuple[str, ...] = ()
) -> RunningText:
    """Return the documents that are long enough. Raises DataError if none is."""
    long_enough = tuple(document for document in documents if len(document) >= MIN_DOCUMENT_SENTENCES)
    if not long_enough:
        raise DataError(
            f"{shown(name)}: none of {counted(len(documents), 'document')} has {MIN_DOCUMENT_SENTENCES} "
            "sentences, and quick thought can't learn from shorter ones; write a sentence a line, and a blank line "
            "only between documents"
        )
    short = len(documents) - len(long_enough)
    notes += left_out_note(name, short, "document", f"of fewer than {MIN_DOCUMENT_SENTENCES} sentences")
    return RunningText(language, long_enough, name, notes)
