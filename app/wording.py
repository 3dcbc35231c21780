"""Words on the page: text of unknown origin made literal, spans of time in words."""

import re
from collections.abc import Sequence

from emu_core.data.wording import shown

# What Streamlit makes links of even where it is escaped: addresses by their beginning, and those of mail.
_AUTOLINK = re.compile(r":(?=//)|www(?=\.)|@(?=[-\w]+\.\w)", re.IGNORECASE)
_OF_COMMAND = re.compile(r" ?\((?:in the command: |--).*?\)(?=[ .,;]|$)")
_FILE_NAME = re.compile(r"\S*\w\.\w")  # in the first word
_UNSEEN = "\u2060"  # a word joiner: no width, no break
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&\"'/@^=])")


def literal(text: object, limit: int = 2_000) -> str:
    """Return text so that markdown shows it as it is: no link, no picture, no colour, on one line.

    File names, column names, intents and the messages that quote them are other people's; Streamlit reads most of
    what it is given to show as markdown. An address gets a character without width, so that it becomes no link.
    """
    return _MARKDOWN.sub(r"\\\1", _AUTOLINK.sub(rf"\g<0>{_UNSEEN}", shown(text, limit)))


def time_span(seconds: float) -> str:
    """Return "12 s", "3 min", "1 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def sentence(text: object, names: Sequence[str] = ()) -> str:
    """Return an error's message as a sentence of its own: literal, a capital first, a full stop last.

    What it says of the command is left out. A name that it begins with stays as it is: one of `names`, or a file's.
    """
    plain = _OF_COMMAND.sub("", shown(text, 2_000))
    named = _FILE_NAME.match(plain) or plain.startswith(tuple(names))
    whole = plain if named else plain[:1].upper() + plain[1:]
    return literal(whole if whole.endswith((".", "!", "?")) else whole + ".")
