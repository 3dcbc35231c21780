"""Sentence templates, expanded into wordings: plain text with gaps for the values of slots."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hassil.expression import Expression

_EXPANSIONS = 36  # random expansions of a template; more of them give more of its wordings
_MISHEARD = "stt_fix"  # rules for misheard speech, which nobody writes
_GAP = re.compile("\x02([^\x03]*)\x03")
_LEFT_OVER = re.compile(r"[\[\]{}<>()|;\\]")
_SPACE = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r"\s+([,.])")
_Cut = Callable[[str, str], tuple[str, str]]


class UnusableError(Exception):
    """An expansion that cannot be used; another draw of the same template may be usable."""


@dataclass(frozen=True)
class Gap:
    """A slot's place in a wording."""

    source: str  # the list of its values
    slot: str  # the slot that it fills
    lead: str  # what precedes the value and must agree with it, such as "the" or "in"; "" for nothing


@dataclass(frozen=True)
class Wording:
    """One expansion of a template."""

    parts: tuple[str | Gap, ...]  # text and gaps, in order
    fixed: tuple[tuple[str, str], ...]  # slots whose value is not in a gap, such as ("volume_step", "up")
    line: int  # the number of its template in its language; wordings of one template are much alike

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps, in order."""
        return tuple(part for part in self.parts if isinstance(part, Gap))


class Expander:
    """Draws expansions of one language's templates.

    Args:
        rules: the language's expansion rules.
        written_out: lists whose texts become part of the sentence: list -> value -> texts.
        replacements: patterns in the expanded text, and what replaces each.
        cut_lead: splits the text before a word of a list into the text proper and a lead.
    """

    def __init__(
        self,
        rules: Mapping[str, str],
        written_out: Mapping[str, Mapping[str, Sequence[str]]],
        replacements: Sequence[tuple[re.Pattern[str], str]] = (),
        cut_lead: _Cut = lambda text, _: (text, ""),
    ) -> None:
        self._rules, self._written_out = rules, written_out
        self._replacements, self._cut_lead = replacements, cut_lead
        self._parsed: dict[str, Any] = {}

    def draw(self, template: str, line: int, count: int = _EXPANSIONS) -> list[Wording]:
        """Return the distinct usable wordings among `count` random expansions, the same for the same input."""
        rng = random.Random(template)
        expression = self._parse(template)
        wordings: dict[str, Wording | None] = {}
        for _ in range(count):
            fixed: dict[str, str] = {}
            try:
                drawn = self._expand(expression, rng, fixed)
            except UnusableError:
                continue
            if drawn not in wordings:
                text = _SPACE.sub(" ", drawn)
                for pattern, new in self._replacements:
                    text = pattern.sub(new, text)
                wordings[drawn] = _wording(text, fixed, line, self._cut_lead)
        return list(dict.fromkeys(filter(None, wordings.values())))

    def words(self, lists: Mapping[str, Any], name: str) -> dict[str, list[str]]:
        """Return the texts of a list by value; the values are the same in all languages."""
        words: dict[str, list[str]] = {}
        for entry in lists[name]["values"]:
            out, template = entry["out"], entry["in"]
            # A number is prefixed with the list's name, because "2700" and "warm white" are worded differently.
            key = out if isinstance(out, str) else f"{name}.{out}"
            texts = [template]
            if re.search(r"[(\[<|]", template):
                texts = sorted({"".join(map(str, wording.parts)) for wording in self.draw(template, 0)})
            words.setdefault(key, []).extend(texts)
        return words

    def _parse(self, template: str) -> "Expression":
        from hassil.parse_expression import parse_sentence

        if template not in self._parsed:
            self._parsed[template] = parse_sentence(template).expression
        return self._parsed[template]

    def _expand(self, expression: Any, rng: random.Random, fixed: dict[str, str]) -> str:
        # By name, because importing the classes in each call is slow.
        match type(expression).__name__:
            case "TextChunk":
                return str(expression.original_text)
            case "Sequence" | "Permutation" as kind:
                items = expression.items
                if kind == "Permutation":
                    items = rng.sample(items, len(items))
                return "".join([self._expand(item, rng, fixed) for item in items])
            case "Alternative":
                items = expression.items
                if expression.is_optional:  # the last item is the empty text, drawn half of the time
                    items = items[:-1] if rng.random() < 0.5 else items[-1:]
                return self._expand(rng.choice(items), rng, fixed)
            case "RuleReference":
                name = expression.rule_name
                if not name.startswith(_MISHEARD) and name in self._rules:
                    return self._expand(self._parse(self._rules[name]), rng, fixed)
            case "ListReference":
                name, slot = expression.list_name, expression.slot_name
                if name not in self._written_out:
                    return f"\x02{name}:{slot}\x03"
                fixed[slot], texts = rng.choice(list(self._written_out[name].items()))
                return rng.choice(texts)
        raise UnusableError


def _wording(text: str, fixed: Mapping[str, str], line: int, cut_lead: _Cut) -> Wording | None:
    pieces = _GAP.split(_BEFORE_MARK.sub(r"\1", text).strip())  # text and gaps in turn
    parts: list[str | Gap] = []
    for before, gap in zip(pieces[::2], pieces[1::2], strict=False):
        source, _, slot = gap.partition(":")
        text, lead = cut_lead(before, source)
        parts += [text, Gap(source, slot, lead)]
    parts = [part for part in (*parts, pieces[-1]) if part]
    slots = [part.slot for part in parts if isinstance(part, Gap)]
    if not parts or len(set(slots)) < len(slots) or not set(slots).isdisjoint(fixed):
        return None
    if any(isinstance(part, str) and _LEFT_OVER.search(part) for part in parts):
        return None
    # A gap next to a letter has an ending that fits only some of the values.
    if any(
        before[-1:].isalnum() or after[:1].isalpha()
        for before, after in zip(pieces[::2], pieces[2::2], strict=False)
    ):
        return None
    return Wording(tuple(parts), tuple(sorted(fixed.items())), line)
