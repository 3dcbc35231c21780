"""Amazon Lex's bots: V2 (`BotLocales/LOCALE/Intents/NAME/Intent.json`), and V1, whose file holds all intents."""

from itertools import pairwise
from typing import Any

from emu_core.data.none_of_these import as_fallback
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import mapping, objects, sentences, text_of

_FALLBACK = "AMAZON.FallbackIntent"


def is_intent(document: Document) -> bool:
    """Return whether it is an intent with `sampleUtterances`, or the resource of V1 with such intents."""
    return any("sampleUtterances" in intent and "name" in intent for intent in _intents(document))


def read_intent(document: Document, rows: Rows) -> None:
    """Read the utterances as they are, with `{slot}` where a value stands."""
    language = _language(document)
    for intent in _intents(document):
        name = text_of(intent.get("name"))
        if text_of(intent.get("parentIntentSignature")) == _FALLBACK:
            name = as_fallback(name)
        for sample in sentences(intent.get("sampleUtterances")):
            text = mapping(sample).get("utterance") if isinstance(sample, dict) else sample
            rows.add(text_of(text), name, language=language)


def _intents(document: Document) -> list[dict[str, Any]]:
    content = mapping(document.json)
    resource = mapping(content.get("resource")) or content
    return [resource, *objects(resource.get("intents"))]


def _language(document: Document) -> str:
    stated = text_of(mapping(mapping(document.json).get("resource")).get("locale"))
    for folder, inner in pairwise(document.file.folders):
        stated = inner if folder == "BotLocales" else stated
    locale = None if stated else document.beside("BotLocale.json")
    return text_of(mapping(locale.json).get("identifier")) if locale else stated
