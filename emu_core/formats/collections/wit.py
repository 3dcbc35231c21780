"""wit.ai's apps: `utterances/*.json`, and the `expressions.json` of older ones."""

import json
from typing import Any

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows, marked_text
from emu_core.formats.collections.values import mapping, objects, position, text_of

_INTENT = "intent"
_OUT_OF_SCOPE = "out_of_scope"


def is_utterances(document: Document) -> bool:
    """Return whether it is an object with utterances alone."""
    content = mapping(document.json)
    return set(content) == {"utterances"} and any(
        "text" in item and isinstance(item.get("entities"), list) for item in objects(content["utterances"])
    )


def read_utterances(document: Document, rows: Rows) -> None:
    """Read the utterances with their entities; one that was trained without an intent is out of scope."""
    _add(rows, document, document.json["utterances"], _OUT_OF_SCOPE)


def is_expressions(document: Document) -> bool:
    """Return whether it is an object with expressions alone, whose intent is one of their entities."""
    content = mapping(document.json)
    return set(content) == {"data"} and any(
        "text" in item and any("entity" in entity for entity in objects(item.get("entities")))
        for item in objects(content["data"])
    )


def read_expressions(document: Document, rows: Rows) -> None:
    """Read the expressions; one without an intent has none."""
    _add(rows, document, document.json["data"])


def _add(rows: Rows, document: Document, values: object, without: str = "") -> None:
    """Add sentences; `without` is the intent of those that have none."""
    app = document.beside("app.json")
    language = text_of(mapping(mapping(app.json).get("data")).get("lang")) if app else ""
    for item in objects(values):
        text, entities = text_of(item.get("text")), objects(item.get("entities"))
        by_entity = [_unquoted(entity.get("value")) for entity in entities if entity.get("entity") == _INTENT]
        spans = [
            (position(entity.get("start")), position(entity.get("end")), _name(entity))
            for entity in entities
            if entity.get("entity") != _INTENT
        ]
        rows.add(
            text,
            text_of(item.get("intent")) or next(iter(by_entity), without),
            language=language,
            annotated=marked_text(text, spans),
        )


def _unquoted(value: object) -> str:
    """Return a value that older apps write as JSON within JSON: '"greet"'."""
    text = text_of(value)
    try:
        return text_of(json.loads(text)) if text.startswith('"') else text
    except ValueError:
        return text


def _name(entity: dict[str, Any]) -> str:
    """Return the role of an entity, "origin" of "wit$location:origin"."""
    return text_of(entity.get("entity")).rpartition(":")[2].removeprefix("wit$")
