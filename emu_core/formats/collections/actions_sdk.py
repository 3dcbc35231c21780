"""Google's Actions SDK: `custom/intents/NAME.yaml`, and in a folder for each other locale."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import mapping, sentences, text_of
from emu_core.formats.tables.formats import unpacked_name, without_endings

_START = re.compile(r"^[\"']?trainingPhrases[\"']?[ \t]*:", re.MULTILINE)
_PARAMETER = re.compile(r"\(\$([\w.-]+)[ \t]+'((?:[^'\\]|\\.)*)'(?:[ \t]+auto[ \t]*=[ \t]*\w+)?\)")
_ESCAPED = re.compile(r"\\(.)")
_FOLDER = "intents"
_LOCALE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,4})*", re.IGNORECASE)
_SETTINGS = ("settings/settings.yaml", "settings.yaml")


def is_intent(document: Document) -> bool:
    """Return whether it has a list of training phrases."""
    if not _START.search(document.beginning) or document.json is not None:
        return False
    return any(isinstance(phrase, str) for phrase in _phrases(document)) or document.is_damaged_yaml


def read_intent(document: Document, rows: Rows) -> None:
    """Read the phrases with their parameters; the file is named after the intent.

    Raises:
        DataError: it is not valid YAML.
    """
    document.checked_yaml()
    intent = without_endings(PurePosixPath(unpacked_name(document.path)).name, (".yaml", ".yml"))
    language = _language(document)
    for phrase in _phrases(document):
        rows.add_parts(_parts(text_of(phrase)), intent, language=language)


def _phrases(document: Document) -> list[object]:
    return sentences(mapping(document.yaml).get("trainingPhrases"))


def _language(document: Document) -> str:
    """Return the locale that is the folder of the file, or else the default one of the project's settings."""
    *_, outer, inner = ("", "", *document.file.folders)
    if outer == _FOLDER and _LOCALE.fullmatch(inner):
        return inner
    settings = next(filter(None, map(document.beside, _SETTINGS)), None)
    return text_of(mapping(settings.yaml).get("defaultLocale")) if settings else ""


def _parts(phrase: str) -> Iterator[tuple[str, str]]:
    """Yield the text in parts, each with the name of its parameter, or ""."""
    at = 0
    for match in _PARAMETER.finditer(phrase):
        yield phrase[at : match.start()], ""
        yield _ESCAPED.sub(r"\1", match[2]), match[1]
        at = match.end()
    yield phrase[at:], ""
