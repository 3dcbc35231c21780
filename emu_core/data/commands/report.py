"""Counts of the groups that each language and pair of languages has, and which pairs are weak."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from emu_core.data.commands.fill import Filler
from emu_core.data.commands.groups import Group, LanguageGroups, language_groups
from emu_core.data.commands.holdout import Roles
from emu_core.data.commands.meanings import shared_choices
from emu_core.data.commands.vocabulary import checked_languages
from emu_core.data.languages import language_name, ordered

WEAK = 0.75
"""A pair is weak where it shares less than this part of the groups of its larger language."""
TRIED = 6
"""A group counts where one of so many of its meanings has a sentence."""


@dataclass(frozen=True)
class LanguageCount:
    """Counts of a language.

    Attributes:
        language: its code.
        templates: the package's sentence templates.
        used: those that gave a sentence.
        wordings: distinct sentences with gaps.
        groups: intents with a combination of slots and a domain.
    """

    language: str
    templates: int
    used: int
    wordings: int
    groups: int


@dataclass(frozen=True)
class PairCount:
    """How much two languages share.

    Attributes:
        source: a language's code.
        target: the other's.
        groups: how many groups both have.
        share: the same as a part of the groups of the language with more.
    """

    source: str
    target: str
    groups: int
    share: float

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
    """Counts of all languages asked for.

    Attributes:
        languages: a count for each language.
        pairs: one for each pair of them.
        groups: how many groups all of them share.
    """

    languages: tuple[LanguageCount, ...]
    pairs: tuple[PairCount, ...]
    groups: int

    @property
    def weak(self) -> tuple[PairCount, ...]:
        """The weak pairs, the weakest first."""
        return tuple(sorted((pair for pair in self.pairs if pair.is_weak), key=lambda pair: pair.share))


def commands_report(languages: Sequence[str]) -> CommandsReport:
    """Count what the templates give in each language and share between each two of them.

    Raises:
        DataError: the package is missing or a language is unknown.
    """
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
