"""A meaning put into words: a wording of its group with the language's texts in the gaps."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from emu_core.data.commands.groups import LanguageGroups
from emu_core.data.commands.holdout import Roles
from emu_core.data.commands.meanings import NUMBERS, Meaning
from emu_core.data.commands.vocabulary import split_article, vocabulary
from emu_core.data.commands.wordings import Wording

TRIES = 40
"""How many wordings are tried before a meaning is given up in a language."""
PLACES = frozenset({"in", "on", "at"})
"""The leads of places: a word that has a place of its own ("on the terrace") takes that."""


@dataclass(frozen=True)
class Sentence:
    """A command.

    Attributes:
        text: the words.
        annotated: the same with each slot in brackets.
    """

    text: str
    annotated: str


class Filler:
    """Puts meanings into the words of one language."""

    def __init__(self, groups: LanguageGroups, roles: Roles) -> None:
        """Take the language's wordings and which of them each split may have."""
        self.language = groups.language
        self._groups = groups
        self._roles = roles
        self._own = vocabulary(groups.language)

    def sentences(self, meaning: Meaning, split: str, seed: int) -> Iterator[Sentence]:
        """Yield fit sentences for a meaning, the same for the same arguments."""
        rng = random.Random(f"{seed}/{self.language}/{meaning.id}")
        for trial in range(TRIES):
            wording = self._roles.pick(meaning.group, split, rng)
            sentence = self._filled(wording, meaning, rng, strict=trial < TRIES // 2)
            if sentence:
                yield sentence

    def _filled(
        self, wording: Wording, meaning: Meaning, rng: random.Random, *, strict: bool
    ) -> Sentence | None:
        """Return a wording with its values; None where it is odd, or where `strict` finds it short."""
        kinds, keys = dict(meaning.group.slots), dict(meaning.values)
        subject = self._subject(meaning)
        plain = annotated = ""
        for part in wording.parts:
            if isinstance(part, str):
                plain += part
                annotated += part
                continue
            kind = kinds[part.slot]
            if strict and plain and not part.lead and kind in self._own.needy:
                return None
            lead = "asked" if part.lead == "the" and meaning.group.asks else part.lead
            before, text = self._text(kind, keys[part.slot], lead, subject, rng)
            if not text:
                return None
            plain += before + text
            annotated += f"{before}[{part.slot} : {text}]"
        # A text that begins with a sign might be a formula to a spreadsheet program.
        if not plain[:1].isalnum() or _repeats(plain) or self._own.is_odd(meaning.group.intent, plain):
            return None
        return Sentence(plain, annotated)

    def _subject(self, meaning: Meaning) -> str:
        """Return the article of what the sentence is about, which states agree with."""
        values, kinds = dict(meaning.values), dict(meaning.group.slots)
        if "name" in values and kinds["name"] in self._own.values:
            return self._own.values[kinds["name"]][values["name"]].article
        if "device_class" in values and kinds["device_class"] in self._own.lists:
            texts = self._own.lists[kinds["device_class"]][values["device_class"]]
            return split_article(texts[0], self._own.leads["the"])[0]
        return self._own.subjects.get(dict(meaning.group.fixed).get("domain", ""), "")

    def _text(self, kind: str, key: str, lead: str, subject: str, rng: random.Random) -> tuple[str, str]:
        """Return what stands before a value, led by `lead`, and the value's text, "" where there is none."""
        own = self._own
        if kind in NUMBERS:
            return self._led(lead, "", key.removeprefix("-"))
        if kind in own.values:
            word = own.values[kind][key]
            if word.place and lead in PLACES:
                return word.place
            return self._led(lead, word.article, word.text)
        text = rng.choice(self._groups.words[kind][key])
        if ":" in text:
            text = dict(form.split(":") for form in text.split("/")).get(subject, "")
        return self._led(lead, *split_article(text, own.leads.get("the", ())))

    def _led(self, lead: str, article: str, text: str) -> tuple[str, str]:
        return (self._own.leads[lead].get(article, "") if lead else ""), text


def _repeats(text: str) -> bool:
    """Return whether a word follows itself, as in "the lamp lamp"."""
    words = text.casefold().split()
    return any(one == next_one for one, next_one in pairwise(words))
