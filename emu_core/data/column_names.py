"""The usual names of a table's columns, and what a name says of its column."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from importlib.resources import files

COLUMN_NAMES: Mapping[str, str] = json.loads(
    files("emu_core.data").joinpath("column_names.json").read_text(encoding="utf-8")
)
"""Role -> the usual names of its column, the likeliest first: English, German, Spanish, Portuguese, Italian, French,
Japanese, Chinese. Names that number the rows, such as `nummer`, are left out."""


def folded_name(name: str) -> str:
    """Return a column's name without case, accents, spaces and separators."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[\W_]", "", "".join(char for char in decomposed if not unicodedata.combining(char)))


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
