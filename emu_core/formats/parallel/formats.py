"""The table of formats of parallel text: what each is recognised by, and what reads it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from emu_core.formats.file_names import language_of_file
from emu_core.formats.limits import opened
from emu_core.formats.lines import lines_of, without_marks
from emu_core.formats.parallel.lines import read_lines_of_files
from emu_core.formats.parallel.po import read_po
from emu_core.formats.parallel.rows import ParallelRows
from emu_core.formats.parallel.tables import read_table_of_translations
from emu_core.formats.parallel.tatoeba import is_tatoeba, read_tatoeba
from emu_core.formats.parallel.tmx import read_tmx
from emu_core.formats.parallel.xliff import read_xliff
from emu_core.formats.source_files import SourceFile
from emu_core.formats.tables.formats import PLAIN_ENDING, STRUCTURED_ENDINGS, is_table, unpacked_name
from emu_core.formats.tables.json_tables import looks_like_json

Reader = Callable[[Sequence[Any], Sequence[str] | None], list[ParallelRows]]
"""Reads all files of a format; the languages are those that were given for files that do not state theirs."""

_HEAD_BYTES = 65_536
_BEFORE_ROOT = re.compile(r"\s*(?><\?(?>.*?\?>)\s*|<!--(?>.*?-->)\s*)*+", re.DOTALL)
_ROOT = re.compile(r"<(?![?!])(?:\w+:)?(\w+)")
_MESSAGE = re.compile(r'^msgid\s*"', re.MULTILINE)


@dataclass(frozen=True)
class ParallelFormat:
    """A format of parallel text.

    Attributes:
        recognises: whether a file, given by its name in lower case and its beginning, is in this format.
        read: reads the files in this format that were named together.
        may_be: whether a file of this name in a folder or an archive is likely to be parallel text in this format.
    """

    recognises: Callable[[str, str], bool]
    read: Reader
    may_be: Callable[[str], bool] = lambda _name: True


def format_of(path: Path | SourceFile) -> ParallelFormat:
    """Return the first format that recognises a file; a table that Python holds is as one in a file.

    Raises:
        DataError: the file can't be opened.
    """
    if isinstance(path, SourceFile):
        return TABLE
    name, head = unpacked_name(path.name).lower(), _head_of(path)
    return next(known for known in PARALLEL_FORMATS if known.recognises(name, head))


def _head_of(path: Path) -> str:
    """Return the beginning of a file as text; only its ASCII letters are to be relied on."""
    with opened(path, path.name) as file:
        head = file.read(_HEAD_BYTES)
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return without_marks(head.decode("utf-16" if is_wide else "utf-8", "replace"))


def _each(read: Callable[[Any, Sequence[str] | None], ParallelRows]) -> Reader:
    """Return a reader of files that do not depend on each other."""
    return lambda paths, languages: [read(path, languages) for path in paths]


def _is_xml(root: str, endings: tuple[str, ...]) -> Callable[[str, str], bool]:
    """Return what recognises an XML document by its outermost element, or by the ending of its name."""

    def recognises(name: str, head: str) -> bool:
        start = _BEFORE_ROOT.match(head)
        end = start.end() if start else 0
        first = _ROOT.search(head, end) if head[end : end + 1] == "<" else None
        return name.endswith(endings) or (first is not None and first[1].lower() == root)

    return recognises


def _is_po(name: str, head: str) -> bool:
    return name.endswith((".po", ".pot")) or (bool(_MESSAGE.search(head)) and "msgstr" in head)


def _is_table(name: str, head: str) -> bool:
    return is_table(name) or looks_like_json(head)


def _has_tabs(_: str, head: str) -> bool:
    """Return whether two thirds of the lines have as many tabs as the first, one or more."""
    lines = [line for line in lines_of(head)[: -1 if len(head) >= _HEAD_BYTES else None] if line.strip()]
    counts = [line.count("\t") for line in lines]
    return bool(counts) and counts[0] > 0 and 3 * counts.count(counts[0]) >= 2 * len(counts)


TABLE = ParallelFormat(_is_table, _each(read_table_of_translations))
PARALLEL_FORMATS = (
    ParallelFormat(_is_xml("tmx", (".tmx",)), _each(read_tmx)),
    ParallelFormat(_is_xml("xliff", (".xlf", ".xliff")), _each(read_xliff)),
    ParallelFormat(_is_po, read_po),
    ParallelFormat(lambda _, head: is_tatoeba(head), read_tatoeba),
    TABLE,
    ParallelFormat(
        _has_tabs,
        _each(partial(read_table_of_translations, by_tabs=True)),
        lambda name: unpacked_name(name).lower().endswith(PLAIN_ENDING),  # OPUS has tables of ids, too
    ),
    ParallelFormat(
        lambda *_: True,
        read_lines_of_files,
        lambda name: (
            language_of_file(name) is not None
            and not unpacked_name(name).lower().endswith(STRUCTURED_ENDINGS)
        ),
    ),
)
"""In the order in which they are looked for."""
