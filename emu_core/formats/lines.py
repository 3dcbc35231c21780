"""The lines of a text, the same for every format of lines: where they end, and what is seen of them."""

import re

from emu_core.data.cleaning import BLANKS

_MARK = "\ufeff"
_MARKS = re.compile(f"(?:\\A|(?<=[\r\n])){_MARK}+")
# A tab separates cells, of which those at the ends may be empty.
_UNSEEN = "".join(blank for blank in BLANKS if blank not in "\t\n")

BLANK = f"[\t{re.escape(_UNSEEN)}]"
"""The pattern of a blank within a line, which no eye tells from another: a no-break space as well as a space."""


def without_marks(text: str) -> str:
    """Return a text without byte order marks where lines begin, as they are in files that were joined."""
    return _MARKS.sub("", text) if _MARK in text else text


def with_line_feeds(text: str) -> str:
    r"""Return a text whose lines all end in "\n", whatever ended them: "\r\n", "\n" or "\r"."""
    if "\r" not in text:
        return text
    # Twice "\r" is what Windows makes of "\r\n" that is written as text.
    return text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text without their ends, and without blanks before and after them, but for tabs.

    U+2028 and its like end no line, unlike in `str.splitlines`: they are in the middle of sentences.
    """
    return [line.strip(_UNSEEN) for line in with_line_feeds(text).split("\n")]


def seen_lines_of(text: str) -> list[str]:
    """Return the lines of a text without cells: without all blanks before and after them, also tabs."""
    return [line.strip(BLANKS) for line in lines_of(text)]


def without_blocks(text: str, begin: str, end: str, instead: str = "") -> str:
    """Return a text without what is between `begin` and the pattern `end`, of any number of lines, and without these.

    What begins and does not end stays.
    """
    pieces, at, ends = [], 0, re.compile(end)
    while (start := text.find(begin, at)) >= 0 and (stop := ends.search(text, start + len(begin))):
        pieces += [text[at:start], instead]
        at = stop.end()
    return "".join([*pieces, text[at:]])


def without_comments(text: str) -> str:
    """Return a text without the comments of HTML and Markdown, `<!-- ... -->`, which may also end in `--!>`."""
    return without_blocks(text, "<!--", "--!?>")
