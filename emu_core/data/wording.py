"""Parts of messages: values from files and users, made safe and short enough to show."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class TextTable(NamedTuple):
    """A table of text. A row may end early: its last cell then spans the other columns."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def shown(value: object, limit: int = 60) -> str:
    """Return `value` as one printable line of at most `limit` characters."""
    text = "".join(char if char.isprintable() else " " for char in str(value)[: limit + 1])
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Return the first `limit` values joined by commas, and the number of others."""
    items = [shown(value, 40) for value in values]
    more = f" and {len(items) - limit} more" if len(items) > limit else ""
    return (", ".join(items[:limit]) or "nothing") + more


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: "1 row", "1,200 rows" (`many` is `one` + "s" by default)."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def pace(sentences_per_s: float) -> str:
    """Return how many sentences a second, after a comma: ", 120 sentences a second"; "" if that is unknown."""
    many = f"{sentences_per_s:,.{0 if sentences_per_s >= 10 else 1}f}"
    return f", {many} sentences a second" if sentences_per_s >= 0.05 else ""


def kind_of(value: object) -> str:
    """Return what a value of Python is: "a dict", "an int", "None", "a sparse csr_matrix"."""
    if value is None:
        return "None"
    name = ("sparse " if hasattr(value, "tocoo") else "") + type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
