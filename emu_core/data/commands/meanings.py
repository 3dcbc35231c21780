"""Meanings: a group with one value, the same in all languages, for each of its slots."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from emu_core.data.commands.groups import Group, LanguageGroups
from emu_core.data.commands.vocabulary import vocabulary

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


@dataclass(frozen=True)
class Meaning:
    """The meaning that one id stands for.

    Attributes:
        group: what its wordings share.
        values: each slot's key, the same in all languages.
    """

    group: Group
    values: tuple[tuple[str, str], ...]

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
