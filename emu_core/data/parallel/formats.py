"""The table of formats of parallel text, recognised by the beginning of a file."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from emu_core.data.parallel.po import read_po
from emu_core.data.parallel.tables import read_pairs_by_tabs, read_table_of_languages
from emu_core.data.parallel.text import ParallelRows
from emu_core.data.parallel.tmx import read_tmx
from emu_core.data.parallel.xliff import read_xliff
from emu_core.data.readers.delimited import has_tabs
from emu_core.data.readers.formats import is_memory, is_table
from emu_core.data.readers.json_tables import looks_like_json
from emu_core.data.readers.limits import opened

Reader = Callable[[Path, Sequence[str] | None], ParallelRows]
"""Reads a file; the languages are those that were given for files that do not state theirs."""

HEAD_BYTES = 65_536
_ROOT = re.compile(r"<(?![?!])(?:\w+:)?(\w+)")
_PO = re.compile(r'^msgid\s+"', re.MULTILINE)
_XML_READERS: dict[str, Reader] = {"tmx": read_tmx, "xliff": read_xliff}


def reader_of(path: Path) -> Reader | None:
    """Return what reads a file; None for plain text with a sentence a line. Raises DataError if it can't be opened."""
    head = head_of(path)
    root = _ROOT.search(head) if head.lstrip("\ufeff \r\n\t").startswith("<") else None
    if root and root[1].lower() in _XML_READERS:
        return _XML_READERS[root[1].lower()]
    if is_memory(path.name):
        return read_tmx
    if _PO.search(head) and "msgstr" in head:
        return read_po
    if is_table(path.name) or looks_like_json(head):
        return read_table_of_languages
    return read_pairs_by_tabs if has_tabs(head) else None


def head_of(path: Path) -> str:
    """Return the beginning of a file as text; only its ASCII letters are to be relied on."""
    with opened(path, path.name) as file:
        head = file.read(HEAD_BYTES)
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return head.decode("utf-16" if is_wide else "utf-8-sig", "replace")
