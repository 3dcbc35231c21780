"""Jovo's language models, a file for each locale: `models/de.json` of version 4 and of version 3."""

from collections.abc import Iterator
from typing import Any

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, sentences, text_of

_VERSION = "4"
_PLATFORMS = ("alexa", "dialogflow", "googleAssistant", "lex", "rasa")
_LISTS = ("phrases", "samples", "trainingPhrases", "userSays")


def is_model(document: Document) -> bool:
    """Return whether it has an invocation, Jovo's version or inputs of intents, and intents with phrases."""
    content = mapping(document.json)
    is_jovo = "invocation" in content or text_of(content.get("version")).startswith(_VERSION)
    return any("phrases" in intent and (is_jovo or "inputs" in intent) for _, intent in _intents(content))


def read_model(document: Document, rows: Rows) -> None:
    """Read the phrases of every intent as they are, with `{entity}` where a value stands."""
    content = document.json
    for name, intent in _intents(content):
        for phrase in sentences(intent.get("phrases")):
            rows.add(text_of(phrase), name)
    rows.leave_out("phrases of one platform alone", len(_of_platforms(content)))


def _intents(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield intents with their names: the keys of version 4, and what each states in version 3."""
    for name, intent in mapping(content.get("intents")).items():
        yield name, mapping(intent)
    for intent in objects(content.get("intents")):
        yield text_of(intent.get("name")), intent


def _of_platforms(content: dict[str, Any]) -> list[Any]:
    """Return the phrases that a model adds to its own for Alexa, Google's Assistant or Dialogflow."""
    return [phrase for platform in _PLATFORMS for phrase in _phrases_in(content.get(platform))]


def _phrases_in(value: object) -> Iterator[Any]:
    """Yield what is in the lists of phrases within a value, whatever a platform calls them."""
    for item in listing(value):
        yield from _phrases_in(item)
    for key, inner in mapping(value).items():
        yield from listing(inner) if key in _LISTS else _phrases_in(inner)
