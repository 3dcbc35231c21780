"""The corpora of nlp.js."""

from typing import Any

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, objects, sentences, text_of


def _intent(item: dict[str, Any]) -> str | None:
    """Return an item's intent, or None.

    The corpora that come with nlp.js were translated by machine, and in the French one some of the keys: `intention`.
    """
    return next((text_of(value) for key, value in item.items() if key.startswith("intent")), None)


def is_corpus(document: Document) -> bool:
    """Return whether it has a list of intents with utterances under `data`."""
    return any(
        _intent(item) is not None and isinstance(item.get("utterances"), list)
        for item in objects(mapping(document.json).get("data"))
    )


def read_corpus(document: Document, rows: Rows) -> None:
    """Read the utterances to train on and, where there are some, the tests."""
    items, language = objects(document.json["data"]), text_of(document.json.get("locale"))
    train = "train" if any(listing(item.get("tests")) for item in items) else ""
    for item in items:
        intent = _intent(item) or ""
        for key, split in (("utterances", train), ("tests", "test")):
            for text in sentences(item.get(key)):
                rows.add(text_of(text), intent, language=language, split=split)
