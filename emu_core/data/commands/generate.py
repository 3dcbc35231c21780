"""Slot-annotated commands in several languages, paired by meaning, reproducible by seed, and what there is."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise

import pandas as pd

from emu_core.data.commands.groups import (
    NUMBERS,
    Group,
    LanguageGroups,
    Meaning,
    language_groups,
    shared_choices,
    take_evenly,
)
from emu_core.data.commands.vocabulary import checked_languages, split_article, vocabulary
from emu_core.data.commands.wordings import Gap, Wording
from emu_core.data.labelled.columns import COLUMNS
from emu_core.data.labelled.sets import LabelledSet
from emu_core.data.languages import language_name, ordered
from emu_core.data.wording import counted, listed
from emu_core.errors import DataError

TRIES = 40
"""How many wordings are tried before a meaning is given up in a language."""
PLACES = frozenset({"in", "on", "at"})
"""The leads of places: a word that has a place of its own ("on the terrace") takes that."""
SPLITS = ("train", "dev", "test")
SHARE = 10
"""One template in so many is held out for dev, another for test."""
ENOUGH = 5
"""With fewer templates, wordings are held out instead; with fewer wordings, none."""
_Parts = tuple[str | Gap, ...]
NAME = "commands"
_TRAIN, _DEV = 0.8, 0.9
WEAK = 0.75
"""A pair is weak where it shares less than this part of the groups of its larger language."""
TRIED = 6
"""A group counts where one of so many of its meanings has a sentence."""


@dataclass(frozen=True)
class Sentence:
    """A command."""

    text: str  # the words
    annotated: str  # the same with each slot in brackets


class Roles:
    """Which wordings of a language each split draws from.

    For each intent and combination, a tenth of the templates (at least one where there are five, else a tenth
    of the wordings) is held out for dev and as many for test; a group always leaves some to train. Sentences of
    dev and test are drawn from these half the time, else from train's.
    """

    def __init__(self, groups: LanguageGroups, seed: int) -> None:
        """Choose them: by the seed and the language alone."""
        by_use: dict[tuple[str, str], list[Group]] = defaultdict(list)
        for group in groups.wordings:
            by_use[group.intent, group.combination].append(group)
        self._lines: dict[tuple[Group, str], list[list[Wording]]] = {}
        for use, members in by_use.items():
            rng = random.Random(f"{seed}/{groups.language}/{use}")
            wordings = [groups.wordings[group] for group in members]
            held_out = _held_out(wordings, rng)
            for group, own in zip(members, wordings, strict=True):
                for split in SPLITS:
                    self._lines[group, split] = _by_line(
                        w for w in own if held_out.get(w.parts, "train") == split
                    )

    def pick(self, group: Group, split: str, rng: random.Random) -> Wording:
        """Draw a wording: first its template, then one of the template's wordings."""
        lines = self._lines[group, split]
        if not lines or (split != "train" and rng.random() < 0.5):
            lines = self._lines[group, "train"]
        return rng.choice(rng.choice(lines))

    def of(self, group: Group, split: str) -> tuple[Wording, ...]:
        """Return the wordings that are a split's own."""
        return tuple(wording for line in self._lines[group, split] for wording in line)


def _by_line(wordings: Iterable[Wording]) -> list[list[Wording]]:
    lines: dict[int, list[Wording]] = defaultdict(list)
    for wording in wordings:
        lines[wording.line].append(wording)
    return list(lines.values())


