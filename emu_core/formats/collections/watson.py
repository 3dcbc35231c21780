"""Watson Assistant's workspaces and skills, and its CSV of intents, which has no header."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from emu_core.data.column_names import role_of_name
from emu_core.data.wording import shown
from emu_core.errors import DataError
from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows, marked_text
from emu_core.formats.collections.values import listing, mapping, objects, position, sentences, text_of

_INTENT = re.compile(r"[\w.-]{1,128}")  # as Watson allows them
_IRRELEVANT = "irrelevant"
_SAMPLE_CHARACTERS = 20_000


def is_workspace(document: Document) -> bool:
    """Return whether it has intents with examples."""
    return any(
        "intent" in intent and isinstance(intent.get("examples"), list)
        for workspace in _workspaces(document)
        for intent in objects(workspace.get("intents"))
    )


def read_workspace(document: Document, rows: Rows) -> None:
    """Read the examples, and the counterexamples, which Watson's users mark as irrelevant."""
    for workspace in _workspaces(document):
        language = text_of(workspace.get("language"))
        for intent in objects(workspace.get("intents")):
            for example in sentences(intent.get("examples")):
                text = text_of(example["text"] if "text" in mapping(example) else example)
                spans = map(_span, objects(mapping(example).get("mentions")))
                rows.add(
                    text, text_of(intent.get("intent")), language=language, annotated=marked_text(text, spans)
                )
        for example in objects(workspace.get("counterexamples")):
            rows.add(text_of(example.get("text")), _IRRELEVANT, language=language)


def _workspaces(document: Document) -> Iterator[dict[str, Any]]:
    """Yield a workspace, or those in a skill or in an export of all skills; the language may be the skill's."""
    content = mapping(document.json)
    for skill in (content, *objects(content.get("assistant_skills"))):
        yield {"language": skill.get("language"), **mapping(skill.get("workspace", skill))}


def _span(mention: dict[str, Any]) -> tuple[int, int, object]:
    start, end, *_ = *listing(mention.get("location")), None, None
    return position(start), position(end), mention.get("entity")


def is_csv(document: Document) -> bool:
    """Return whether the first rows are sentences with intents, and no column names: their intents come again."""
    sample = document.text[:_SAMPLE_CHARACTERS]
    if len(sample) < len(document.text):
        sample = sample[: sample.rfind("\n") + 1]
    try:
        rows = list(filter(None, csv.reader(io.StringIO(sample, newline=""), strict=True)))
    except csv.Error:
        return False
    if len(rows) < 2 or any(len(row) != 2 or not _INTENT.fullmatch(row[1]) for row in rows):
        return False
    texts, intents = zip(*rows, strict=True)
    repeats = intents[0] in intents[1:] and len(set(intents)) < len(set(texts))
    return repeats and role_of_name(texts[0]) is None and any(" " in text for text in texts)


def read_csv(document: Document, rows: Rows) -> None:
    """Read the two columns. Raises DataError if a row has another number of cells, or its quotes do not pair."""
    reader = csv.reader(io.StringIO(document.text, newline=""), strict=True)
    try:
        for row in filter(None, reader):
            if len(row) != 2:
                raise csv.Error("another number of cells")
            rows.add(*row)
    except csv.Error as error:
        raise DataError(
            f"{shown(document.path)}: line {reader.line_num} is not a sentence and an intent; put quotes round a "
            "sentence that holds a comma"
        ) from error
