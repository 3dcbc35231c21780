"""Values of decoded JSON and YAML in the shape that is expected; of any other shape, as if they were not there."""

from typing import Any


def mapping(value: object) -> dict[str, Any]:
    """Return an object; {} for anything else."""
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[Any]:
    """Return a list; [] for anything else."""
    return value if isinstance(value, list) else []


def sentences(value: object) -> list[Any]:
    """Return a list, and a single text as a list of one; [] for anything else."""
    return [value] if isinstance(value, str) else listing(value)


def objects(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list."""
    return [item for item in listing(value) if isinstance(item, dict)]


def text_of(value: object) -> str:
    """Return a text, or a number as one; "" for anything else."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def position(value: object) -> int:
    """Return the number of a character, also where it is written as text; -1, outside of every text, for no number."""
    if isinstance(value, bool):
        return -1
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) else -1
