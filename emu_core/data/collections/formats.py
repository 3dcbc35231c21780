"""The table of collections that are read: a format is a row here, and its reader a module beside it."""

from collections.abc import Callable
from dataclasses import dataclass

from emu_core.data.collections import rasa
from emu_core.data.collections.document import Document
from emu_core.data.collections.rows import Rows


@dataclass(frozen=True)
class CollectionFormat:
    """A format of labelled sentences that another tool or a data set has.

    Attributes:
        title: its name in the audit and on pages.
        files: the usual names of its files, as the guide shows them.
        reads: what is read of it, and what is left out, as the guide says it.
        recognises: whether a file is in this format; it looks at the content, and at the name only beside it.
        read: adds the rows of such a file; it may also count rows as left out.
    """

    title: str
    files: str
    reads: str
    recognises: Callable[[Document], bool]
    read: Callable[[Document, Rows], None]


# The first that recognises a file reads it, so those with the most telling content come first.
COLLECTION_FORMATS = (
    CollectionFormat(
        "Rasa NLU",
        "nlu.yml",
        "the examples of every intent, with entities in both notations; a folder of files is one set",
        rasa.is_yaml,
        rasa.read_yaml,
    ),
    CollectionFormat(
        "Rasa NLU (Markdown)",
        "nlu.md",
        "the bullets below `## intent:`",
        rasa.is_markdown,
        rasa.read_markdown,
    ),
    CollectionFormat("Rasa NLU (JSON)", "nlu.json", "the key `rasa_nlu_data`", rasa.is_json, rasa.read_json),
)


def format_of_collection(document: Document) -> CollectionFormat | None:
    """Return the format of a collection's file; None for anything else, such as an ordinary table."""
    return next((format for format in COLLECTION_FORMATS if format.recognises(document)), None)
