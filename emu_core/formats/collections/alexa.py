"""Amazon Alexa's interaction models, a file for each locale: `interactionModels/custom/de-DE.json`.

Before these there were `IntentSchema.json` and, beside it, `SampleUtterances.txt` with an intent and a sample a line.
"""

import re
from pathlib import PurePosixPath
from typing import Any

from emu_core.data.cleaning import cleaned
from emu_core.formats.collections.document import LEAST_TELLING, Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, sentences, text_of
from emu_core.formats.lines import BLANK
from emu_core.formats.tables.formats import unpacked_name

_SCHEMAS = ("IntentSchema.json", "intentSchema.json", "intent_schema.json", "intents.json")
_NAMED = re.compile(r"sample[-_ ]?utterances", re.IGNORECASE)
_LINE = re.compile(rf"(?P<intent>[A-Za-z_][\w.]*){BLANK}+(?P<sample>.*\S.*)")
_FILLED = re.compile(r"\{(?P<value>[^{}|]+)\|(?P<name>[^{}|]+)\}")


def is_model(document: Document) -> bool:
    """Return whether it has a language model whose intents have samples."""
    return any("samples" in intent for intent in _intents(document))


def read_model(document: Document, rows: Rows) -> None:
    """Read the samples of every intent as they are, with `{slot}` where a value stands.

    Those of a slot answer a question of the skill, and belong to no intent.
    """
    for intent in _intents(document):
        for sample in sentences(intent.get("samples")):
            rows.add(text_of(sample), text_of(intent.get("name")))
        samples = (listing(slot.get("samples")) for slot in objects(intent.get("slots")))
        rows.leave_out("answers that fill a slot", sum(map(len, samples)))


def is_lines(document: Document) -> bool:
    """Return whether its lines are an intent and a sample, by its name or by the intents of the schema beside it."""
    name = PurePosixPath(unpacked_name(document.path)).name
    if document.json is not None:
        return False
    if _NAMED.search(name):
        return document.is_mostly(_LINE.fullmatch, LEAST_TELLING)
    beside = map(document.beside, _SCHEMAS) if name.lower().endswith(".txt") else ()
    schema = next(filter(None, beside), None)
    known = [] if schema is None else objects(mapping(schema.json).get("intents"))
    intents = {text_of(intent.get("intent")) for intent in known}
    return document.is_mostly(
        lambda line: _LINE.fullmatch(line) and line.split(maxsplit=1)[0] in intents, LEAST_TELLING
    )


def read_lines(document: Document, rows: Rows) -> None:
    """Read the sample of every line behind its intent; of a slot with an example, `{pizza|Food}`, the example."""
    for line in filter(cleaned, document.lines()):
        if (found := _LINE.fullmatch(line)) is None:
            rows.leave_out("lines without an intent and a sample")
        else:
            rows.add_parts(_parts(found["sample"]), found["intent"])


def _parts(sample: str) -> list[tuple[str, str]]:
    """Return the parts of a sample, each with the slot that it fills, or ""."""
    parts, at = [], 0
    for slot in _FILLED.finditer(sample):
        parts += [(sample[at : slot.start()], ""), (slot["value"], slot["name"])]
        at = slot.end()
    return [*parts, (sample[at:], "")]


def _intents(document: Document) -> list[dict[str, Any]]:
    content = mapping(document.json)
    model = mapping(content.get("interactionModel")) or content
    return objects(mapping(model.get("languageModel")).get("intents"))
