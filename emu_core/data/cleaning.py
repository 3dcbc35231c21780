"""Texts stripped of blanks, texts made comparable, and a hash of texts."""

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

# Spaces of every width, zero included: a cell of nothing else is empty.
BLANKS = (
    " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff"
)


def stripped(values: "pd.Series[str]") -> "pd.Series[str]":
    """Return the series as strings without blanks of any kind at either end; "" for a missing value."""
    return values.astype("str").fillna("").str.strip(BLANKS)


def clean(texts: Sequence[str]) -> list[str]:
    """Return the texts without blanks of any kind at either end."""
    return [text.strip(BLANKS) for text in texts]


def normalised(texts: Iterable[str]) -> list[str]:
    """Return the texts, equal if they differ in nothing but case, width, composition and spacing."""
    return [" ".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in texts]


def texts_hash(prefix: bytes, *columns: Sequence[str]) -> str:
    """Return the SHA-256 of a prefix and columns of texts, the same on every machine."""
    digest = hashlib.sha256(prefix)
    for texts in columns:
        # The lengths keep different lists from joining to the same bytes.
        digest.update(np.fromiter(map(len, texts), dtype="<i8", count=len(texts)).tobytes())
        digest.update("".join(texts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
