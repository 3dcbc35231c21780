"""The language of each sentence, detected from its letters."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.data.held_texts import texts_of
from emu_core.data.languages import language_code

_ROUNDS = 20
_SAMPLE, _CHUNK = 5_000, 10_000  # texts for estimating the shares, and texts at a time


def detect_languages(texts: Sequence[str]) -> list[str]:
    """Return the language code of each of N texts.

    A short sentence alone is easily mistaken for a language of no other sentence. Therefore each text's probabilities
    are weighted by the languages' shares, estimated on up to 5,000 of the texts by the EM algorithm of Saerens et al.
    2002, "Adjusting the outputs of a classifier to new a priori probabilities".

    Examples:
        >>> import emu_core
        >>> emu_core.detect_languages(["Where is the pool?", "Wo ist der Pool?"])
        ['en', 'de']
    """
    texts = texts_of(texts)
    if not texts:
        return []
    probabilities = _probabilities(texts[:: -(-len(texts) // _SAMPLE)])
    shares = np.full(probabilities.shape[1], 1 / probabilities.shape[1])  # (languages,)
    for _ in range(_ROUNDS):
        weighted = probabilities * shares
        shares = (weighted / np.maximum(weighted.sum(axis=1, keepdims=True), 1e-30)).mean(axis=0)
    codes = [language_code(label) or label for label in sorted(_identifier().labels)]
    return [
        codes[language_number]
        for start in range(0, len(texts), _CHUNK)
        for language_number in (_probabilities(texts[start : start + _CHUNK]) * shares).argmax(axis=1)
    ]


def _probabilities(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the probabilities of the languages, sorted by label, for each text alone: (N, languages)."""
    ranked = (sorted(_identifier().rank(text)) for text in texts)
    return np.array([[probability for _, probability in row] for row in ranked], dtype=np.float32)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
