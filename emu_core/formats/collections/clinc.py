"""CLINC150: `{split: [[sentence, intent], ...]}`, where the splits `oos_...` hold sentences of none of the intents."""

from emu_core.formats.collections.document import Document
from emu_core.formats.collections.rows import Rows
from emu_core.formats.collections.values import listing, mapping, text_of

_OUT_OF_SCOPE = "oos_"


def is_clinc(document: Document) -> bool:
    """Return whether it has pairs of sentence and intent by split, and some out of scope."""
    return any(
        key.startswith(_OUT_OF_SCOPE) and any(_pairs(value)) for key, value in mapping(document.json).items()
    )


def read_clinc(document: Document, rows: Rows) -> None:
    """Read the pairs of every split; the intent of those that are out of scope is `oos`."""
    for key, value in document.json.items():
        for text, intent in _pairs(value):
            rows.add(text, intent, split=key.removeprefix(_OUT_OF_SCOPE))
        rows.leave_out(
            "entries other than a sentence and its intent", len(listing(value)) - len(_pairs(value))
        )


def _pairs(value: object) -> list[tuple[str, str]]:
    pairs = (item for item in listing(value) if isinstance(item, list) and len(item) == 2)
    return [(text_of(text), text_of(intent)) for text, intent in pairs]
