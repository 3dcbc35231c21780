"""The names of intents as text: what they say of the sentences that nobody has labelled yet."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_PARTS = re.compile(r"[\s_\-/.:]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def name_texts(intents: Sequence[str], descriptions: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the text of each intent that has one: its description, or else the words of its name.

    Names are split at `_ - / . :` and in camelCase; words that all names share are left out, such as the prefix of
    HassTurnOn and HassTurnOff. A name without letters, such as "17", says nothing.

    Args:
        intents: the intents.
        descriptions: sentences that describe some of them, in any language; "" for none.
    """
    words = {intent: _CAMEL.sub(" ", _PARTS.sub(" ", intent)).lower().split() for intent in intents}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set()
    texts = {
        intent: " ".join(word for word in of_name if word not in shared) or " ".join(of_name)
        for intent, of_name in words.items()
    }
    texts |= {intent: text for intent, text in (descriptions or {}).items() if text.strip()}
    return {intent: text for intent, text in texts.items() if have_letters([text])[0]}


def have_letters(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each text has a letter, (N,): blanks, digits and signs have no intent."""
    return np.array([any(map(str.isalpha, text)) for text in texts], dtype=bool)