def _held_out(groups: list[tuple[Wording, ...]], rng: random.Random) -> dict[_Parts, str]:
    """Return the split of each wording that is not for train."""
    all_parts: dict[_Parts, int] = {}
    for wording in (wording for group in groups for wording in group):
        all_parts.setdefault(wording.parts, wording.line)
    lines = sorted(set(all_parts.values()))
    units: list[list[_Parts]]
    if len(lines) >= ENOUGH:
        units = [[parts for parts, line in all_parts.items() if line == which] for which in lines]
    elif len(all_parts) >= ENOUGH:
        units = [[parts] for parts in all_parts]
    else:
        return {}
    rng.shuffle(units)
    wanted = ["dev", "test"] * max(1, len(units) // SHARE)
    left = [{wording.parts for wording in group} for group in groups]
    held_out: dict[_Parts, str] = {}
    for unit in units:
        if not wanted:
            break
        if all(own.difference(unit) for own in left):
            left = [own.difference(unit) for own in left]
            held_out.update(dict.fromkeys(unit, wanted.pop()))
    return held_out


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


def generate_commands(languages: Sequence[str], count: int, *, seed: int = 0) -> LabelledSet:
    """Return `count` commands, each once in every language, with their slots annotated.

    Args:
        languages: codes or names, at least one.
        count: how many meanings; the set has `count` rows for each language.
        seed: the same languages, count and seed give the same set, on any machine.

    An id is the meaning: intent, slots in use, and each slot's value in no language (`area=kitchen`). Which
    meanings there are depends on the languages asked together, since each must have wordings and words for
    them; how a language's templates expand, and which of them are held out for dev and test, depends on that
    language and the seed alone. Eight in ten meanings are train, one dev, one test, by id; a meaning without
    slots is always train. Some wordings are held out from train, see `Roles`. No two ids of a language have the
    same text.

    Raises:
        DataError: the package is missing, a language is unknown, `count` is less than 1 or more than the
            templates give in these languages.
    """
    if count < 1:
        raise DataError(f"{count} commands can't be generated; ask for 1 or more")
    codes = checked_languages(languages)
    groups = [language_groups(code) for code in codes]
    rows = _Rows([Filler(one, Roles(one, seed)) for one in groups], seed)
    there_are = take_evenly(shared_choices(groups), count, seed, rows.add)
    if there_are < count:
        raise DataError(
            f"the templates give {counted(there_are, 'meaning')} in {listed(codes, len(codes))}, not {count:,}; "
            "ask for fewer or for other languages"
        )
    frame = pd.DataFrame(rows.found, columns=list(COLUMNS), dtype="str")
    frame = frame.sort_values(["language", "id"], kind="stable", ignore_index=True)
    return LabelledSet(frame, NAME)


class _Rows:
    """The rows so far; a meaning is added in all languages or in none."""

    def __init__(self, fillers: Sequence[Filler], seed: int) -> None:
        self.found: list[tuple[str, ...]] = []
        self._fillers = fillers
        self._seed = seed
        self._taken: dict[str, set[str]] = {filler.language: set() for filler in fillers}

    def add(self, meaning: Meaning) -> bool:
        """Add a meaning's rows, unless a language has no fit sentence for it that is not taken."""
        split = _split_of(meaning, self._seed)
        chosen: dict[str, Sentence] = {}
        for filler in self._fillers:
            taken = self._taken[filler.language]
            for sentence in filler.sentences(meaning, split, self._seed):
                if sentence.text.casefold() not in taken:
                    chosen[filler.language] = sentence
                    break
            else:
                return False
        for language, sentence in chosen.items():
            self._taken[language].add(sentence.text.casefold())
            self.found.append(
                (meaning.id, sentence.text, meaning.group.intent, language, split, sentence.annotated)
            )
        return True


def _split_of(meaning: Meaning, seed: int) -> str:
    if not meaning.values:
        return "train"
    place = random.Random(f"{seed}/{meaning.id}").random()
    return "train" if place < _TRAIN else "dev" if place < _DEV else "test"


@dataclass(frozen=True)
class LanguageCount:
    """Counts of a language."""

    language: str  # its code
    templates: int  # the package's sentence templates
    used: int  # those that gave a sentence
    wordings: int  # distinct sentences with gaps
    groups: int  # intents with a combination of slots and a domain


@dataclass(frozen=True)
class PairCount:
    """How much two languages share."""

    source: str  # a language's code
    target: str  # the other's
    groups: int  # how many groups both have
    share: float  # the same as a part of the groups of the language with more

    @property
    def is_weak(self) -> bool:
        """Whether they share less than WEAK."""
        return self.share < WEAK

    @property
    def sentence(self) -> str:
        """The weakness in words, for the user."""
        return (
            f"{language_name(self.source)} and {language_name(self.target)} share {self.groups} groups of "
            f"commands, {self.share:.0%} of the larger language's: what is drawn for both is less varied."
        )


@dataclass(frozen=True)
class CommandsReport:
    """Counts of all languages asked for."""

    languages: tuple[LanguageCount, ...]  # a count for each language
    pairs: tuple[PairCount, ...]  # one for each pair of them
    groups: int  # how many groups all of them share

    @property
    def weak(self) -> tuple[PairCount, ...]:
        """The weak pairs, the weakest first."""
        return tuple(sorted((pair for pair in self.pairs if pair.is_weak), key=lambda pair: pair.share))


def commands_report(languages: Sequence[str]) -> CommandsReport:
    """Count what the templates give in each language, and share between each two. Raises DataError as above."""
    codes = ordered(checked_languages(languages))
    groups = {code: language_groups(code) for code in codes}
    usable = {code: _usable(groups[code]) for code in codes}
    counts = (
        LanguageCount(code, one.templates, one.used, sum(map(len, one.wordings.values())), len(usable[code]))
        for code, one in groups.items()
    )
    pairs = []
    for source, target in combinations(codes, 2):
        shared = usable[source] & usable[target] & _chosen([groups[source], groups[target]])
        most = max(len(usable[source]), len(usable[target]), 1)
        pairs.append(PairCount(source, target, len(shared), len(shared) / most))
    every = set.intersection(*usable.values()) & _chosen(list(groups.values()))
    return CommandsReport(tuple(counts), tuple(pairs), len(every))


def _chosen(languages: Sequence[LanguageGroups]) -> set[Group]:
    return {choices.group for choices in shared_choices(languages)}


def _usable(groups: LanguageGroups) -> set[Group]:
    """Return the groups of which the language has a fit sentence for one of the first few meanings."""
    filler = Filler(groups, Roles(groups, 0))
    return {
        choices.group
        for choices in shared_choices([groups])
        if any(
            next(filler.sentences(meaning, "train", 0), None) for meaning in islice(choices.drawn(0), TRIED)
        )
    }
