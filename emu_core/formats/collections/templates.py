"""Templates of sentences: `(turn|switch) on [the] {lamp}` stands for four, with the slot in each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

MAX_SENTENCES = 50
"""A template stands for at most so many sentences here: more say no more about its intent."""

_MAX_CHARACTERS, _MAX_DEPTH = 2_000, 20
_MARK = re.compile(r"[()\[\]|]|\{[^{}]*\}|[^()\[\]|{]+|\{")
_CLOSING = {"(": ")", "[": "]"}


@dataclass
class _Choice:
    """Alternatives, each a sequence of texts and choices."""

    options: list[list["str | _Choice"]] = field(default_factory=lambda: [[]])

    def count(self) -> int:
        """Return the number of texts that it stands for."""
        return sum(map(_count, self.options))

    def text(self, number: int) -> str:
        """Return one of the texts, by its number."""
        for option in self.options:
            if number < (count := _count(option)):
                return _text(option, number)
            number -= count
        raise IndexError(number)


def _count(parts: Sequence[str | _Choice]) -> int:
    return prod(part.count() for part in parts if isinstance(part, _Choice))


def _text(parts: Sequence[str | _Choice], number: int) -> str:
    pieces = []
    for part in reversed(parts):
        if isinstance(part, _Choice):
            number, rest = divmod(number, part.count())
            pieces.append(part.text(rest))
        else:
            pieces.append(part)
    return "".join(reversed(pieces))


def expanded(template: str) -> tuple[list[str], int]:
    """Return the sentences of a template, and the number of those that are left out.

    Of more than MAX_SENTENCES, that many are taken, evenly from all. A template whose brackets do not pair, or nest too
    deeply, stays as it is.
    """
    choice = _parsed(template)
    if choice is None:
        return [template], 0
    count = choice.count()
    numbers: Iterator[int] = (
        iter(range(count))
        if count <= MAX_SENTENCES
        else (number * count // MAX_SENTENCES for number in range(MAX_SENTENCES))
    )
    sentences = dict.fromkeys(" ".join(choice.text(number).split()) for number in numbers)
    return list(filter(None, sentences)), max(0, count - MAX_SENTENCES)


def _parsed(template: str) -> _Choice | None:
    """Return what a template stands for; None if its brackets can't be read."""
    if len(template) > _MAX_CHARACTERS:
        return None
    stack, opened = [_Choice()], list[str]()
    for mark in _MARK.findall(template):
        if mark in _CLOSING:
            stack.append(
                _Choice([[], []] if mark == "[" else [[]])
            )  # nothing is the first option of a bracket
            opened.append(mark)
        elif opened and mark == _CLOSING[opened[-1]]:
            opened.pop()
            choice = stack.pop()
            stack[-1].options[-1].append(choice)
        elif mark in _CLOSING.values():
            return None
        elif mark == "|":
            stack[-1].options.append([])
        else:
            stack[-1].options[-1].append(mark)
        if len(stack) > _MAX_DEPTH:
            return None
    return stack[0] if not opened else None
