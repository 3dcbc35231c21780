"""Ids: the same in several spellings, and those that only number rows."""

import unicodedata

import pandas as pd

from emu_core.data.cleaning import as_seen, normal_form, whole_numbers
from emu_core.data.intent_names import without_language
from emu_core.data.missing import missing_words

MOST_CONTRADICTING = 0.05
"""Share of the ids that several rows have. If more of them have different intents, ids are no translations."""


def comparable_ids(ids: "pd.Series[str]") -> "pd.Series[str]":
    """Return ids that are equal if they look the same, whatever their composition, width and number format (1, 1.0).

    Words that may stand for a missing value, such as nan, join nothing: they are "".
    """
    if words := missing_words(ids, "id"):
        ids = ids.mask(ids.isin(words), "")
    spelt = {
        value: value
        if value.isascii() and value.isprintable()
        else as_seen(unicodedata.normalize("NFKC", value))
        for value in ids.unique()
    }
    whole = whole_numbers(spelt.values())
    spelt = {value: whole.get(seen, seen) for value, seen in spelt.items()}
    return ids if all(map(str.__eq__, spelt, spelt.values())) else ids.map(spelt).astype("str")


def contradicting_ids(rows: pd.DataFrame) -> tuple[set[str], int]:
    """Return the ids of rows with different intents and, if there are any, the number of ids that several rows have.

    Names of intents that differ only in case, or in the language at their end, are no different intents.

    Args:
        rows: the columns id ("" for none), text, intent and language (codes).
    """
    with_id = rows[rows["id"] != ""]
    pairs = with_id[["id", "intent", "language"]].drop_duplicates(["id", "intent"])
    suspects = pairs[pairs["id"].isin(pairs.loc[pairs["id"].duplicated(), "id"])]
    if suspects.empty:
        return set(), 0
    intents = without_language(suspects).map(normal_form)
    several = intents.groupby(suspects["id"]).nunique() > 1
    distinct = with_id[["id", "text", "intent", "language"]].drop_duplicates()
    return set(several.index[several]), int(distinct.loc[distinct["id"].duplicated(), "id"].nunique())
