"""The corpora of nlp.js."""

from emu_core.data.collections.document import Document
from emu_core.data.collections.rows import Rows
from emu_core.data.collections.values import listing, mapping, objects, text_of


def is_corpus(document: Document) -> bool:
    """Return whether it has a list of intents with utterances under `data`."""
    return any(
        "intent" in item and isinstance(item.get("utterances"), list)
        for item in objects(mapping(document.json).get("data"))
    )


def read_corpus(document: Document, rows: Rows) -> None:
    """Read the utterances to train on and, where there are some, the tests."""
    items, language = objects(document.json["data"]), text_of(document.json.get("locale"))
    train = "train" if any(listing(item.get("tests")) for item in items) else ""
    for item in items:
        for key, split in (("utterances", train), ("tests", "test")):
            for text in listing(item.get(key)):
                rows.add(text_of(text), text_of(item.get("intent")), language=language, split=split)
