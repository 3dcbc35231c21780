"""Our own words, by language, for what users name themselves: rooms, devices, shopping items."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from emu_core.data.languages import language_code
from emu_core.data.wording import listed
from emu_core.errors import DataError

_FOLDER = files("emu_core.data.commands") / "words"
_VERBATIM = frozenset({"message", "search_query", "shopping_list_item", "timer_name", "todo_list_item"})
"""Lists whose texts are used unchanged: a leading article is part of the text."""


class Word(NamedTuple):
    """A word and the forms that must agree with it."""

    text: str
    article: str  # such as "die"; "" if it has none
    placed: tuple[str, str] | tuple[()]  # such as ("in the ", "kitchen"); empty for no special form


@dataclass(frozen=True, eq=False)
class CommandVocabulary:
    """The words of a language for what users name, and patterns of unnatural sentences.

    In `lists`, words that agree with the subject have a form for each article: "el:abierto/la:abierta".
    """

    values: Mapping[str, Mapping[str, Word]]  # list, or domain of devices -> key, of all languages -> word
    lists: Mapping[str, Mapping[str, tuple[str, ...]]]  # list of the package, replaced -> value -> words
    subjects: Mapping[str, str]  # domain -> the article of a subject that has no name
    leads: Mapping[str, Mapping[str, str]]  # lead -> article -> what to write: "in" -> "la" -> "en la "
    lead_of: Mapping[str, str]  # what is written -> its lead, such as "en el" -> "in"
    needy: frozenset[str]  # lists whose words need a lead, except at the start of a sentence
    rules: Mapping[str, str]  # replacements for rules of the package that give unnatural sentences or others
    replacements: tuple[tuple[re.Pattern[str], str], ...]  # patterns in a template, with replacements
    odd: Mapping[str, re.Pattern[str]]  # intent, or "" for every intent -> what no sentence may contain
    _led: re.Pattern[str] | None

    def cut_lead(self, before: str, source: str) -> tuple[str, str]:
        """Split the text before a word of a list into the text proper and its final lead, "" if it has none."""
        ours = source == "name" or source in self.values or source in self.lists
        match = self._led.search(before) if self._led and ours else None
        return (before[: match.start()], self.lead_of[match.group(1).casefold()]) if match else (before, "")

    def is_odd(self, intent: str, text: str) -> bool:
        """Return whether nobody would say a sentence."""
        return any(self.odd[key].search(text) for key in ("", intent) if key in self.odd)


def vocabulary_languages() -> tuple[str, ...]:
    """Return the languages that have a vocabulary."""
    return tuple(sorted(entry.name.removesuffix(".json") for entry in _FOLDER.iterdir()))


def checked_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct codes of languages, in order. Raises DataError if one of them has no vocabulary."""
    available = vocabulary_languages()
    codes = tuple(dict.fromkeys(language_code(language) or language for language in languages))
    unknown = [code for code in codes if code not in available]
    if unknown or not codes:
        raise DataError(f"no commands in {listed(unknown)}; choose from {listed(available, len(available))}")
    return codes


@cache
def vocabulary(language: str) -> CommandVocabulary:
    """Return the vocabulary of one of `vocabulary_languages()`."""
    data = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    articles = tuple(sorted({article for forms in data["leads"].values() for article in forms}, key=len))
    lead_of = {text: lead for lead, texts in data["written"].items() for text in texts.split("|")}
    joined = "|".join(map(re.escape, sorted(lead_of, key=len, reverse=True)))
    return CommandVocabulary(
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
    """Split a word into its article, "" if it has none, and the word itself."""
    for article in articles:
        joint = article if article.endswith("'") else f"{article} "
        if article and text.startswith(joint):
            return article, text[len(joint) :]
    return "", text


def _word(text: str, articles: Collection[str]) -> Word:
    plain_form, _, placed_form = text.partition("|")
    article, word = split_article(plain_form, articles)
    before, _, placed = placed_form.partition("~")
    return Word(word, article, (before, placed) if placed_form else ())
