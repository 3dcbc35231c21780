"""Groups of wordings with the same meaning but for the values in their gaps, and meanings, which have the values."""

import importlib.util
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

from emu_core.data.commands.vocabulary import Vocabulary, vocabulary
from emu_core.data.commands.wordings import Expander, Wording, list_words
from emu_core.data.wording import shown
from emu_core.errors import DataError

WANTED = ("home-assistant-intents==2026.10.27", "hassil==3.12.1")
"""The packages of this generator: another release gives other sentences for the same seed."""
_MODULES = ("home_assistant_intents", "hassil")
_ASKING = frozenset({"HassGetState", "HassGetWeather", "HassRespond", "HassClimateGetTemperature"})
"""Intents where the same slots ask different things (are any, are all, which), distinguished by their response."""
_WRITTEN_OUT = ("volume_step",)
"""Lists whose values are words of the sentence in some languages and a list in others."""
_COMMON = frozenset(
    {"bs_open_states", "fan_mode", "cover_classes", "cover_states", "color", "brightness_level"}
    | {"color_temperature_names", "media_class", "on_off_states", "lock_states"}
)
"""The package's lists of words that have the same name and values in all languages."""
NUMBERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "percent": tuple(map(str, range(5, 101, 5))),
        "percent_up": tuple(map(str, range(5, 51, 5))),
        "percent_down": tuple(map(str, range(-50, 0, 5))),
        "degrees": tuple(map(str, range(15, 29))),
        "kelvin": tuple(map(str, range(2000, 6501, 100))),
        "hours": tuple(map(str, range(2, 13))),
        "minutes": tuple(map(str, range(2, 60))),
        "seconds": tuple(map(str, range(5, 60))),
    }
)
"""The numbers we draw, by kind: those that people use; 1 is left out, since only some templates agree with it.

A number less than 0 is written without its sign, in a wording that subtracts."""
_SHUFFLED = 50_000
PATIENCE = 40
"""A group is left when so many of its meanings running find no words in some language."""
_OUTER = frozenset(
    {"front_door", "back_door", "side_door", "terrace_door", "garden_gate", "garage_door", "gate", "mailbox"}
)
"""Names that belong to the house and not to one of its rooms."""


@dataclass(frozen=True, order=True)
class Group:
    """The properties that wordings share, in any language, to mean the same with the same values in their gaps.

    Attributes:
        intent: the package's intent, such as HassTurnOn.
        combination: the package's name for the slots in use, such as name_area.
        fixed: slots with one value for the whole group, such as ("domain", "light").
        asks: what is asked, for intents that ask ("any", "which"); else "".
        slots: each gap's slot with the kind of its values, sorted, such as ("name", "light").
    """

    intent: str
    combination: str
    fixed: tuple[tuple[str, str], ...]
    asks: str
    slots: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class LanguageGroups:
    """A language's wordings.

    Attributes:
        language: its code.
        wordings: the usable wordings of each group.
        words: the texts of the package's lists: list -> value -> texts.
        templates: how many templates the package has in this language.
        used: how many of them gave a wording.
    """

    language: str
    wordings: Mapping[Group, tuple[Wording, ...]]
    words: Mapping[str, Mapping[str, Sequence[str]]]
    templates: int
    used: int


def check_installed() -> None:
    """Raise a DataError that names the packages to install, where one is missing."""
    missing = [
        name for name, module in zip(WANTED, _MODULES, strict=True) if not importlib.util.find_spec(module)
    ]
    if missing:
        raise DataError(
            f"generating commands needs {' and '.join(missing)}; install with: pip install {' '.join(WANTED)}"
        )


@cache
def package_file(language: str) -> Mapping[str, Any]:
    """Return a language's templates as the package has them. Raises DataError where it is missing or has none."""
    check_installed()
    from home_assistant_intents import get_intents

    data = get_intents(language)
    if not data:
        raise DataError(f"there are no sentence templates for language '{shown(language)}'")
    return MappingProxyType(data)


