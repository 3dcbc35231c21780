"""Groups of wordings with the same meaning but for the values in their gaps: intent, combination and domain."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
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
    """Return the templates of a language as the package has them: `intents`, `lists`, `expansion_rules`.

    Raises:
        DataError: the package is missing or has no templates in this language.
    """
    check_installed()
    from home_assistant_intents import get_intents

    data = get_intents(language)
    if not data:
        raise DataError(f"there are no sentence templates for language '{shown(language)}'")
    return MappingProxyType(data)


@cache
def language_groups(language: str) -> LanguageGroups:
    """Expand a language's templates, the same whatever else is asked.

    Raises:
        DataError: the package is missing or has no templates in this language.
    """
    data, own = package_file(language), vocabulary(language)
    rules = {**data["expansion_rules"], **own.rules}
    expander = Expander(rules, {}, own.replacements)
    package = {name: list_words(expander, data["lists"], name) for name in _lists(data)}
    words: dict[str, Mapping[str, Sequence[str]]] = {**package, **own.lists}
    written_out = {name: words[name] for name in _WRITTEN_OUT if name in words}
    expander = Expander(rules, written_out, own.replacements, own.cut_lead)
    ranges = {name: entry["range"] for name, entry in data["lists"].items() if "range" in entry}
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


def _lists(data: Mapping[str, Any]) -> list[str]:
    return [name for name, entry in data["lists"].items() if "values" in entry]


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
