"""Skills of OVOS and Mycroft: `locale/LANG/NAME.intent` with a template of sentences a line."""

import re
from itertools import pairwise
from pathlib import PurePosixPath

from emu_core.data.cleaning import cleaned
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.templates import MAX_SENTENCES, expanded
from emu_core.formats.lines import seen_lines_of
from emu_core.formats.tables.formats import unpacked_name

_ENDING = ".intent"
_FOLDERS = ("locale", "vocab")
_LOCALE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,4})*", re.IGNORECASE)
_BEYOND = f"beyond {MAX_SENTENCES} sentences of a template"


def is_intent(document: Document) -> bool:
    """Return whether it is the text of an intent's file."""
    is_named = unpacked_name(document.path).lower().endswith(_ENDING)
    return is_named and bool(document.text) and document.json is None


def read_intent(document: Document, rows: Rows) -> None:
    """Read the sentences of every line; the file is named after the intent, and a folder around it by the language.

    Sentences of one template have the same id, so that none is the answer to another in an evaluation.
    """
    intent = PurePosixPath(unpacked_name(document.path)).name[: -len(_ENDING)]
    language = _language(document)
    for number, line in enumerate(seen_lines_of(document.text), start=1):
        if not cleaned(line) or line.startswith("#"):
            continue
        sentences, left_out = expanded(line)
        id = f"{document.path}:{number}" if len(sentences) > 1 else ""
        for sentence in sentences:
            rows.add(sentence, intent, language=language, id=id)
        rows.leave_out(_BEYOND, left_out)


def _language(document: Document) -> str:
    """Return the folder in `locale`, or the nearest one that is named like a locale; "" if there is none."""
    folders = document.file.folders
    within = [inner for outer, inner in pairwise(folders) if outer in _FOLDERS]
    return next(filter(_LOCALE.fullmatch, reversed(within)), "")
