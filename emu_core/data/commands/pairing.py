"""Which groups several languages share, and how many meanings are drawn from each."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from emu_core.data.commands.groups import Group, LanguageGroups
from emu_core.data.commands.meanings import Choices, Meaning

PATIENCE = 40
"""A group is left when so many of its meanings running find no words in some language."""


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
