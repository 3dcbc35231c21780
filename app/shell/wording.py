"""Text for the page: untrusted text made literal, error messages as sentences, times in words."""

import re
from collections.abc import Sequence

from emu_core.data.wording import shown

# Web and mail addresses, which Streamlit makes links of even if they are escaped.
_AUTOLINK = re.compile(r":(?=//)|www(?=\.)|@(?=[-\w]+\.\w)", re.IGNORECASE)
_OF_COMMAND = re.compile(r" ?\((?:in the command: |--).*?\)(?=[ .,;]|$)")
_FILE_NAME = re.compile(r"\S*\w\.\w")  # in the first word
_UNSEEN = "\u2060"  # a word joiner: no width, no break
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&\"'/@^=])")


def literal(text: object, limit: int = 2_000) -> str:
    """Escape text so that markdown shows it as it is, on one line: no link, no picture, no colour.

    File names, column names, intents and the messages that quote them are untrusted, and Streamlit renders most text
    as markdown. A zero-width character keeps an address from becoming a link.
    """
    return _MARKDOWN.sub(r"\\\1", _AUTOLINK.sub(rf"\g<0>{_UNSEEN}", shown(text, limit)))


def time_span(seconds: float) -> str:
    """Return "12 s", "3 min", "1 h 20 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def sentence(text: object, names: Sequence[str] = ()) -> str:
    """Return an error message as a literal sentence with a capital and a full stop.

    Remarks on the command line are left out; a file's name, or one of `names`, at the beginning gets no capital.
    """
    plain = _OF_COMMAND.sub("", shown(text, 2_000))
    named = _FILE_NAME.match(plain) or plain.startswith(tuple(names))
    whole = plain if named else plain[:1].upper() + plain[1:]
    return literal(whole if whole.endswith((".", "!", "?")) else whole + ".")
