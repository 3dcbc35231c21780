"""The names of intents as text: what they say of the sentences that nobody has labelled yet."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from emu_core.evaluation.arrays import Encode, Vectors, unit_vectors

SENTENCE = "This sentence is about {}"
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


def name_vectors(
    encode: Encode, intents: Sequence[str], descriptions: Mapping[str, str] | None = None
) -> dict[str, Vectors]:
    """Return the vector (d,) of each intent that has a text, see `name_texts`.

    That of a name is the mean of its words and of a sentence with them, as encoders know sentences better than words:
    Radford et al. (2021) put the names of classes into captions. A description is taken as it is.
    """
    texts = name_texts(intents, descriptions)
    if not texts:
        return {}
    alone = [intent for intent in texts if not (descriptions or {}).get(intent, "").strip()]
    vectors = unit_vectors(encode([*texts.values(), *(SENTENCE.format(texts[name]) for name in alone)]))
    of_names = dict(zip(texts, vectors, strict=False))
    in_sentences = dict(zip(alone, vectors[len(texts) :], strict=True))
    return {
        name: (of + in_sentences[name]) / 2 if name in in_sentences else of for name, of in of_names.items()
    }


def have_letters(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each text has a letter, (N,): blanks, digits and signs have no intent."""
    return np.array([any(map(str.isalpha, text)) for text in texts], dtype=bool)
