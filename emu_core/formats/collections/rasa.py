"""Rasa's training data: YAML of version 2 and 3, Markdown, and JSON."""

import re
from collections.abc import Iterator
from typing import Any

from emu_core.data.cleaning import BLANKS
from emu_core.formats.collections.bullets import NO_BULLET, NO_INTENT, bullet, is_ruler, is_underlined
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows, marked_text
from emu_core.formats.collections.values import listing, mapping, objects, position, text_of
from emu_core.formats.lines import BLANK, seen_lines_of, without_comments
from emu_core.formats.tables.formats import unpacked_name

# [tomorrow](date), [tomorrow](date:value), [tomorrow]{"entity": "date", "role": "start"}, [tomorrow][{...}, {...}]
_ENTITY = re.compile(r"\[([^\[\]]*)\](?:\(([^():]*)(?::[^()]*)?\)|\{([^{}]*)\}|\[(\{[^\[\]]*\})\])")
_ENTITY_KEY = re.compile(r"""["']?entity["']?[ \t]*:[ \t]*["']?([^"',{}]*)""")
_YAML_START = re.compile(r"^(?:[ \t]*-)?[ \t]*[\"']?(?:nlu|intent)[\"']?[ \t]*:", re.MULTILINE)
_YAML_NLU = re.compile(r"^nlu[ \t]*:", re.MULTILINE)
_MARKDOWN_INTENT = re.compile(rf"^{BLANK}*#+{BLANK}*intent{BLANK}*:(.*)", re.IGNORECASE | re.MULTILINE)
_CLOSED = re.compile(rf"{BLANK}#+{BLANK}*$")  # a heading may end as it begins
_MARKDOWN_OTHER = re.compile(rf"#+{BLANK}*(?:synonym|regex|lookup){BLANK}*:", re.IGNORECASE)


def is_yaml(document: Document) -> bool:
    """Return whether it is `nlu.yml`: a mapping with the key `nlu`, or a list of intents with examples."""
    if document.json is not None:  # which is YAML, too
        return "nlu" in mapping(document.json) and any(_intents(document.json))
    if not _YAML_START.search(document.beginning):
        return False
    return any(_intents(document.yaml)) or (
        document.is_damaged_yaml and bool(_YAML_NLU.search(document.text))
    )


def read_yaml(document: Document, rows: Rows) -> None:
    """Read the examples of every intent; synonyms, regular expressions and lookup tables are no sentences.

    Raises:
        DataError: it is not valid YAML.
    """
    rows.project = _project_language(document)
    for item in _intents(document.checked_yaml() if document.json is None else document.json):
        for example in _examples(item["examples"], rows):
            _add(rows, example, item["intent"])


def _intents(content: object) -> Iterator[dict[str, Any]]:
    for value in content if isinstance(content, list) else [content]:
        items = value["nlu"] if isinstance(value, dict) and "nlu" in value else value
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, dict) and isinstance(item.get("intent"), str) and "examples" in item:
                yield item


def _examples(examples: object, rows: Rows) -> Iterator[str]:
    """Yield the sentences of a block of bullets, or of a list of sentences or of `text: ...`."""
    if isinstance(examples, str):
        yield from _bullets(examples, rows)
    for part in listing(examples):
        text = text_of(part["text"] if isinstance(part, dict) and "text" in part else part).strip()
        if "\n" in text:
            yield from _bullets(text, rows)
        else:
            yield text.removeprefix("- ")


def _bullets(block: str, rows: Rows) -> Iterator[str]:
    for line in seen_lines_of(without_comments(block)):
        if sentence := bullet(line):
            yield sentence
        elif not (line.startswith("#") or is_ruler(line)):
            rows.leave_out(NO_BULLET)


def is_markdown(document: Document) -> bool:
    """Return whether it is `nlu.md`, with headings such as `## intent:greet`."""
    heading = _MARKDOWN_INTENT.search(document.beginning)
    is_named = unpacked_name(document.path).lower().endswith(".md")
    # One sign begins a comment elsewhere, such as in CoNLL.
    return heading is not None and (is_named or "##" in heading[0])


def read_markdown(document: Document, rows: Rows) -> None:
    """Read the bullets below each heading of an intent; those of synonyms, lookup tables and the like are no sentences.

    As in Rasa, comments are not read, and a heading may be indented.
    """
    intent, rows.project = "", _project_language(document)
    has_sentences = True
    lines = seen_lines_of(without_comments(document.text))
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if is_underlined(line, below):
            intent, has_sentences = "", True
        elif line.startswith("#"):
            heading = _MARKDOWN_INTENT.match(line)
            intent = _CLOSED.sub("", heading[1]).strip(BLANKS) if heading else ""
            has_sentences = not _MARKDOWN_OTHER.match(line)
        elif has_sentences and not is_ruler(line):
            sentence = bullet(line)
            if sentence and intent:
                _add(rows, sentence, intent)
            else:
                rows.leave_out(NO_INTENT if sentence else NO_BULLET)


def is_json(document: Document) -> bool:
    """Return whether it is an object with the key `rasa_nlu_data`."""
    return isinstance(mapping(document.json).get("rasa_nlu_data"), dict)


def read_json(document: Document, rows: Rows) -> None:
    """Read the examples, and the older keys for those of intents and entities."""
    data, rows.project = document.json["rasa_nlu_data"], _project_language(document)
    for key in ("common_examples", "intent_examples", "entity_examples"):
        for example in objects(data.get(key)):
            text = text_of(example.get("text"))
            spans = [
                (position(entity.get("start")), position(entity.get("end")), entity.get("entity"))
                for entity in objects(example.get("entities"))
            ]
            rows.add(text, text_of(example.get("intent")), annotated=marked_text(text, spans))


def _project_language(document: Document) -> str:
    """Return the language of the project's pipeline."""
    config = document.beside("config.yml")
    return text_of(mapping(config.yaml).get("language")) if config else ""


def _add(rows: Rows, example: str, intent: str) -> None:
    rows.add_parts(entity_parts(example), intent.strip())


def entity_parts(example: str) -> Iterator[tuple[str, str]]:
    """Yield the text in parts, each with the name of its entity, or ""."""
    at = 0
    for match in _ENTITY.finditer(example):
        value, in_parentheses, *in_braces = match.groups()
        named = _ENTITY_KEY.search("".join(filter(None, in_braces)))
        yield example[at : match.start()], ""
        yield value, in_parentheses or (named[1] if named else "")
        at = match.end()
    yield example[at:], ""
