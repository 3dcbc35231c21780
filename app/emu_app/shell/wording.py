"""Text for the page: untrusted text made literal, error messages as sentences, times in words."""

import re
from collections.abc import Sequence
from functools import cache

from emu_core.data.wording import shown
from emu_core.errors import Call, EmuError, Message, Named, in_words, value_words
from emu_core.methods.registry import methods
from emu_core.settings import infos

# Web and mail addresses, which Streamlit makes links of even if they are escaped.
_AUTOLINK = re.compile(r":(?=//)|www(?=\.)|@(?=[-\w]+\.\w)", re.IGNORECASE)
_FILE_NAME = re.compile(r"\S*\w\.\w")  # in the first word
_UNSEEN = "\u2060"  # a word joiner: no width, no break
# The labels of options that are no hyper-parameters.
CONTROLS = {
    "drop_empty": "Leave out pairs with an empty side",
    "encoder": "Encoder",
    "format": "Format",
    "hold_out": "Held out, percent",
    "intent_column": "Intent",
    "language": "Language of the sentences",
    "languages": "Languages of files that don't state theirs",
    "nli": "Inference pairs",
    "out": "Name of the run",
    "seeds": "Seeds",
    "snapshots": "Keep sentences in the run",
    "text_column": "Sentence",
    "train_languages": "Labels in",
    "unlabelled": "Sentences without labels in",
}
_CALLS = {
    "forgetting": "the tab Forgetting",
    "pretrain": "the page Pretrain",
    "resume": "Resume",
    "train": "the page Train",
}
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
    """Return an error, or its message, as a literal sentence with a capital and a full stop.

    A file's name, or one of `names`, at the beginning gets no capital.
    """
    plain = shown(worded(text), 2_000)
    named = _FILE_NAME.match(plain) or plain.startswith(tuple(names))
    whole = plain if named else plain[:1].upper() + plain[1:]
    return literal(whole if whole.endswith((".", "!", "?")) else whole + ".")


def worded(text: object) -> str:
    """Return a text, a message or an error with the app's names for options and functions."""
    message = text.message if isinstance(text, EmuError) else text
    return message.worded(in_app) if isinstance(message, Message) else str(text)


def in_app(named: Named) -> str:
    """Return an option or a function as the pages name it: set Batch size to 32, the page Train.

    What no page offers is named as the command or a text would.
    """
    if isinstance(named, Call):
        return _CALLS.get(named.function) or in_words(named)
    label, value = label_of(named.option), value_words(named)
    if not label:
        return in_words(named)
    return f"set {label} to {value[0]}" if value else label


@cache
def _labels() -> dict[str, str]:
    settings = (info for method in reversed([*methods().values()]) for info in infos(method.settings))
    return {info.name: info.label for info in settings} | CONTROLS


def label_of(option: str) -> str:
    """Return an option's label on the forms; "" if no form has it."""
    return _labels().get(option, "")
