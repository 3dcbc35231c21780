"""Groups of wordings that differ only in the values of their gaps, and meanings, which have the values."""

import importlib.util
import math
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from emu_core.data.commands.vocabulary import vocabulary
from emu_core.data.commands.wordings import Expander, Gap, Wording
from emu_core.data.wording import shown
from emu_core.errors import DataError

# The packages of this generator: another release gives other sentences for the same seed.
WANTED = ("home-assistant-intents==2026.10.27", "hassil==3.12.1")
# Intents whose slots can be in different questions (are any, are all, which), which differ in their response.
_ASKING = frozenset({"HassGetState", "HassGetWeather", "HassRespond", "HassClimateGetTemperature"})
_WRITTEN_OUT = ("volume_step",)  # lists whose values are words of the sentence in some languages only
_COMMON = frozenset(
    {"bs_open_states", "fan_mode", "cover_classes", "cover_states", "color", "brightness_level"}
    | {"color_temperature_names", "media_class", "on_off_states", "lock_states"}
)
"""The package's lists that have the same name and values in all languages."""
NUMBERS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(map(str, numbers))
    for kind, numbers in {
        "percent": range(5, 101, 5),
        "percent_up": range(5, 51, 5),
        "percent_down": range(-50, 0, 5),
        "degrees": range(15, 29),
        "kelvin": range(2000, 6501, 100),
        "hours": range(2, 13),
        "minutes": range(2, 60),
        "seconds": range(5, 60),
    }.items()
}
"""The usual numbers of each kind, without 1, with which only some templates agree.

A negative number is written without its sign, in a wording that subtracts."""
_SHUFFLED = 50_000  # the places of a larger group are drawn one by one
PATIENCE = 40  # meanings in succession that a language has no words for, before a group is given up
_OUTER = frozenset(
    {"front_door", "back_door", "side_door", "terrace_door", "garden_gate", "garage_door", "gate", "mailbox"}
)
"""Names that belong to the house and not to one of its rooms."""


@dataclass(frozen=True, order=True)
class Group:
    """The meaning that wordings of any language share, with the same values in their gaps."""

    intent: str  # the package's intent, such as HassTurnOn
    combination: str  # the package's name for the slots in use, such as name_area
    fixed: tuple[tuple[str, str], ...]  # slots with one value for all wordings, such as ("domain", "light")
    asks: str  # the kind of question ("any", "which") of intents that ask; else ""
    slots: tuple[tuple[str, str], ...]  # each gap's slot and kind of values, sorted: ("name", "light")


@dataclass(frozen=True, eq=False)
class LanguageGroups:
    """The wordings of a language."""

    language: str  # its code
    wordings: Mapping[Group, tuple[Wording, ...]]  # the usable wordings of each group
    words: Mapping[str, Mapping[str, Sequence[str]]]  # list of the package -> value -> texts
    templates: int  # the package's templates in this language


def check_installed() -> None:
    """Raise a DataError that names the packages to install, if one is missing."""
    modules = {name: name.partition("==")[0].replace("-", "_") for name in WANTED}
    if missing := [name for name, module in modules.items() if not importlib.util.find_spec(module)]:
        raise DataError(
            f"generating commands needs {' and '.join(missing)}; install with: pip install {' '.join(WANTED)}"
        )


@cache
def language_groups(language: str) -> LanguageGroups:
    """Expand a language's templates. Raises DataError if the package is missing or has no such templates."""
    check_installed()
    from home_assistant_intents import get_intents

    if not (data := get_intents(language)):
        raise DataError(f"there are no sentence templates for language '{shown(language)}'")
    own, lists = vocabulary(language), data["lists"]
    rules = {**data["expansion_rules"], **own.rules}
    expander = Expander(rules, {}, own.replacements)
    package = {name: expander.words(lists, name) for name in lists if "values" in lists[name]}
    words: dict[str, Mapping[str, Sequence[str]]] = {**package, **own.lists}
    written_out = {name: words[name] for name in _WRITTEN_OUT if name in words}
    expander = Expander(rules, written_out, own.replacements, own.cut_lead)

    def kind_of(gap: Gap) -> str | None:
        """Return the kind of a gap's values, the same in all languages; None if its list is not used."""
        source = gap.source
        if scope := lists.get(source, {}).get("range"):
            if scope.get("type") == "percentage":
                return f"percent_{source.rpartition('_')[2]}" if gap.slot == "volume_step" else "percent"
            if scope.get("type") == "temperature":
                return "degrees"
            return "kelvin" if scope["to"] > 1000 else gap.slot.removeprefix("start_")
        is_used = source in own.values or source in own.lists or (source in words and source in _COMMON)
        return source if is_used else None

    templates = [
        (intent, block, template)
        for intent, entry in data["intents"].items()
        for block in entry["data"]
        for template in block["sentences"]
    ]
    found: dict[Group, dict[Wording, None]] = {}
    for line, (intent, block, template) in enumerate(templates, 1):
        for wording in expander.draw(template, line):
            if not any(isinstance(part, str) and part.strip() for part in wording.parts):
                continue  # a bare name, which is only understood by those who know the home
            for group in _groups_of(intent, block, wording, own.values, kind_of):
                found.setdefault(group, {})[wording] = None
    by_group = {group: tuple(wordings) for group, wordings in sorted(found.items())}
    return LanguageGroups(language, by_group, words, len(templates))


