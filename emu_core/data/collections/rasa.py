"""Rasa's training data: YAML of version 2 and 3, Markdown, and JSON."""

import re
from collections.abc import Iterator
from typing import Any

from emu_core.data.collections.document import Document
from emu_core.data.collections.rows import Rows, marked_text

# [tomorrow](date), [tomorrow]{"entity": "date", "value": "..."}; the annotated text names the entity.
_ENTITY = re.compile(r"\[([^\[\]]*)\](?:\(([^()]*)\)|\{([^{}]*)\})")
_NAME_IN_BRACES = re.compile(r'"entity"\s*:\s*"([^"]*)"')
_BULLET = re.compile(r"^\s*[-*+]\s+(.*\S)\s*$")
_MARKDOWN_INTENT = re.compile(r"^##\s*intent\s*:\s*(.*\S)\s*$", re.IGNORECASE)


def is_yaml(document: Document) -> bool:
    """Return whether it is `nlu.yml`: a mapping with the key `nlu`, or a list of intents with examples."""
    if not re.search(r"^\s*-?\s*(nlu|intent)\s*:", document.text, re.MULTILINE) or document.json is not None:
        return False
    return any(True for _ in _intents(document))


def read_yaml(document: Document, rows: Rows) -> None:
    """Read the examples of every intent; synonyms, regular expressions and lookup tables are no sentences."""
    for item in _intents(document):
        for example in _examples(item.get("examples")):
            _add(rows, example, str(item["intent"]))


def _intents(document: Document) -> Iterator[dict[str, Any]]:
    values = document.yaml
    for value in values if isinstance(values, list) else [values]:
        items = value.get("nlu") if isinstance(value, dict) and "nlu" in value else value
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, dict) and isinstance(item.get("intent"), str) and "examples" in item:
                yield item


def _examples(examples: object) -> Iterator[str]:
    """Yield the sentences of a block of bullets, or of a list of them or of `text: ...`."""
    parts = examples if isinstance(examples, list) else [examples]
    for text in (part.get("text") if isinstance(part, dict) else part for part in parts):
        if isinstance(text, str):
            lines = [match[1] for line in text.split("\n") if (match := _BULLET.match(line))]
            yield from lines or [text] * isinstance(examples, list)


def is_markdown(document: Document) -> bool:
    """Return whether it is `nlu.md`, with headings such as `## intent:greet`."""
    return any(_MARKDOWN_INTENT.match(line) for line in document.lines())


def read_markdown(document: Document, rows: Rows) -> None:
    """Read the bullets below each heading of an intent."""
    intent = ""
    for line in document.lines():
        if match := _MARKDOWN_INTENT.match(line):
            intent = match[1]
        elif line.startswith("#"):
            intent = ""
        elif intent and (bullet := _BULLET.match(line)):
            _add(rows, bullet[1], intent)


def is_json(document: Document) -> bool:
    """Return whether it is an object with the key `rasa_nlu_data`."""
    return isinstance(document.json, dict) and isinstance(document.json.get("rasa_nlu_data"), dict)


def read_json(document: Document, rows: Rows) -> None:
    """Read the examples, and the older keys for those of intents and entities."""
    data = document.json["rasa_nlu_data"]
    for key in ("common_examples", "intent_examples", "entity_examples"):
        for example in data.get(key) or ():
            if isinstance(example, dict):
                text = example.get("text", "")
                rows.add(text, example.get("intent") or "", annotated=_marked(text, example.get("entities")))


def _add(rows: Rows, example: str, intent: str) -> None:
    text = _ENTITY.sub(r"\1", example)
    rows.add(text, intent, annotated=_ENTITY.sub(_annotation, example) if text != example else "")


def _annotation(match: re.Match[str]) -> str:
    value, in_parentheses, in_braces = match.groups()
    if in_braces is None:
        name = in_parentheses.partition(":")[0]  # value synonyms follow the colon
    else:
        named = _NAME_IN_BRACES.search(in_braces)
        name = named[1] if named else ""
    return f"[{name} : {value}]" if name else value


def _marked(text: object, entities: object) -> str:
    """Return a text with its entities, given by the positions of their characters, marked as in `annotated`."""
    if not isinstance(text, str) or not isinstance(entities, list):
        return ""
    spans = [
        (entity["start"], entity["end"], entity.get("entity"))
        for entity in entities
        if isinstance(entity, dict)
        and isinstance(entity.get("start"), int)
        and isinstance(entity.get("end"), int)
    ]
    return marked_text(text, spans)
