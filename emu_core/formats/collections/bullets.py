"""Lists below headings, as Rasa's Markdown and Microsoft's `.lu` have them, and what is left out of them."""

from emu_core.data.cleaning import BLANKS

NO_BULLET = "lines that are no bullets"
NO_INTENT = "bullets below no heading of an intent"

_BULLETS = ("-", "*", "+")


def bullet(line: str) -> str:
    """Return the text of a line that is a bullet of a list; "" for any other."""
    line = line.strip(BLANKS)
    return line[1:].strip(BLANKS) if line.startswith(_BULLETS) and not is_ruler(line) else ""


def is_underlined(line: str, below: str) -> bool:
    """Return whether a line is a heading by the line below it, which is `---` or `===`."""
    if not below.startswith(("--", "==")) or below.strip(below[0]):
        return False
    return bool(line) and not line.startswith(("#", *_BULLETS))


def is_ruler(line: str) -> bool:
    """Return whether there is nothing in a line but marks of bullets: a ruler, or a bullet without a text."""
    return not line.strip(f"{''.join(_BULLETS)}{BLANKS}")
