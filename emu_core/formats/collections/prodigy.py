"""Prodigy's data sets, an answer a line."""

from itertools import islice
from typing import Any

from emu_core.formats.collections.annotators import Annotations, labels_of, stated
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, position, text_of

_ANSWERS = ("accept", "reject", "ignore")
_REASONS = {"reject": "rejected", "ignore": "ignored"}
_SAMPLE = 20


def is_prodigy(document: Document) -> bool:
    """Return whether it has sentences with answers."""
    return any(
        "text" in record
        and (record.get("answer") in _ANSWERS or record.keys() >= {"_input_hash", "_task_hash"})
        for record in islice(document.json_objects, _SAMPLE)
    )


def read_prodigy(document: Document, rows: Rows) -> None:
    """Read the labels that were accepted; those of all annotators of a sentence must agree."""
    annotations = Annotations()
    for record in document.json_objects:
        text, answer = text_of(record.get("text")), text_of(record.get("answer"))
        if not text:
            continue
        annotations.see(text, text, stated(record, mapping(record.get("meta"))))
        if answer == "accept":
            annotator = text_of(record.get("_annotator_id")) or text_of(record.get("_session_id"))
            annotations.label(text, annotator, _labels(record), _spans(record))
        else:
            annotations.refuse(text, _REASONS.get(answer, "without an answer"), _denied(record))
    annotations.add_to(rows)


def _labels(record: dict[str, Any]) -> list[str]:
    """Return the label of a question with one, or the options that were chosen."""
    if not isinstance(record.get("accept"), list):
        return labels_of(record.get("label"))
    names = {
        text_of(option.get("id")): text_of(option.get("text")) for option in objects(record.get("options"))
    }
    chosen = listing(record["accept"])
    # An option is called by its id, or by its text if it only has a number.
    return [text_of(id) if isinstance(id, str) else names.get(text_of(id), text_of(id)) for id in chosen]


def _denied(record: dict[str, Any]) -> list[str]:
    return labels_of(record.get("label")) if record.get("answer") == "reject" else []


def _spans(record: dict[str, Any]) -> list[tuple[int, int, str]]:
    return [
        (position(span.get("start")), position(span.get("end")), text_of(span.get("label")))
        for span in objects(record.get("spans"))
    ]
