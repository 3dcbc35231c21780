"""What stands in the pages of docs/ and in CONTRIBUTING.md: their fenced blocks, and ways to hold them to the truth."""

import ast
import builtins
import re
import textwrap
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import DOCS

_FENCE = re.compile(r"^( *)```(\S+)(.*?)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
# How far a number may be off, since another processor rounds otherwise and a neighbour changes: the larger of a share
# of it and of what fits its column, which is known by the decimals that it is printed with.
RELATIVE = 0.01
ABSOLUTE = {0: 0.0, 1: 0.5, 2: 0.02}  # counts; percentages; shares, cosines and probabilities
ABSOLUTE_OF_MORE = 0.005


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: python, sh, text, diff, ...
        title: the file that it is or changes; "" for none.
        text: what is in it.
        line: where it begins, from 1.
    """

    language: str
    title: str
    text: str
    line: int


def pages() -> list[Path]:
    """Every page of the site."""
    return sorted(DOCS.rglob("*.md"))


def blocks(page: Path) -> list[Block]:
    """The page's fenced blocks, in order."""
    return _fenced(page.read_text("utf-8"))


def _fenced(text: str) -> list[Block]:
    found = []
    for match in _FENCE.finditer(text):
        title = _TITLE.search(match[3])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match[2], title[1] if title else "", match[4], line))
    return found


def undefined_names(text: str) -> list[str]:
    """Return "LINE: NAME" for what the Python on a page reads and no block up to there defines.

    A block whose title is a file's name stands alone. Indented lines are a block if they are Python.
    """
    found, known = [], {*dir(builtins), "__file__"}
    for block in sorted([*_fenced(text), *_indented(text)], key=lambda block: block.line):
        if block.language != "python":
            continue
        bound, read = _names(ast.parse(block.text))
        around = {*dir(builtins), "__file__"} if block.title.endswith(".py") else known
        found += [f"{block.line}: {name}" for name in read if name not in bound | around]
        if around is known:
            known |= bound
    return found


def _indented(text: str) -> list[Block]:
    """Return indented Python outside of fences."""
    outside = _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    found = []
    for match in re.finditer(r"(?<=\n\n)(?: {4}.+\n)+", outside):
        code = textwrap.dedent(match[0])
        with suppress(SyntaxError):
            ast.parse(code)
            found.append(Block("python", "", code, outside.count("\n", 0, match.start()) + 1))
    return found


def _names(tree: ast.AST) -> tuple[set[str], list[str]]:
    """Return the names that code binds anywhere, and those that it reads."""
    bound, read = set[str](), dict[str, None]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Load()):
                read[name] = None
            case (
                ast.Name(name)
                | ast.arg(name)
                | ast.FunctionDef(name)
                | ast.AsyncFunctionDef(name)
                | ast.ClassDef(name)
            ):
                bound.add(name)
            case ast.alias(name, other):
                bound.add((other or name).partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
    return bound, [*read]


def differences(told: str, said: str) -> list[str]:
    """Lines of a page's output that the real output has not, in that order; "..." stands for any lines.

    Words must be the same, columns may be cut at the end, and numbers may be off as their column allows (`tolerance`).
    """
    rest = iter(said.splitlines())
    return [
        line
        for line in told.splitlines()
        if line.strip() not in ("", "...") and not any(_alike(line, real) for real in rest)
    ]


def apply_diff(diff: str, text: str, name: str) -> str:
    """Text after the hunks of a diff, which are found by their lines and not by numbers; one that is done is skipped.

    Raises:
        AssertionError: a hunk's old lines are not there, or are there twice.
    """
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines()
        old = _joined(line[1:] for line in lines if line[:1] != "+")
        new = _joined(line[1:] for line in lines if line[:1] != "-")
        if new in text:
            continue
        assert text.count(old) == 1, f"{name} has these lines {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    return text


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _alike(told: str, real: str) -> bool:
    mine, theirs = told.split(), real.split()
    if len(mine) > len(theirs):
        return False
    return all(_same(a, b) for a, b in zip(mine, theirs, strict=False))


def _same(told: str, real: str) -> bool:
    if _NUMBER.sub("#", told) != _NUMBER.sub("#", real):
        return False
    pairs = zip(_NUMBER.findall(told), _NUMBER.findall(real), strict=True)
    return all(abs(_value(a) - _value(b)) <= tolerance(a) + 1e-9 for a, b in pairs)


def tolerance(told: str) -> float:
    """How far the real number may be from a number of a page."""
    decimals = len(told.partition(".")[2])
    return max(ABSOLUTE.get(decimals, ABSOLUTE_OF_MORE), RELATIVE * abs(_value(told)))


def _value(number: str) -> float:
    return float(number.replace(",", ""))
