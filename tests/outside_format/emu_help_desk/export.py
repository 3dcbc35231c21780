"""The exports of a help desk: a block of lines for each ticket, with its queue above and its text below."""

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.formats import CollectionFormat
from emu_core.formats.collections.rows import Rows

_HEAD = "=== ticket "


def _is_export(document: Document) -> bool:
    return document.beginning.startswith(_HEAD)


def _read(document: Document, rows: Rows) -> None:
    for ticket in document.text.split(_HEAD)[1:]:
        queue, _, text = ticket.partition("\n")
        if text.strip():
            rows.add(" ".join(text.split()), queue.strip())
        else:
            rows.leave_out("tickets without a text")


HELP_DESK = CollectionFormat("Help desk", "tickets.desk", "the text of every ticket", _is_export, _read)
NOTHING = "no format"
TAKEN = CollectionFormat("CLINC150", "tickets.desk", "the text of every ticket", _is_export, _read)
