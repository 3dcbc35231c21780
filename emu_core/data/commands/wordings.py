"""Sentence templates expanded into wordings: plain text with gaps where slots' values go."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hassil.expression import Expression

DRAWS = 36
"""How often one template is expanded at random; the more, the more of its wordings are found."""
_FIX = "stt_fix"  # Rules for what a speech recogniser mishears: nobody writes so.
_GAP = re.compile("\x02([^\x03]*)\x03")
_LEFT_OVER = re.compile(r"[\[\]{}<>()|;\\]")
_SPACE = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.])")


class UnusableError(Exception):
    """An expansion went where we don't follow; another draw may not."""


@dataclass(frozen=True)
class Gap:
    """A slot's place in a wording."""

    source: str  # the list that its values come from
    slot: str  # the slot that it fills
    lead: str  # what stands before the value and must agree with it, such as "the" or "in"; "" for nothing


@dataclass(frozen=True)
class Wording:
    """One expansion of a template.

    Attributes:
        parts: text and gaps, as they follow each other.
        fixed: slots whose value the wording has by other means than a gap, such as ("volume_step", "up").
        line: the place of its template within its language's file: wordings of one line are much alike.
    """

    parts: tuple[str | Gap, ...]
    fixed: tuple[tuple[str, str], ...]
    line: int

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps, in order."""
        return tuple(part for part in self.parts if isinstance(part, Gap))


class Expander:
    """Draws expansions of one language's templates."""

    def __init__(
        self,
        rules: Mapping[str, str],
        written_out: Mapping[str, Mapping[str, Sequence[str]]],
        replacements: Sequence[tuple[re.Pattern[str], str]] = (),
        led: Callable[[str, str], tuple[str, str]] = lambda text, _: (text, ""),
    ) -> None:
        """Take the language's rules, lists to write out in place, replacements, and how to cut off a lead."""
        self._rules = rules
        self._written_out = written_out
        self._replacements = replacements
        self._led = led
        self._parsed: dict[str, Any] = {}

    def draw(self, template: str, line: int, count: int = DRAWS) -> list[Wording]:
        """Return the distinct usable wordings among `count` random expansions, the same for the same input."""
        rng = random.Random(template)
        expression = self._parse(template)
        found: dict[Wording, None] = {}
        seen: set[str] = set()
        for _ in range(count):
            fixed: dict[str, str] = {}
            try:
                text = self._expand(expression, rng, fixed)
            except UnusableError:
                continue
            if text in seen:
                continue
            seen.add(text)
            text = _SPACE.sub(" ", text)
            for pattern, new in self._replacements:
                text = pattern.sub(new, text)
            wording = _wording(text, fixed, line, self._led)
            if wording:
                found[wording] = None
        return list(found)

    def texts(self, template: str) -> list[str]:
        """Return the texts of a list's entry, such as "(max|maximum)"."""
        if not re.search(r"[(\[<|]", template):
            return [template]
        return sorted({"".join(map(str, wording.parts)) for wording in self.draw(template, 0)})

    def _parse(self, template: str) -> "Expression":
        from hassil.parse_expression import parse_sentence

        if template not in self._parsed:
            self._parsed[template] = parse_sentence(template).expression
        return self._parsed[template]

    def _expand(self, expression: Any, rng: random.Random, fixed: dict[str, str]) -> str:
        # By name, as importing the classes here for each call takes long.
        match type(expression).__name__:
            case "TextChunk":
                text = expression.original_text
            case "Sequence":
                text = "".join([self._expand(item, rng, fixed) for item in expression.items])
            case "Permutation":
                items = rng.sample(expression.items, len(expression.items))
                text = "".join([self._expand(item, rng, fixed) for item in items])
            case "Alternative":
                items = expression.items
                if expression.is_optional:  # Its last item is the empty text, to be drawn half the time.
                    items = items[:-1] if rng.random() < 0.5 else items[-1:]
                text = self._expand(rng.choice(items), rng, fixed)
            case "RuleReference":
                text = self._expand(self._rule(expression.rule_name), rng, fixed)
            case "ListReference":
                text = self._list(expression.list_name, expression.slot_name, rng, fixed)
            case _:
                raise UnusableError
        return text

    def _rule(self, name: str) -> "Expression":
        if name.startswith(_FIX) or name not in self._rules:
            raise UnusableError
        return self._parse(self._rules[name])

    def _list(self, name: str, slot: str, rng: random.Random, fixed: dict[str, str]) -> str:
        if name not in self._written_out:
            return f"\x02{name}:{slot}\x03"
        value, texts = rng.choice(list(self._written_out[name].items()))
        fixed[slot] = value
        return rng.choice(texts)


def _wording(
    text: str, fixed: Mapping[str, str], line: int, led: Callable[[str, str], tuple[str, str]]
) -> Wording | None:
    pieces = _GAP.split(_BEFORE_MARK.sub(r"\1", text).strip())
    parts: list[str | Gap] = []
    for before, gap in zip(pieces[::2], pieces[1::2], strict=False):
        source, _, slot = gap.partition(":")
        text, lead = led(before, source)
        parts += [text, Gap(source, slot, lead)]
    parts = [part for part in (*parts, pieces[-1]) if part]
    slots = [part.slot for part in parts if isinstance(part, Gap)]
    if not parts or len(set(slots)) < len(slots) or not set(slots).isdisjoint(fixed):
        return None
    if any(isinstance(part, str) and _LEFT_OVER.search(part) for part in parts) or _glued(pieces):
        return None
    return Wording(tuple(parts), tuple(sorted(fixed.items())), line)


def _glued(pieces: list[str]) -> bool:
    """Return whether a gap touches a letter: an ending that fits some values only."""
    return any(
        before[-1:].isalnum() or after[:1].isalpha()
        for before, after in zip(pieces[::2], pieces[2::2], strict=False)
    )


def list_words(expander: Expander, lists: Mapping[str, Any], name: str) -> dict[str, list[str]]:
    """Return the texts of a list by its values, which are the same in all languages."""
    words: dict[str, list[str]] = {}
    for entry in lists[name]["values"]:
        # A number gets its list's name, as "2700" and "warm white" are worded differently.
        out = entry["out"]
        key = out if isinstance(out, str) else f"{name}.{out}"
        words.setdefault(key, []).extend(expander.texts(entry["in"]))
    return words
