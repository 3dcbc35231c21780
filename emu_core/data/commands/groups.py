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

# Exact releases, because another one gives other sentences for the same seed.
COMMAND_PACKAGES = ("home-assistant-intents==2026.10.27", "hassil==3.12.1")
# Intents whose slots can be in different questions (are any, are all, which), which differ in their response.
_NAME_LIST = "name"  # the list of the names of devices, whose values are ours, by the device's domain
_ASKING_INTENTS = frozenset({"HassGetState", "HassGetWeather", "HassRespond", "HassClimateGetTemperature"})
_WRITTEN_OUT_LISTS = ("volume_step",)  # their values are words of the sentence in some languages only
_COMMON_LISTS = frozenset(
    {"bs_open_states", "fan_mode", "cover_classes", "cover_states", "color", "brightness_level"}
    | {"color_temperature_names", "media_class", "on_off_states", "lock_states"}
)
"""The package's lists that have the same name and values in all languages."""
NUMBERS_BY_KIND: Mapping[str, tuple[str, ...]] = {
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
_MAX_SHUFFLED = 50_000  # the meanings of a larger group are drawn one by one
_MAX_REFUSED = 40  # a group is given up after so many meanings in succession that a language has no words for
_OUTDOOR_NAMES = frozenset(
    {"front_door", "back_door", "side_door", "terrace_door", "garden_gate", "garage_door", "gate", "mailbox"}
)
"""Names that belong to the house and not to one of its rooms."""


@dataclass(frozen=True, order=True)
class Group:
    """The meaning that wordings of any language share, with the same values in their gaps.

    Its meanings are drawn with a seed that contains its representation: another name would give other commands.
    """

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
    modules = {package: package.partition("==")[0].replace("-", "_") for package in COMMAND_PACKAGES}
    if missing := [package for package, module in modules.items() if not importlib.util.find_spec(module)]:
        raise DataError(
            f"generating commands needs {' and '.join(missing)}; install with: pip install {' '.join(COMMAND_PACKAGES)}"
        )


@cache
def language_groups(language: str) -> LanguageGroups:
    """Expand a language's templates into groups of wordings.

    First the package's lists and rules are joined with our own words, which replace them. Then every template is
    expanded at random, and each distinct wording goes into all groups that its gaps allow.

    Raises:
        DataError: the package is missing or has no such templates.
    """
    check_installed()
    from home_assistant_intents import get_intents

    if not (data := get_intents(language)):
        raise DataError(f"there are no sentence templates for language '{shown(language)}'")
    our_words, lists = vocabulary(language), data["lists"]
    rules = {**data["expansion_rules"], **our_words.rules}
    expander = Expander(rules, {}, our_words.replacements)
    package_words = {name: expander.words(lists, name) for name in lists if "values" in lists[name]}
    words: dict[str, Mapping[str, Sequence[str]]] = {**package_words, **our_words.lists}
    written_out = {name: words[name] for name in _WRITTEN_OUT_LISTS if name in words}
    expander = Expander(rules, written_out, our_words.replacements, our_words.cut_lead)
    usable = {*our_words.values, *our_words.lists, *_COMMON_LISTS.intersection(words)}

    templates = [
        (intent, block, template)
        for intent, entry in data["intents"].items()
        for block in entry["data"]
        for template in block["sentences"]
    ]
    wordings_by_group: dict[Group, dict[Wording, None]] = {}
    for line, (intent, block, template) in enumerate(templates, 1):
        for wording in expander.draw(template, line):
            if not any(isinstance(part, str) and part.strip() for part in wording.parts):
                continue  # a bare name, which is only understood by those who know the home
            kind_by_slot = [
                (gap.slot, _kind_of(gap, lists.get(gap.source, {}).get("range"), usable))
                for gap in wording.gaps
                if gap.source != _NAME_LIST
            ]
            for group in _groups_of(intent, block, wording, kind_by_slot, our_words.values):
                wordings_by_group.setdefault(group, {})[wording] = None
    wordings = {group: tuple(distinct) for group, distinct in sorted(wordings_by_group.items())}
    return LanguageGroups(language, wordings, words, len(templates))


def _kind_of(gap: Gap, scope: Mapping[str, Any] | None, usable_lists: Collection[str]) -> str | None:
    """Return the kind of a gap's values, the same in all languages; None if its list is not used.

    Args:
        gap: the gap of a value, not of a name.
        scope: the range of the numbers that its list stands for, if they are numbers.
        usable_lists: the other lists that may be used.
    """
    if not scope:
        return gap.source if gap.source in usable_lists else None
    if scope.get("type") == "percentage":
        return f"percent_{gap.source.rpartition('_')[2]}" if gap.slot == "volume_step" else "percent"
    if scope.get("type") == "temperature":
        return "degrees"
    return "kelvin" if scope["to"] > 1000 else gap.slot.removeprefix("start_")


def _groups_of(
    intent: str,
    block: Mapping[str, Any],
    wording: Wording,
    kind_by_slot: Sequence[tuple[str, str | None]],
    domains_with_names: Collection[str],
) -> Iterator[Group]:
    """Yield the groups of a wording: one for each domain of devices that its name may belong to.

    There is none if the values of a gap are of no usable kind, or if its slot has a fixed value already.
    """
    fixed = {slot: str(value) for slot, value in block.get("slots", {}).items()} | dict(wording.fixed)
    slots: list[tuple[str, str]] = []
    for slot, kind in kind_by_slot:
        if kind is None or slot in fixed:
            return
        slots.append((slot, kind))
    combination = block["metadata"]["slot_combination"]
    asks = block["response"] if intent in _ASKING_INTENTS else ""
    fixed_slots = tuple(sorted(fixed.items()))
    if not any(gap.source == _NAME_LIST for gap in wording.gaps):
        yield Group(intent, combination, fixed_slots, asks, tuple(sorted(slots)))
        return
    for domain in block.get("requires_context", {}).get("domain", []):
        if domain in domains_with_names:
            slots_and_name = sorted([*slots, ("name", domain)])
            yield Group(intent, combination, fixed_slots, asks, tuple(slots_and_name))


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
        if values.get("name") in _OUTDOOR_NAMES and not {"area", "floor"}.isdisjoint(values):
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
        self._keys_by_slot: list[Sequence[str]] = []
        for _, kind in group.slots:
            words_by_language = [
                vocabulary(language.language).values.get(kind) or language.words.get(kind, {})
                for language in languages
            ]
            shared_keys = set(words_by_language[0]).intersection(*words_by_language[1:])
            self._keys_by_slot.append(NUMBERS_BY_KIND.get(kind) or sorted(shared_keys))
        self.size = math.prod(map(len, self._keys_by_slot))

    def drawn(self, seed: int) -> Iterator[Meaning]:
        """Yield each of the group's meanings that make sense once, in an order that depends on the seed.

        Each meaning has a number, whose digits, in a base for each slot, are the slots' values.
        """
        for number in _shuffled(self.size, random.Random(f"{seed}/{self.group}")):
            values: list[tuple[str, str]] = []
            digits = number
            for (slot, _), keys in zip(self.group.slots, self._keys_by_slot, strict=True):
                digits, digit = divmod(digits, len(keys))
                values.append((slot, keys[digit]))
            meaning = Meaning(self.group, tuple(values))
            if meaning.makes_sense:
                yield meaning


def _shuffled(size: int, rng: random.Random) -> Iterator[int]:
    """Yield each number below `size` once, in random order, without holding all of many in memory."""
    if size <= _MAX_SHUFFLED:
        yield from rng.sample(range(size), size)
        return
    drawn: set[int] = set()
    while len(drawn) < size:
        number = rng.randrange(size)
        if number not in drawn:
            drawn.add(number)
            yield number


def shared_choices(languages: Sequence[LanguageGroups]) -> list[Choices]:
    """Return the groups that all the languages have wordings and words for, sorted."""
    shared = set(languages[0].wordings).intersection(*(groups.wordings for groups in languages[1:]))
    all_choices = (Choices(group, languages) for group in sorted(shared))
    return [choices for choices in all_choices if choices.size]


def take_evenly(shared: Sequence[Choices], count: int, seed: int, take: Callable[[Meaning], bool]) -> int:
    """Offer meanings to `take` until it has taken `count`, and return how many it took.

    In each round the missing meanings are divided among the intents, and an intent's share among its groups. A group
    that can't fill its share is closed, and what it lacks is divided among the others in the next round.
    """
    open_groups: dict[str, dict[Group, Iterator[Meaning]]] = defaultdict(dict)
    for choices in shared:
        open_groups[choices.group.intent][choices.group] = choices.drawn(seed)
    taken = 0
    while open_groups and taken < count:
        intent_share = -(-(count - taken) // len(open_groups))
        for intent, groups in list(open_groups.items()):
            group_share = -(-intent_share // len(groups))
            left = intent_share
            for group, meanings in list(groups.items()):
                wanted = min(group_share, left, count - taken)
                group_taken = _take(meanings, wanted, take)
                if group_taken < wanted:
                    del groups[group]
                taken += group_taken
                left -= group_taken
            if not groups:
                del open_groups[intent]
    return taken


def _take(meanings: Iterator[Meaning], wanted: int, take: Callable[[Meaning], bool]) -> int:
    """Offer a group's next meanings until `wanted` are taken, and return how many were.

    It ends early after the last meaning, or after `_MAX_REFUSED` in succession that were not taken.
    """
    taken = refused = 0
    while taken < wanted and refused < _MAX_REFUSED and (meaning := next(meanings, None)):
        if take(meaning):
            taken, refused = taken + 1, 0
        else:
            refused += 1
    return taken
