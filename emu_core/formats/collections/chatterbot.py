"""ChatterBot's corpora: `categories` and `conversations`, of which each begins with what a user says.

In the oldest ones, which are JSON, the conversations are under the category, which the file is named after.
"""

import re
from typing import Any

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, sentences, text_of

# Folders of its corpora whose names are not those of languages elsewhere.
_LANGUAGES = {"bangla": "bn", "oriya": "or", "tchinese": "zh", "traditionalchinese": "zh"}
_START = re.compile(r"^[\"']?conversations[\"']?[ \t]*:", re.MULTILINE)


def is_corpus(document: Document) -> bool:
    """Return whether it has conversations in lists, and categories, or nothing else."""
    if document.json is None and not _START.search(document.beginning):
        return False
    if _of_category(document):
        return True
    content = _content(document)
    conversations = listing(content.get("conversations"))
    is_whole = "categories" in content or content.keys() == {"conversations"}
    return is_whole and any(isinstance(turns, list) and turns for turns in conversations)


def read_corpus(document: Document, rows: Rows) -> None:
    """Read the first turn of every conversation, with the first category as its intent; answers are no sentences."""
    content = _content(document)
    category, conversations = _of_category(document) or (
        next(map(text_of, sentences(content.get("categories"))), ""),
        listing(content.get("conversations")),
    )
    language = next(filter(None, map(_LANGUAGES.get, reversed(document.file.folders))), "")
    for turns in map(sentences, conversations):
        said = [text_of(turn["text"] if "text" in mapping(turn) else turn) for turn in turns]
        for text in said[:1]:
            rows.add(text, category, language=language)
        rows.leave_out("answers", len(said[1:]))


def _of_category(document: Document) -> tuple[str, list[Any]] | None:
    """Return the category and the conversations of one of the oldest corpora; None of anything else."""
    content = mapping(document.json)
    category, conversations = next(iter(content.items()), ("", None))
    is_named = document.file.name.casefold().startswith(category.casefold())
    if len(content) != 1 or not (category and is_named and listing(conversations)):
        return None
    are_turns = all(
        isinstance(turns, list) and len(turns) > 1 and all(isinstance(turn, str) for turn in turns)
        for turns in listing(conversations)
    )
    return (category, listing(conversations)) if are_turns else None


def _content(document: Document) -> dict[str, Any]:
    return mapping(document.json if document.json is not None else document.yaml)