@cache
def language_groups(language: str) -> LanguageGroups:
    """Expand a language's templates, the same whatever else is asked. Raises DataError as `package_file` does."""
    data, own = package_file(language), vocabulary(language)
    rules = {**data["expansion_rules"], **own.rules}
    expander = Expander(rules, {}, own.replacements)
    lists = data["lists"]
    package = {name: list_words(expander, lists, name) for name in lists if "values" in lists[name]}
    words: dict[str, Mapping[str, Sequence[str]]] = {**package, **own.lists}
    written_out = {name: words[name] for name in _WRITTEN_OUT if name in words}
    expander = Expander(rules, written_out, own.replacements, own.cut_lead)
    ranges = {name: entry["range"] for name, entry in lists.items() if "range" in entry}
    found: dict[Group, dict[Wording, None]] = {}
    used = line = 0
    for intent, block, template in _templates(data):
        line += 1
        seen = False
        for wording in expander.draw(template, line):
            if _is_bare(wording):
                continue
            for group in _groups_of(intent, block, wording, own, ranges, words):
                seen = True
                found.setdefault(group, {})[wording] = None
        used += seen
    by_group = {group: tuple(wordings) for group, wordings in sorted(found.items())}
    return LanguageGroups(language, by_group, words, line, used)


def _templates(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    for intent, entry in data["intents"].items():
        for block in entry["data"]:
            for template in block["sentences"]:
                yield intent, block, template


def _is_bare(wording: Wording) -> bool:
    """Return whether a wording is a name and at most an article, which only those who know the home understand."""
    return not any(isinstance(part, str) and part.strip() for part in wording.parts)


def _groups_of(
    intent: str,
    block: Mapping[str, Any],
    wording: Wording,
    own: Vocabulary,
    ranges: Mapping[str, Mapping[str, Any]],
    words: Mapping[str, Any],
) -> Iterator[Group]:
    """Yield the groups a wording belongs to: one for each domain of device that its name may be of."""
    fixed = {slot: str(value) for slot, value in block.get("slots", {}).items()} | dict(wording.fixed)
    domains = block.get("requires_context", {}).get("domain", [])
    kinds: list[tuple[str, str]] = []
    named = False
    for gap in wording.gaps:
        if gap.source == "name":
            named = True
            continue
        kind = _kind(gap.source, gap.slot, own, ranges, words)
        if kind is None or gap.slot in fixed:
            return
        kinds.append((gap.slot, kind))
    combination = block["metadata"]["slot_combination"]
    asks = block["response"] if intent in _ASKING else ""
    for domain in domains if named else [""]:
        slots = [*kinds, ("name", domain)] if named else kinds
        if not named or domain in own.values:
            yield Group(intent, combination, tuple(sorted(fixed.items())), asks, tuple(sorted(slots)))


def _kind(
    source: str,
    slot: str,
    own: Vocabulary,
    ranges: Mapping[str, Mapping[str, Any]],
    words: Mapping[str, Any],
) -> str | None:
    """Return the kind of a list's values, the same in all languages; None where it is no list of ours."""
    if source in ranges:
        scope = ranges[source]
        if scope.get("type") == "percentage":
            return f"percent_{source.rpartition('_')[2]}" if slot == "volume_step" else "percent"
        if scope.get("type") == "temperature":
            return "degrees"
        return "kelvin" if scope["to"] > 1000 else slot.removeprefix("start_")
    if source in own.values or source in own.lists:
        return source
    return source if source in words and source in _COMMON else None


@dataclass(frozen=True)
class Meaning:
    """The meaning that one id stands for."""

    group: Group  # what its wordings share
    values: tuple[tuple[str, str], ...]  # each slot's key, the same in all languages

    @cached_property
    def id(self) -> str:
        """The meaning in one word: the same in every language, for every seed and count."""
        group = self.group
        domain = [value for slot, value in group.slots if slot == "name"]
        head = [group.intent, group.combination, *(value for _, value in group.fixed), group.asks, *domain]
        return ".".join(filter(None, head)) + "".join(f"/{slot}={value}" for slot, value in self.values)


class Choices:
    """The values of a group's slots that every asked language has words for."""

    def __init__(self, group: Group, languages: Sequence[LanguageGroups]) -> None:
        """Find them."""
        self.group = group
        self._keys = [_shared(kind, languages) for _, kind in group.slots]
        self.size = math.prod(map(len, self._keys))

    def drawn(self, seed: int) -> Iterator[Meaning]:
        """Yield the group's meanings, each once, in an order that depends on the seed."""
        rng = random.Random(f"{seed}/{self.group}")
        for place in _order(self.size, rng):
            meaning = self._at(place)
            if _makes_sense(meaning):
                yield meaning

    def _at(self, place: int) -> Meaning:
        values: list[tuple[str, str]] = []
        for (slot, _), keys in zip(self.group.slots, self._keys, strict=True):
            place, which = divmod(place, len(keys))
            values.append((slot, keys[which]))
        return Meaning(self.group, tuple(values))


def _shared(kind: str, languages: Sequence[LanguageGroups]) -> tuple[str, ...]:
    if kind in NUMBERS:
        return NUMBERS[kind]
    own = [vocabulary(groups.language).values.get(kind) or groups.words.get(kind, {}) for groups in languages]
    return tuple(sorted(set(own[0]).intersection(*own[1:])))


def _order(size: int, rng: random.Random) -> Iterator[int]:
    if size <= _SHUFFLED:
        yield from rng.sample(range(size), size)
        return
    seen: set[int] = set()
    while len(seen) < size:
        place = rng.randrange(size)
        if place not in seen:
            seen.add(place)
            yield place


def _makes_sense(meaning: Meaning) -> bool:
    """Return whether the values go together: an artist is no film, 20 minutes can't be taken off 5."""
    values = dict(meaning.values)
    if values.get("name") in _OUTER and not {"area", "floor"}.isdisjoint(values):
        return False
    if "media_class" in values and "search_query" in values:
        return values["search_query"].startswith(f"{values['media_class']}.")
    if meaning.group.intent == "HassDecreaseTimer":
        for unit in ("hours", "minutes", "seconds"):
            if unit in values and f"start_{unit}" in values:
                return int(values[unit]) < int(values[f"start_{unit}"])
    return True


def shared_choices(languages: Sequence[LanguageGroups]) -> list[Choices]:
    """Return the groups that all the languages have wordings and words for, sorted."""
    shared = set(languages[0].wordings).intersection(*(groups.wordings for groups in languages[1:]))
    every = (Choices(group, languages) for group in sorted(shared))
    return [choices for choices in every if choices.size]


def take_evenly(shared: Sequence[Choices], count: int, seed: int, take: Callable[[Meaning], bool]) -> int:
    """Offer meanings to `take` until it has taken `count`, and return how many it took.

    Intents share alike, and so do the groups of an intent; what a small one can't give goes to the others.
    """
    open_groups: dict[str, dict[Group, Iterator[Meaning]]] = defaultdict(dict)
    for choices in shared:
        open_groups[choices.group.intent][choices.group] = choices.drawn(seed)
    taken = 0
    while open_groups and taken < count:
        by_intent = -(-(count - taken) // len(open_groups))
        for intent, groups in list(open_groups.items()):
            by_group = -(-by_intent // len(groups))
            left = by_intent
            for group, meanings in list(groups.items()):
                wanted = min(by_group, left, count - taken)
                got = refused = 0
                while got < wanted and refused < PATIENCE and (meaning := next(meanings, None)):
                    refused = 0 if take(meaning) else refused + 1
                    got += not refused
                if got < wanted:
                    del groups[group]
                taken += got
                left -= got
            if not groups:
                del open_groups[intent]
    return taken