def _groups_of(
    intent: str,
    block: Mapping[str, Any],
    wording: Wording,
    known: Collection[str],
    kind_of: Callable[[Gap], str | None],
) -> Iterator[Group]:
    """Yield the groups of a wording: one for each domain of devices that its name may belong to."""
    fixed = {slot: str(value) for slot, value in block.get("slots", {}).items()} | dict(wording.fixed)
    domains = block.get("requires_context", {}).get("domain", [])
    kinds: list[tuple[str, str]] = []
    named = any(gap.source == "name" for gap in wording.gaps)
    for gap in wording.gaps:
        if gap.source != "name":
            kind = kind_of(gap)
            if kind is None or gap.slot in fixed:
                return
            kinds.append((gap.slot, kind))
    combination = block["metadata"]["slot_combination"]
    asks = block["response"] if intent in _ASKING else ""
    for domain in domains if named else [""]:
        slots = [*kinds, ("name", domain)] if named else kinds
        if not named or domain in known:
            yield Group(intent, combination, tuple(sorted(fixed.items())), asks, tuple(sorted(slots)))


@dataclass(frozen=True)
class Meaning:
    """The values of a group's gaps, identified by an id."""

    group: Group
    values: tuple[tuple[str, str], ...]  # each slot's key, the same in all languages

    @cached_property
    def id(self) -> str:
        """The meaning in one word: the same in every language, for every seed and count."""
        group = self.group
        domain = [value for slot, value in group.slots if slot == "name"]
        head = [group.intent, group.combination, *(value for _, value in group.fixed), group.asks, *domain]
        return ".".join(filter(None, head)) + "".join(f"/{slot}={value}" for slot, value in self.values)

    @property
    def makes_sense(self) -> bool:
        """Whether the values fit together: no artist is a film, and 20 minutes cannot be taken off 5."""
        values = dict(self.values)
        if values.get("name") in _OUTER and not {"area", "floor"}.isdisjoint(values):
            return False
        if "media_class" in values and "search_query" in values:
            return values["search_query"].startswith(f"{values['media_class']}.")
        if self.group.intent == "HassDecreaseTimer":
            for unit in ("hours", "minutes", "seconds"):
                if unit in values and f"start_{unit}" in values:
                    return int(values[unit]) < int(values[f"start_{unit}"])
        return True


class Choices:
    """The values of a group's slots for which every given language has words."""

    def __init__(self, group: Group, languages: Sequence[LanguageGroups]) -> None:
        self.group = group
        self._keys: list[Sequence[str]] = []
        for _, kind in group.slots:
            own = [vocabulary(one.language).values.get(kind) or one.words.get(kind, {}) for one in languages]
            self._keys.append(NUMBERS.get(kind) or sorted(set(own[0]).intersection(*own[1:])))
        self.size = math.prod(map(len, self._keys))

    def drawn(self, seed: int) -> Iterator[Meaning]:
        """Yield each of the group's meanings that make sense once, in an order that depends on the seed."""
        for place in _order(self.size, random.Random(f"{seed}/{self.group}")):
            values: list[tuple[str, str]] = []
            rest = place
            for (slot, _), keys in zip(self.group.slots, self._keys, strict=True):
                rest, which = divmod(rest, len(keys))
                values.append((slot, keys[which]))
            meaning = Meaning(self.group, tuple(values))
            if meaning.makes_sense:
                yield meaning


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


def shared_choices(languages: Sequence[LanguageGroups]) -> list[Choices]:
    """Return the groups that all the languages have wordings and words for, sorted."""
    shared = set(languages[0].wordings).intersection(*(groups.wordings for groups in languages[1:]))
    every = (Choices(group, languages) for group in sorted(shared))
    return [choices for choices in every if choices.size]


def take_evenly(shared: Sequence[Choices], count: int, seed: int, take: Callable[[Meaning], bool]) -> int:
    """Offer meanings to `take` until it has taken `count`, and return how many it took.

    Intents have equal shares, and so have the groups of an intent; others make up for small ones.
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
