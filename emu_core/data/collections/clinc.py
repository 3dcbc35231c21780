"""CLINC150: `{split: [[sentence, intent], ...]}`, where the splits `oos_...` hold sentences of no intent."""

from emu_core.data.collections.document import Document
from emu_core.data.collections.rows import Rows
from emu_core.data.collections.values import listing, mapping, text_of
from emu_core.data.wording import counted

_OUT_OF_SCOPE = "oos_"


def is_clinc(document: Document) -> bool:
    """Return whether it has pairs of sentence and intent by split, and some out of scope."""
    return any(
        key.startswith(_OUT_OF_SCOPE) and any(_pairs(value)) for key, value in mapping(document.json).items()
    )


def read_clinc(document: Document, rows: Rows) -> None:
    """Read the pairs of every split; sentences that are out of scope have no intent."""
    out_of_scope = 0
    for key, value in document.json.items():
        is_out = key.startswith(_OUT_OF_SCOPE)
        for text, intent in _pairs(value):
            rows.add(text, "" if is_out else intent, split=key.removeprefix(_OUT_OF_SCOPE))
            out_of_scope += is_out
        rows.leave_out(
            "entries other than a sentence and its intent", len(listing(value)) - len(_pairs(value))
        )
    rows.note(f"{counted(out_of_scope, 'sentence')} out of scope are read as sentences without an intent.")


def _pairs(value: object) -> list[tuple[str, str]]:
    pairs = (item for item in listing(value) if isinstance(item, list) and len(item) == 2)
    return [(text_of(text), text_of(intent)) for text, intent in pairs]
