"""Wordings held out from training, which only sentences of the dev and test splits have."""

import random
from collections import defaultdict
from collections.abc import Iterable

from emu_core.data.commands.groups import Group, LanguageGroups
from emu_core.data.commands.wordings import Gap, Wording

SPLITS = ("train", "dev", "test")
SHARE = 10
"""One template in so many is held out for dev, another for test."""
ENOUGH = 5
"""With fewer templates, wordings are held out instead; with fewer wordings, none."""

_Parts = tuple[str | Gap, ...]


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
