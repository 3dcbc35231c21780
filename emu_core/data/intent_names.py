"""Names of intents: differences that no one sees are none; those in case or language can be merged."""

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

import pandas as pd

from emu_core.data.cleaning import as_seen, normal_form, whole_numbers
from emu_core.data.languages import stated_code
from emu_core.data.wording import listed
from emu_core.errors import DataError

_WORD = re.compile(r"[^\W_]+")


class Difference(StrEnum):
    """A difference of intents that are usually meant to be one."""

    CASE = "case"
    """In letter case, width or blanks: Booking and booking."""
    LANGUAGE = "language"
    """In the language of their sentences, which each name ends with: booking-en and booking_fr."""


def merge_intents(rows: pd.DataFrame, differences: Iterable[Difference | str]) -> "pd.Series[str]":
    """Return the intent of each row, with intents merged that differ in nothing else.

    Of spellings that differ in case, the most frequent one is the name. The language at the end of a name is left out
    wherever it is that of the sentence.

    Args:
        rows: the columns intent and language (codes).
        differences: "case", "language".

    Raises:
        DataError: a difference is unknown.
    """
    wanted = set(differences)
    if unknown := sorted(wanted - set(Difference)):
        raise DataError(f"intents can't be merged by '{unknown[0]}'; choose from {listed(Difference)}")
    intents = rows["intent"]
    if Difference.LANGUAGE in wanted:
        intents = without_language(rows)
    if Difference.CASE in wanted:
        intents = intents.replace(rarer_spellings(intents))
    return intents


def seen_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name of an intent without differences that no one sees, or that only numbers have: 1.0 is 1."""
    seen = {name: as_seen(name) for name in names}
    whole = whole_numbers(seen.values())
    return {name: whole.get(spelt, spelt) for name, spelt in seen.items()}


def as_seen_intents(intents: "pd.Series[str]") -> tuple["pd.Series[str]", list[str]]:
    """Return intents as `seen_names` spells them, and the names that were written in several such ways."""
    seen = seen_names(intents.unique())
    names = Counter(seen.values())
    several = sorted(name for name, spellings in names.items() if spellings > 1)
    return intents.map(seen).astype("str"), several


def rarer_spellings(intents: "pd.Series[str]") -> dict[str, str]:
    """Return the spellings of intents that differ in case from a more frequent one, which is the value.

    Of equally frequent ones, the first to occur stays.
    """
    usual: dict[str, str] = {}
    rarer: dict[str, str] = {}
    for name in (
        intents[intents != ""].value_counts(sort=False).sort_values(ascending=False, kind="stable").index
    ):
        if (first := usual.setdefault(normal_form(name), name)) != name:
            rarer[name] = first
    return rarer


def spelt_as(intents: "pd.Series[str]", names: Iterable[str]) -> "pd.Series[str]":
    """Return intents in the spelling of the given names, where they differ from one only in case."""
    spelling = {normal_form(name): name for name in names}
    return intents.map({name: spelling.get(normal_form(name), name) for name in intents.unique()}).astype(
        "str"
    )


def without_language(rows: pd.DataFrame) -> "pd.Series[str]":
    """Return the intent of each row without the language at its end, if that is the language of the sentence."""
    if not (stems := _stems(rows)):
        return rows["intent"]
    pairs = zip(rows["intent"].tolist(), rows["language"].tolist(), strict=True)
    return pd.Series([stems.get(pair, pair[0]) for pair in pairs], index=rows.index, dtype="str")


def names_with_language(rows: pd.DataFrame) -> dict[str, str]:
    """Return the intents that end in the language of their sentences, with their names without it.

    There are none unless that joins intents of two languages: x-en and x-fr, or, where no intent occurs in two
    languages, x and x-fr.
    """
    stems = _stems(rows)
    pairs = rows[["intent", "language"]].drop_duplicates() if stems else rows.head(0)
    stem_of_pair = [(stems.get(pair, pair[0]), *pair) for pair in pairs.itertuples(index=False, name=None)]
    is_shared = occurs_in_several(pairs)
    languages: dict[str, set[str]] = {}
    for stem, intent, language in stem_of_pair:
        if not is_shared or stem != intent:
            languages.setdefault(stem, set()).add(language)
    if all(len(codes) < 2 for codes in languages.values()):
        return {}
    return {intent: stem for (intent, _), stem in stems.items()}


def _stems(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the intents with their language, where a name ends in it, and the name without it."""
    pairs = rows[["intent", "language"]].drop_duplicates().itertuples(index=False, name=None)
    stems = {(intent, language): _stem(intent, language) for intent, language in pairs}
    return {pair: stem for pair, stem in stems.items() if stem != pair[0]}


def occurs_in_several(rows: pd.DataFrame) -> bool:
    """Return whether an intent occurs in two languages."""
    return bool((rows.groupby("intent")["language"].nunique() > 1).any())


def _stem(intent: str, language: str) -> str:
    """Return a name without the language at its end: a code or a name, or a code with a region as in book_pt_BR."""
    words = list(_WORD.finditer(intent))
    for count in (2, 1):
        if len(words) <= count:
            continue
        tag = [word[0] for word in words[-count:]]
        code = stated_code("-".join(tag)) if count == 1 or tag[1].isupper() or len(tag[1]) == 4 else None
        if code is not None and code.partition("-")[0] == language.partition("-")[0]:
            return intent[: words[-count - 1].end()]
    return intent
