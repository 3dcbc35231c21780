"""Our own words, by language, for what a home's users name themselves: rooms, devices, shopping items."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from emu_core.data.languages import language_code
from emu_core.data.wording import listed
from emu_core.errors import DataError

_FOLDER = "words"
_VERBATIM = frozenset({"message", "search_query", "shopping_list_item", "timer_name", "todo_list_item"})
"""The lists whose texts are used as they are: an article at the beginning is a part of them."""


@dataclass(frozen=True)
class Word:
    """A word with what it needs to agree.

    Attributes:
        text: the word.
        article: its article, such as "die"; "" for none.
        place: "in the kitchen" for "kitchen", split before the word; empty where there is none.
    """

    text: str
    article: str
    place: tuple[str, str] | tuple[()]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A language's words for what users name, and what shows that a sentence is odd.

    Attributes:
        values: list or domain of device -> key -> word; keys are the same in all languages.
        lists: lists of the package for which we have better words: list -> value -> words. A text that agrees
            with its subject has a form for each article: "el:abierto/la:abierta".
        subjects: domain -> the article that stands for it where there is no name to agree with.
        leads: lead -> article -> what to write, such as "in" -> "la" -> "en la ".
        lead_of: what is written -> its lead, such as "en el" -> "in".
        needy: the lists whose words need a lead, except at the beginning of a sentence.
        rules: expansion rules of the package that we replace, to leave out what is odd or means another thing.
        replacements: patterns in a template's text, and what replaces each.
        odd: what no sentence of an intent may have, by intent; "" for every intent.
    """

    values: Mapping[str, Mapping[str, Word]]
    lists: Mapping[str, Mapping[str, tuple[str, ...]]]
    subjects: Mapping[str, str]
    leads: Mapping[str, Mapping[str, str]]
    lead_of: Mapping[str, str]
    needy: frozenset[str]
    rules: Mapping[str, str]
    replacements: tuple[tuple[re.Pattern[str], str], ...]
    odd: Mapping[str, re.Pattern[str]]
    _led: re.Pattern[str] | None

    def cut_lead(self, before: str, source: str) -> tuple[str, str]:
        """Split what stands before a list's word into the text and the lead that it ends with ("" for none)."""
        ours = source == "name" or source in self.values or source in self.lists
        match = self._led.search(before) if self._led and ours else None
        return (before[: match.start()], self.lead_of[match.group(1).casefold()]) if match else (before, "")

    def is_odd(self, intent: str, text: str) -> bool:
        """Return whether nobody would say a sentence."""
        return any(self.odd[which].search(text) for which in ("", intent) if which in self.odd)


def vocabulary_languages() -> tuple[str, ...]:
    """Return the languages we have words for."""
    folder = files("emu_core.data.commands") / _FOLDER
    return tuple(sorted(entry.name.removesuffix(".json") for entry in folder.iterdir()))


def checked_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages as codes, each once, in the order asked. Raises DataError unless we have words for all."""
    there_are = vocabulary_languages()
    codes = tuple(dict.fromkeys(language_code(language) or language for language in languages))
    unknown = [code for code in codes if code not in there_are]
    if unknown or not codes:
        raise DataError(f"no commands in {listed(unknown)}; choose from {listed(there_are, len(there_are))}")
    return codes


@cache
def vocabulary(language: str) -> Vocabulary:
    """Return the words of one of `vocabulary_languages()`."""
    path = files("emu_core.data.commands") / _FOLDER / f"{language}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    articles = tuple(sorted({article for forms in data["leads"].values() for article in forms}, key=len))
    lead_of = {text: lead for lead, texts in data["written"].items() for text in texts.split("|")}
    joined = "|".join(map(re.escape, sorted(lead_of, key=len, reverse=True)))
    return Vocabulary(
        values={
            source: {key: _word(text, () if source in _VERBATIM else articles) for key, text in words.items()}
            for source, words in data["values"].items()
        },
        lists={
            name: {value: tuple(texts.split("|")) for value, texts in words.items()}
            for name, words in data["lists"].items()
        },
        subjects=data["subjects"],
        leads=data["leads"],
        lead_of=lead_of,
        needy=frozenset(data["needy"]),
        rules=data["rules"],
        replacements=tuple((re.compile(pattern), new) for pattern, new in data["replacements"]),
        odd={
            intent: re.compile("|".join(patterns), re.IGNORECASE) for intent, patterns in data["odd"].items()
        },
        _led=re.compile(rf"(?<!\w)({joined})\s*$", re.IGNORECASE) if joined else None,
    )


def split_article(text: str, articles: Collection[str]) -> tuple[str, str]:
    """Return a word's article ("" for none) and the word itself."""
    for article in articles:
        joint = article if article.endswith("'") else f"{article} "
        if article and text.startswith(joint):
            return article, text[len(joint) :]
    return "", text


def _word(text: str, articles: Collection[str]) -> Word:
    named, _, place = text.partition("|")
    article, word = split_article(named, articles)
    if not place:
        return Word(word, article, ())
    before, _, placed = place.partition("~")
    return Word(word, article, (before, placed))
