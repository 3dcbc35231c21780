"""The usual names of a table's columns, and what a name says of its column."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from importlib.resources import files

from emu_core.data.wording import listed

COLUMN_NAMES: Mapping[str, str] = json.loads(
    files("emu_core.data").joinpath("column_names.json").read_text(encoding="utf-8")
)
"""Role -> the usual names of its column, the likeliest first: English, German, Spanish, Portuguese, Italian, French,
Japanese, Chinese. Names that number the rows, such as `nummer`, are left out."""


def folded_name(name: str) -> str:
    """Return a column's name without case, accents, spaces and separators."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[\W_]", "", "".join(char for char in decomposed if not unicodedata.combining(char)))


DESCRIPTION_NAMES = frozenset(
    (
        *("description", "intentdescription", "labeldescription", "categorydescription"),
        *("beschreibung", "descripcion", "descricao", "descrizione", "説明", "描述", "说明"),
    )
)
"""The usual names, folded, of a column that describes each intent. In a table of tickets it holds the sentences: so it
is one only if each intent has a single description."""

_ROLES: dict[str, str] = {}
for _role, _names in COLUMN_NAMES.items():
    for _name in _names.split():
        _ROLES.setdefault(folded_name(_name), _role)


def role_of_name(name: str) -> str | None:
    """Return the role whose usual names include this one, whatever its case, accents and separators; None if none."""
    return _ROLES.get(folded_name(name))


def has_role(names: Iterable[str], *roles: str) -> bool:
    """Return whether one of the names is a usual name of one of the roles."""
    return any(role_of_name(name) in roles for name in names)


# Of the usual names, those that have other meanings within a longer one: "Tag" is a day, too.
_ONLY_WHOLE = frozenset(
    {"tag", "target", "set", "subset", "key", "scenario", "content", "example", "prompt", "class"}
)
_BY_WORDS = (
    "language",
    "intent",
    "text",
)  # "message language" is of the language, "message category" of the intent
# Words of columns about a sentence or an intent, which hold neither.
_ABOUT = frozenset(
    (
        *(
            "id",
            "ids",
            "uid",
            "uuid",
            "nr",
            "no",
            "num",
            "number",
            "nummer",
            "index",
            "count",
            "length",
            "len",
            "size",
        ),
        *("date", "datum", "time", "timestamp", "zeit", "created", "updated", "fecha"),
        *(
            "score",
            "confidence",
            "prob",
            "probability",
            "url",
            "link",
            "file",
            "path",
            "source",
            "author",
            "type",
        ),
        *(
            "answer",
            "answers",
            "response",
            "responses",
            "reply",
            "antwort",
            "respuesta",
            "reponse",
            "risposta",
        ),
        *(
            "resposta",
            "context",
            "kontext",
            "translation",
            "tokens",
            "slots",
            "tags",
            "entities",
            "annotation",
        ),
    )
)
_MAX_WORDS = 4  # of a name; more are a sentence
_MIN_COMPOUND = 4  # letters of a usual name at the end of a longer word, such as Kundenanfrage
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def words_of_name(name: str) -> list[str]:
    """Return the words of a column's name, folded: "userUtterance (clean)" has user, utterance and clean."""
    return [folded for word in _WORD.findall(name) if (folded := folded_name(word))]


def role_in_name(name: str) -> str | None:
    """Return the role of text, intent and language that a word of a column's name states, or None.

    Names of columns that are about a sentence, such as "text length", have none, nor has a sentence.
    """
    words = words_of_name(name)
    if len(words) > _MAX_WORDS or is_about(name):
        return None
    roles = {role for word in words for known, role in _ROLES.items() if _is_of(word, known)}
    return next((role for role in _BY_WORDS if role in roles), None)


def _is_of(word: str, known: str) -> bool:
    """Return whether a word is a usual name, or ends in one as compounds do."""
    if known in _ONLY_WHOLE:
        return False
    is_compound = len(known) >= (2 if _CJK.search(known) else _MIN_COMPOUND) and word.endswith(known)
    return word in (known, f"{known}s") or is_compound


def is_about(name: str) -> bool:
    """Return whether a name says that a column is about a sentence or an intent, and holds neither."""
    return not _ABOUT.isdisjoint(words_of_name(name))


def is_name(text: str) -> bool:
    """Return whether a text may be the name of a column, and not a sentence of the data."""
    return (
        len(text.split()) <= _MAX_WORDS and len(text) <= 40 and text.strip()[-1:] not in (*".?!", *"。？！؟")
    )


def listed_names(names: Iterable[str], limit: int = 8) -> str:
    """Return column names for a message, or numbers ("column 3") if one of them looks like a sentence of the data."""
    names = list(names)
    if not all(map(is_name, names)):
        names = [f"column {number}" for number in range(1, len(names) + 1)]
    return listed(names, limit)


def column_name(name: object) -> str:
    """Return the name of a frame's column as a string; of one with several levels, those that are not empty."""
    return " ".join(str(part) for part in name if str(part)) if isinstance(name, tuple) else str(name)
