"""The data sets of Snips NLU: JSON, also of its benchmark, and YAML."""

import re
from collections.abc import Iterator
from typing import Any

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, sentences, text_of

_YAML_START = re.compile(r"^type[ \t]*:[ \t]*[\"']?intent\b", re.MULTILINE)
_SLOT = re.compile(r"\[([^\[\]:()]*)(?::[^\[\]()]*)?\]\(([^()]*)\)")  # [room:room_name](kitchen)


def is_json(document: Document) -> bool:
    """Return whether it has utterances whose parts are under `data`, by intent."""
    return any(True for _ in _utterances(document))


def read_json(document: Document, rows: Rows) -> None:
    """Read the utterances of every intent, with their slots."""
    language = text_of(mapping(document.json).get("language"))
    for intent, parts in _utterances(document):
        slots = (
            (part.get("text"), text_of(part.get("slot_name")) or text_of(part.get("entity")))
            for part in parts
        )
        rows.add_parts(slots, intent, language=language)


def _utterances(document: Document) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each intent's name with the parts of an utterance; the benchmark has lists of utterances by intent."""
    content = mapping(document.json)
    by_intent = mapping(content.get("intents"))
    if not by_intent and all(isinstance(value, list) for value in content.values()):
        by_intent = content
    for name, intent in by_intent.items():
        utterances = intent.get("utterances") if isinstance(intent, dict) else intent
        for utterance in objects(utterances):
            parts = [part for part in objects(utterance.get("data")) if "text" in part]
            if parts:
                yield name, parts


def is_yaml(document: Document) -> bool:
    """Return whether it has a document of the type intent."""
    return bool(_YAML_START.search(document.beginning)) and (
        document.is_damaged_yaml or any(_intents(document.yaml))
    )


def read_yaml(document: Document, rows: Rows) -> None:
    """Read the utterances of every intent; documents of entities hold no sentences.

    Raises:
        DataError: it is not valid YAML.
    """
    for intent in _intents(document.checked_yaml()):
        for utterance in sentences(intent.get("utterances")):
            rows.add_parts(_parts(text_of(utterance)), text_of(intent.get("name")))


def _intents(content: object) -> Iterator[dict[str, Any]]:
    for item in objects(content if isinstance(content, list) else [content]):
        if item.get("type") == "intent" and listing(item.get("utterances")):
            yield item


def _parts(utterance: str) -> Iterator[tuple[str, str]]:
    """Yield the text in parts, each with the name of its slot, or ""."""
    at = 0
    for match in _SLOT.finditer(utterance):
        yield utterance[at : match.start()], ""
        yield match[2], match[1]
        at = match.end()
    yield utterance[at:], ""
