"""Lists of intents in a cell: of one, it is the intent; with several, a row belongs to none alone."""

import json
import re

import pandas as pd

from emu_core.data.cleaning import cell_text

SEVERAL_INTENTS = "several intents"
"""The reason for which a row with a list of two or more is not used."""

# An item of a list as Python, NumPy and pandas write it.
_ITEM = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)")\s*(?:,|(?=['"])|$)""")


def single_intents(intents: "pd.Series[str]") -> tuple["pd.Series[str]", "pd.Series[bool]"]:
    """Return the intents, where a list of one (`["pay"]`) is that one and an empty list is "", and which have several.

    A list of several is unchanged.
    """
    lists = {}
    for value in intents.unique():
        if str(value).lstrip().startswith("[") and (items := listed_intents(value)) is not None:
            lists[value] = items
    single = {value: "".join(items) for value, items in lists.items() if len(items) < 2}
    unwrapped = intents.map(lambda value: single.get(value, value)).astype("str") if single else intents
    return unwrapped, intents.isin(lists.keys() - single.keys())


def listed_intents(value: str) -> list[str] | None:
    """Return the distinct intents of a list in JSON, or as Python writes it; None if the text is no list."""
    text = value.strip()
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        items = _quoted_items(text)
    if not isinstance(items, list) or any(isinstance(item, list | dict) for item in items):
        return None
    return [item for item in dict.fromkeys(cell_text(item).strip() for item in items) if item]


def _quoted_items(text: str) -> list[str] | None:
    if not text.endswith("]"):
        return None
    inner, at, items = text[1:-1].strip(), 0, []
    while at < len(inner):
        item = _ITEM.match(inner, at)
        if item is None:
            return None
        items.append(item[1] if item[1] is not None else item[2])
        at = item.end()
    return items
