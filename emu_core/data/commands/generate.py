"""Slot-annotated commands in several languages, paired by meaning and reproducible by seed, and their counts."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice, pairwise
from operator import itemgetter
from typing import TypedDict

import pandas as pd

from emu_core.data.cleaning import normal_form
from emu_core.data.commands.groups import (
    NUMBERS_BY_KIND,
    Group,
    LanguageGroups,
    Meaning,
    language_groups,
    shared_choices,
    take_evenly,
)
from emu_core.data.commands.vocabulary import checked_languages, split_article, vocabulary
from emu_core.data.commands.wordings import Gap, Wording
from emu_core.data.languages import language_name, ordered
from emu_core.data.sets import LABELLED_COLUMNS, LabelledSet
from emu_core.data.wording import counted, listed
from emu_core.errors import DataError

_SET_NAME = "commands"
_MAX_TRIES = 40  # a meaning is given up after so many wordings in a language
_PLACE_LEADS = frozenset({"in", "on", "at"})  # a word may have a text of its own for them ("on the terrace")
_TEMPLATES_PER_HELD_OUT = 10  # one template in ten is held out for dev, another for test
_MIN_TO_HOLD_OUT = 5  # with fewer templates, wordings are held out; with fewer wordings, nothing is
_MIN_SHARED_GROUPS = 0.75  # a pair of languages that shares less of the larger language's groups is weak
_MEANINGS_TRIED = 6  # a group counts if one of its first six meanings has a sentence
_Parts = tuple[str | Gap, ...]
_Sentence = tuple[str, str]  # the text, and the text with each slot in brackets


class Filler:
    """Words meanings in one language.

    For each intent and combination, a tenth of the templates (at least one if there are five; else a tenth of the
    wordings) is held out for dev and as much for test; every group keeps some for train. Sentences of dev and test are
    drawn from these half of the time, else from train's.
    """

    def __init__(self, groups: LanguageGroups, seed: int) -> None:
        self.language, self._groups, self._seed = groups.language, groups, seed
        self._vocabulary = vocabulary(groups.language)
        by_use: dict[tuple[str, str], list[Group]] = defaultdict(list)
        for group in groups.wordings:
            by_use[group.intent, group.combination].append(group)
        # Group and split -> number of a template -> its wordings that only this split has.
        self.lines: dict[tuple[Group, str], dict[int, list[Wording]]]
        self.lines = defaultdict(lambda: defaultdict(list))
        for use, members in by_use.items():
            rng = random.Random(f"{seed}/{groups.language}/{use}")
            held_out = _held_out([groups.wordings[group] for group in members], rng)
            for group in members:
                for wording in groups.wordings[group]:
                    split = held_out.get(wording.parts, "train")
                    self.lines[group, split][wording.line].append(wording)

    def sentences(self, meaning: Meaning, split: str) -> Iterator[_Sentence]:
        """Yield suitable sentences for a meaning, always the same ones."""
        rng = random.Random(f"{self._seed}/{self.language}/{meaning.id}")
        for trial in range(_MAX_TRIES):
            lines = self.lines[meaning.group, split]
            if not lines or (split != "train" and rng.random() < 0.5):
                lines = self.lines[meaning.group, "train"]
            wordings_of_template = rng.choice(list(lines.values()))
            wording = rng.choice(wordings_of_template)
            if sentence := self._filled(wording, meaning, rng, strict=trial < _MAX_TRIES // 2):
                yield sentence

    def _filled(
        self, wording: Wording, meaning: Meaning, rng: random.Random, *, strict: bool
    ) -> _Sentence | None:
        """Return a wording with its values; None if it is odd, or if `strict` and a word lacks its lead."""
        kinds, keys = dict(meaning.group.slots), dict(meaning.values)
        subject = self._subject(meaning)
        plain = annotated = ""
        for part in wording.parts:
            if isinstance(part, str):
                plain += part
                annotated += part
                continue
            kind = kinds[part.slot]
            if strict and plain and not part.lead and kind in self._vocabulary.needy:
                return None
            lead = "asked" if part.lead == "the" and meaning.group.asks else part.lead
            before, text = self._text(kind, keys[part.slot], lead, subject, rng)
            if not text:
                return None
            plain += before + text
            annotated += f"{before}[{part.slot} : {text}]"
        # A spreadsheet program may take a text that begins with a sign for a formula.
        if not plain[:1].isalnum() or self._vocabulary.is_odd(meaning.group.intent, plain):
            return None
        repeats = any(word == following for word, following in pairwise(plain.casefold().split()))
        return None if repeats else (plain, annotated)

    def _subject(self, meaning: Meaning) -> str:
        """Return the article of the subject, with which states agree."""
        words, values, kinds = self._vocabulary, dict(meaning.values), dict(meaning.group.slots)
        if "name" in values and kinds["name"] in words.values:
            return words.values[kinds["name"]][values["name"]].article
        if "device_class" in values and kinds["device_class"] in words.lists:
            texts = words.lists[kinds["device_class"]][values["device_class"]]
            return split_article(texts[0], words.leads["the"])[0]
        return words.subjects.get(dict(meaning.group.fixed).get("domain", ""), "")

    def _text(self, kind: str, key: str, lead: str, subject: str, rng: random.Random) -> tuple[str, str]:
        """Return what precedes a value, with its lead, and the value's text, "" if it has none."""
        words = self._vocabulary
        if kind in NUMBERS_BY_KIND:
            article, text = "", key.removeprefix("-")
        elif kind in words.values:
            word = words.values[kind][key]
            if word.placed and lead in _PLACE_LEADS:
                return word.placed
            article, text = word.article, word.text
        else:
            text = rng.choice(self._groups.words[kind][key])
            if ":" in text:
                text = dict(form.split(":") for form in text.split("/")).get(subject, "")
            article, text = split_article(text, words.leads.get("the", ()))
        return (words.leads[lead].get(article, "") if lead else ""), text


