"""Dialogflow's agents: ES (`NAME_usersays_LANG.json`), CX (`trainingPhrases/LANG.json`), and the intents of its API."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from emu_core.data.none_of_these import as_fallback
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import mapping, objects, text_of

_USER_SAYS = "userSays"
_PHRASES_OF = re.compile(
    r"(?P<intent>.*)_usersays_(?P<language>[a-z]{2,3}(?:[-_][a-z0-9]{2,8})*)\.json", re.I
)
_IS_FALLBACK = ("fallbackIntent", "isFallback")  # in ES and its API, and in CX
_PHRASES = "trainingPhrases"  # the key of phrases, and in CX the folder of their files
_LOCALE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,4})*", re.IGNORECASE)


def is_es(document: Document) -> bool:
    """Return whether it is a list of phrases, each with its parts under `data`, or an intent of an agent."""
    content = mapping(document.json)
    phrases = document.records or objects(content.get(_USER_SAYS))
    return any(map(_phrase_parts, phrases)) or {"name", "auto", "responses"} <= set(content)


def read_es(document: Document, rows: Rows) -> None:
    """Read phrases. The name of their file states intent and language; older agents have them within the intent."""
    named = _PHRASES_OF.fullmatch(document.file.name)
    stem = named["intent"] if named else PurePosixPath(document.path).stem
    definition = document if isinstance(document.json, dict) else document.beside(f"{stem}.json")
    intent = mapping(definition.json) if definition else {}
    language = named["language"] if named else ""
    of_agent = "" if language else _agent_language(document)
    for phrase in document.records or objects(intent.get(_USER_SAYS)):
        rows.add_parts(
            ((part["text"], text_of(part.get("alias"))) for part in _phrase_parts(phrase)),
            _named(intent, text_of(intent.get("name")) or stem),
            language=language or text_of(phrase.get("lang")) or of_agent,
        )


def _phrase_parts(phrase: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in objects(phrase.get("data")) if "text" in part]


def _agent_language(document: Document) -> str:
    agent = document.beside("agent.json")
    keys = mapping(agent.json) if agent else {}
    return text_of(keys.get("language")) or text_of(keys.get("defaultLanguageCode"))


def _named(intent: dict[str, Any], name: str) -> str:
    """Return the name of an intent, which says so if the agent falls back on it."""
    return as_fallback(name) if any(intent.get(key) is True for key in _IS_FALLBACK) else name


def is_training_phrases(document: Document) -> bool:
    """Return whether it has `trainingPhrases`: a file of CX, or an intent or a list of intents of the API."""
    return any(objects(intent.get(_PHRASES)) for intent in _intents(document))


def read_training_phrases(document: Document, rows: Rows) -> None:
    """Read the phrases; an intent that does not state its name is named by the folders of CX."""
    of_names = _name_by_folder(document), _language_by_name(document)
    for intent in _intents(document):
        name = _named(intent, text_of(intent.get("displayName")) or of_names[0])
        for phrase in objects(intent.get(_PHRASES)):
            rows.add_parts(
                (
                    (part.get("text"), text_of(part.get("parameterId")) or text_of(part.get("alias")))
                    for part in objects(phrase.get("parts"))
                ),
                name,
                language=text_of(phrase.get("languageCode")) or of_names[1],
            )


def _intents(document: Document) -> Iterator[dict[str, Any]]:
    content = mapping(document.json)
    yield content
    yield from objects(content.get("intents"))
    yield from document.records


def _name_by_folder(document: Document) -> str:
    """Return the name that `intents/NAME/NAME.json` states for `intents/NAME/trainingPhrases/LANG.json`, or NAME."""
    folder = next((name for name in reversed(document.file.folders) if name != _PHRASES), "")
    definition = document.beside(f"{folder}.json")
    content = mapping(definition.json) if definition else {}
    return _named(content, text_of(content.get("displayName"))) if definition else folder


def _language_by_name(document: Document) -> str:
    stem = PurePosixPath(document.path).stem
    is_locale = document.file.folders[-1:] == (_PHRASES,) and _LOCALE.fullmatch(stem)
    return stem if is_locale else _agent_language(document)
