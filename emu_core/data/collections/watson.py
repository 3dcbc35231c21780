"""Watson Assistant's workspaces and skills."""

from collections.abc import Iterator
from typing import Any

from emu_core.data.collections.document import Document
from emu_core.data.collections.rows import Rows, marked_text
from emu_core.data.collections.values import listing, mapping, objects, position, text_of


def is_workspace(document: Document) -> bool:
    """Return whether it has intents with examples."""
    return any(
        "intent" in intent and isinstance(intent.get("examples"), list)
        for workspace in _workspaces(document)
        for intent in objects(workspace.get("intents"))
    )


def read_workspace(document: Document, rows: Rows) -> None:
    """Read the examples, and the counterexamples as sentences without an intent."""
    for workspace in _workspaces(document):
        language = text_of(workspace.get("language"))
        for intent in objects(workspace.get("intents")):
            for example in listing(intent.get("examples")):
                text = text_of(example["text"] if "text" in mapping(example) else example)
                spans = map(_span, objects(mapping(example).get("mentions")))
                rows.add(
                    text, text_of(intent.get("intent")), language=language, annotated=marked_text(text, spans)
                )
        for example in objects(workspace.get("counterexamples")):
            rows.add(text_of(example.get("text")), language=language)


def _workspaces(document: Document) -> Iterator[dict[str, Any]]:
    """Yield a workspace, or those in a skill or in an export of all skills; the language may be the skill's."""
    content = mapping(document.json)
    for skill in (content, *objects(content.get("assistant_skills"))):
        yield {"language": skill.get("language"), **mapping(skill.get("workspace", skill))}


def _span(mention: dict[str, Any]) -> tuple[int, int, object]:
    start, end, *_ = *listing(mention.get("location")), None, None
    return position(start), position(end), mention.get("entity")
