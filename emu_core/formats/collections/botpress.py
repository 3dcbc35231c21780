"""Botpress's intents (`intents/NAME.json`) and its questions with answers (`qna/ID.json`).

In version 10, an intent's utterances are the lines of `intents/NAME.utterances.txt` beside that file, and a question
has one `answer`.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from emu_core.data.cleaning import cleaned
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rasa import entity_parts
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import mapping, objects, sentences, text_of
from emu_core.formats.tables.formats import unpacked_name
from emu_core.formats.tables.json_keys import is_language_key

_OF_INTENT = {"contexts", "slots"}  # one of these is beside an intent's utterances
_LINES = ".utterances.txt"
_OF_QUESTION = "__qna__"  # before the name of the intent that Botpress makes of a question


def is_intent(document: Document) -> bool:
    """Return whether it is an intent by its contexts, languages or name, or a list of intents."""
    return any(True for _ in _intents(document))


def read_intent(document: Document, rows: Rows) -> None:
    """Read the utterances of every language, with their slots."""
    for intent in _intents(document):
        name = text_of(intent.get("name")).removeprefix(_OF_QUESTION)
        for language, utterance in _by_language(intent["utterances"], document):
            rows.add_parts(entity_parts(utterance), name, language=language)


def _intents(document: Document) -> Iterator[dict[str, Any]]:
    content = mapping(document.json)
    for intent in (content, *objects(content.get("intents")), *document.records):
        if {"name", "utterances"} <= intent.keys():
            utterances = intent["utterances"]
            is_usual = bool(_OF_INTENT & intent.keys()) and isinstance(utterances, dict | list)
            is_by_language = bool(mapping(utterances)) and all(map(is_language_key, utterances))
            is_named = isinstance(utterances, list) and document.file.name == f"{intent['name']}.json"
            if is_usual or is_by_language or is_named:
                yield intent


def is_lines(document: Document) -> bool:
    """Return whether it is the text beside an intent of version 10."""
    name = _named(document)
    beside = document.beside(f"{name}.json") if name and document.text else None
    return beside is not None and "utterances" not in mapping(beside.json)


def read_lines(document: Document, rows: Rows) -> None:
    """Read an utterance a line, with its slots; the file is named after the intent."""
    for line in filter(cleaned, document.lines()):
        rows.add_parts(entity_parts(line), _named(document))


def _named(document: Document) -> str:
    """Return the intent that a file of lines is named after; "" if its name is another."""
    name, ending, rest = PurePosixPath(unpacked_name(document.path)).name.rpartition(_LINES)
    return name if ending and not rest else ""


def is_question(document: Document) -> bool:
    """Return whether it is a question with its answers, or an export of several."""
    return any(True for _ in _questions(document))


def read_question(document: Document, rows: Rows) -> None:
    """Read the ways to ask each question, whose id is the intent; answers are no sentences."""
    for question in _questions(document):
        data = question["data"]
        asked = list(_by_language(data["questions"], document))
        if data.get("enabled") is False:
            rows.leave_out("questions that are switched off", len(asked))
        else:
            for language, text in asked:
                rows.add(text, text_of(question.get("id")), language=language)


def _questions(document: Document) -> Iterator[dict[str, Any]]:
    content = mapping(document.json)
    for question in (content, *objects(content.get("qnas")), *document.records):
        data = mapping(question.get("data"))
        if (
            "id" in question
            and {"answers", "answer"} & data.keys()
            and isinstance(data.get("questions"), dict | list)
        ):
            yield question


def _by_language(texts: object, document: Document) -> Iterator[tuple[str, str]]:
    """Yield texts with their languages; older ones are all in that of the bot."""
    if isinstance(texts, list):
        config = document.beside("bot.config.json")
        texts = {text_of(mapping(config.json).get("defaultLanguage")) if config else "": texts}
    for language, values in mapping(texts).items():
        yield from ((language, text_of(text)) for text in sentences(values))