def _held_out(groups: Sequence[Sequence[Wording]], rng: random.Random) -> dict[_Parts, str]:
    """Return the split of each wording that is not for train."""
    all_parts: dict[_Parts, int] = {}
    for wording in chain.from_iterable(groups):
        all_parts.setdefault(wording.parts, wording.line)
    lines = sorted(set(all_parts.values()))
    units: list[list[_Parts]] = [[parts] for parts in all_parts]
    if len(lines) >= _MIN_TO_HOLD_OUT:
        units = [[parts for parts, line in all_parts.items() if line == template] for template in lines]
    elif len(all_parts) < _MIN_TO_HOLD_OUT:
        return {}
    rng.shuffle(units)
    wanted = ["dev", "test"] * max(1, len(units) // _TEMPLATES_PER_HELD_OUT)
    left = [{wording.parts for wording in group} for group in groups]
    held_out: dict[_Parts, str] = {}
    for unit in units:
        if wanted and all(parts_left.difference(unit) for parts_left in left):
            left = [parts_left.difference(unit) for parts_left in left]
            held_out.update(dict.fromkeys(unit, wanted.pop()))
    return held_out


def generate_commands(languages: Sequence[str], count: int, *, seed: int = 0) -> LabelledSet:
    """Return `count` commands, each once in every language, with their slots annotated.

    An id is a meaning: the intent, the slots in use, and each slot's value in no language (`area=kitchen`). The
    meanings depend on all the languages, since each must have wordings and words for them; the expansions of a
    language's templates, and those held out for dev and test, depend on that language and the seed alone. Of ten
    meanings, eight are train, one is dev and one is test; a meaning without slots is always train. No two ids of a
    language have the same text.

    Args:
        languages: codes or names, at least one.
        count: number of meanings; the set has `count` rows in each language.
        seed: the same languages, count and seed give the same set, on any machine.

    Raises:
        DataError: the package is missing, a language is unknown, `count` is less than 1 or more than the
            templates give in these languages.
    """
    if count < 1:
        raise DataError(f"{count} commands can't be generated; ask for 1 or more")
    codes = checked_languages(languages)
    groups = [language_groups(code) for code in codes]
    fillers = [Filler(language, seed) for language in groups]
    taken: dict[str, set[str]] = {code: set() for code in codes}
    rows: list[tuple[str, ...]] = []

    def add(meaning: Meaning) -> bool:
        """Add a meaning's rows, unless a language has no sentence left for it."""
        drawn = random.Random(f"{seed}/{meaning.id}").random()
        split = "train" if drawn < 0.8 or not meaning.values else "dev" if drawn < 0.9 else "test"
        chosen: dict[str, _Sentence] = {}
        for filler in fillers:
            sentences = filler.sentences(meaning, split)
            taken_texts = taken[filler.language]
            sentence = next((new for new in sentences if normal_form(new[0]) not in taken_texts), None)
            if sentence is None:
                return False
            chosen[filler.language] = sentence
        for language, (text, annotated) in chosen.items():
            taken[language].add(normal_form(text))
            rows.append((meaning.id, text, meaning.group.intent, language, split, annotated))
        return True

    available = take_evenly(shared_choices(groups), count, seed, add)
    if available < count:
        raise DataError(
            f"the templates give {counted(available, 'meaning')} in {listed(codes, len(codes))}, not {count:,}; "
            "ask for fewer or for other languages"
        )
    frame = pd.DataFrame(rows, columns=list(LABELLED_COLUMNS), dtype="str")
    frame = frame.sort_values(["language", "id"], kind="stable", ignore_index=True)
    return LabelledSet(frame, _SET_NAME)


class LanguageCounts(TypedDict):
    """The counts of a language's templates."""

    language: str
    templates: int
    used: int
    wordings: int
    groups: int


class SharedGroups(TypedDict):
    """The counts that the templates of two languages share."""

    source: str
    target: str
    groups: int
    share: float


class CommandsReport(TypedDict):
    """The result of `commands_report`, which explains the keys."""

    groups: int
    languages: list[LanguageCounts]
    pairs: list[SharedGroups]
    weak: list[str]


def commands_report(languages: Sequence[str]) -> CommandsReport:
    """Count what the templates give in each language and in every two. Raises DataError as `generate_commands`.

    Returns:
        `groups`, the number of groups (intents with a combination of slots and a domain) that all languages share;
        of each of `languages`, the package's `templates`, those `used`, which gave a sentence, its `wordings` (distinct
        sentences with gaps) and `groups`; of each of `pairs`, the `groups` that `source` and `target` share, and their
        `share` of the larger language's; and `weak`, a sentence for the user about each pair that shares too little,
        the weakest first.
    """
    codes = ordered(checked_languages(languages))
    groups = {code: language_groups(code) for code in codes}
    usable = {}
    for code, language in groups.items():
        filler = Filler(language, 0)
        usable[code] = {
            choices.group
            for choices in shared_choices([language])
            if any(
                any(filler.sentences(meaning, "train"))
                for meaning in islice(choices.drawn(0), _MEANINGS_TRIED)
            )
        }

    def shared(*languages: str) -> int:
        shared_groups = {choices.group for choices in shared_choices([groups[code] for code in languages])}
        return len(shared_groups.intersection(*(usable[code] for code in languages)))

    counts: list[LanguageCounts] = [
        {
            "language": code,
            "templates": language.templates,
            "used": len({wording.line for wordings in language.wordings.values() for wording in wordings}),
            "wordings": sum(map(len, language.wordings.values())),
            "groups": len(usable[code]),
        }
        for code, language in groups.items()
    ]
    pairs: list[SharedGroups] = []
    weak = []
    for source, target in combinations(codes, 2):
        count = shared(source, target)
        share = count / max(1, len(usable[source]), len(usable[target]))
        pairs.append({"source": source, "target": target, "groups": count, "share": share})
        if share < _MIN_SHARED_GROUPS:
            sentence = (
                f"{language_name(source)} and {language_name(target)} share {count} groups of commands, {share:.0%} of "
                "the larger language's, so their common commands are less varied."
            )
            weak.append((share, sentence))
    sentences = [sentence for _, sentence in sorted(weak, key=itemgetter(0))]
    return {"groups": shared(*codes), "languages": counts, "pairs": pairs, "weak": sentences}
