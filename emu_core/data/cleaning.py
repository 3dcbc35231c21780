"""Texts stripped of blanks, texts made comparable, and a hash of texts."""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

# Spaces of every width, zero included, and marks of direction, of which nothing is seen at the ends of a text.
BLANKS = (
    " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff\xad\u061c\u180e\u200c\u200d\u200e\u200f\u202a"
    "\u202b\u202c\u202d\u202e\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u3164\uffa0"
)


HALF = "half a character (a lone surrogate)"
"""What a str may hold, and nothing can write or encode."""


def holds_half(text: str) -> bool:
    """Return whether a text holds `HALF` of one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def stripped(values: "pd.Series[str]") -> "pd.Series[str]":
    """Return the series as strings, each as `clean` returns it; "" for a missing value."""
    texts = values.astype("str").fillna("").str.strip(BLANKS)
    return texts.mask(texts.str.fullmatch(_NOTHING_SEEN.pattern), "")


def clean(texts: Iterable[str]) -> list[str]:
    """Return the texts without blanks of any kind at either end, and "" for a text of nothing but invisible marks."""
    return [cleaned(text) for text in texts]


def cleaned(text: str) -> str:
    """Return a text as `clean` does."""
    text = text.strip(BLANKS)
    return "" if _NOTHING_SEEN.fullmatch(text) else text


# Controls, zero-width and bidi marks, fillers and variation selectors; not the tags that distinguish regional flags.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef]"
)


_NOTHING_SEEN = re.compile(rf"({_INVISIBLE.pattern}|[{BLANKS}])*")


# The same but for joiners and non-joiners where they shape letters, as in Persian and Hindi, or join pictures.
_INVISIBLE_IN_NAMES = re.compile(
    f"(?!(?<=[\u0590-\U0010ffff])[\u200c\u200d](?=[\u0590-\U0010ffff])){_INVISIBLE.pattern}"
)


def normalised(texts: Iterable[str]) -> list[str]:
    """Return the `normal_form` of each text."""
    return [normal_form(text) for text in texts]


def normal_form(text: str) -> str:
    """Return the form that two texts have in common if they are the same sentence.

    They are the same if they differ only in case, width, composition, blanks of any kind, and invisible marks. There is
    no other rule: whatever drops repeats, or keeps them together, compares this form.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.casefold().split())
    # NFKC brings forth invisible fillers; case folding decomposes letters, and gives the Turkish I two dots.
    folded = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold().replace("i\u0307", "i")
    if not unicodedata.is_normalized("NFKC", folded):
        folded = unicodedata.normalize("NFKC", folded)
    return " ".join(folded.split())


def as_seen(name: str) -> str:
    """Return a name without what no one sees in it: composition, kinds and number of blanks, and invisible marks."""
    if name.isascii() and name.isprintable():
        return " ".join(name.split())
    return " ".join(_INVISIBLE_IN_NAMES.sub("", unicodedata.normalize("NFC", name)).split())


def whole_numbers(names: Iterable[str]) -> dict[str, str]:
    """Return the names that are whole numbers with a decimal point, each with the number as an integer: 1.0 is 1.

    A column of numbers with gaps is often read as 1.0, 2.0, or written as 1,0 in languages with a decimal comma. Where
    there is 1.1, they are numbers of sections, and none is returned.
    """
    plain = {name: name if name.isascii() else unicodedata.normalize("NFKC", name) for name in names}
    numbers = {
        name: found
        for name, number in plain.items()
        if ("." in number or "," in number) and (found := _DECIMAL.fullmatch(number))
    }
    whole = {name: found["whole"] for name, found in numbers.items() if _NO_FRACTION.fullmatch(found["rest"])}
    return whole if len(whole) == len(numbers) else {}


_DECIMAL = re.compile(r"(?P<whole>-?[0-9]+)(?P<rest>[.,][0-9]+)")
_NO_FRACTION = re.compile(r"\.0+|,0")  # 1,000 is a thousand


def texts_hash(prefix: bytes, *columns: Sequence[str]) -> str:
    """Return the SHA-256 of a prefix and columns of texts, the same on every machine."""
    digest = hashlib.sha256(prefix)
    for texts in columns:
        # The lengths keep different lists from joining to the same bytes.
        digest.update(np.fromiter(map(len, texts), dtype="<i8", count=len(texts)).tobytes())
        digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Return a value within a list or an object as one that JSON has: NumPy's as Python's, others as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


_MAX_WHOLE_NUMBER = 1e16  # a larger float is not exact


_MIDNIGHT = "T00:00:00"


def cell_text(value: object) -> str:
    """Return the text of a typed cell, whatever format it comes from.

    Numbers are written as short as possible ("1" for 1.0), booleans in lower case, times as ISO 8601 and midnight as
    its day, lists and objects as JSON; None and what is not a number are "".
    """
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float | Decimal) and math.isnan(value)):
        return ""
    if isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    if isinstance(value, Decimal):
        return str(int(value) if value == value.to_integral_value() else value.normalize())
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_WHOLE_NUMBER:
        value = int(value)
    if isinstance(value, date | time):  # a workbook can't tell a day from its midnight
        return value.isoformat().removesuffix(_MIDNIGHT)
    return str(value)
