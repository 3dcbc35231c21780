"""The language of each sentence, detected from its letters; of some, they tell none."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu_core.data.held_texts import texts_of
from emu_core.data.languages import UNDETERMINED, language_code, language_name, unknown_languages
from emu_core.data.wording import counted, listed

_ROUNDS = 20
_SAMPLE, _CHUNK = 5_000, 10_000  # texts for estimating the shares, and texts at a time
# A language is named from this probability on, and so likely must a text alone be to count for the shares. In 1,000
# sets of the demo set's sentences and of their first one to three words, 2.9 % were named wrongly without it; with it
# 0.13 % are, and a quarter is undetermined, of whole sentences in dozens 2 %. Of 48 greetings, alone and in dozens,
# none is named wrongly.
_LEAST_PROBABILITY = 0.8
_LEAST_OF_ANOTHER = 30  # texts in a language that the encoder does not read
_PRIOR_TEXTS = 5.0  # that are spread over all languages, so that a few texts don't decide


def detect_languages(texts: Sequence[str]) -> list[str]:
    """Return the language code of each of N texts, "und" (undetermined) where its letters don't tell.

    A short sentence alone is easily mistaken for a language of no other sentence. Therefore each text's probabilities
    are weighted by the languages' shares, estimated on those of up to 5,000 of the texts that are telling, by the EM
    algorithm of Saerens et al. 2002, "Adjusting the outputs of a classifier to new a priori probabilities". If no
    language is likely even then, as of "123" or of a greeting among others, the text is undetermined: state its
    language, or leave it out.

    Examples:
        >>> import emu_core
        >>> emu_core.detect_languages(["Where is the pool?", "Wo ist der Pool?", "?"])
        ['en', 'de', 'und']
    """
    texts = texts_of(texts)
    if not texts:
        return []
    shares = _shares(_probabilities(texts[:: -(-len(texts) // _SAMPLE)]))
    codes = [language_code(label) or label for label in sorted(_identifier().labels)]
    found: list[str] = []
    for start in range(0, len(texts), _CHUNK):
        part = texts[start : start + _CHUNK]
        posterior = _normalised(_probabilities(part) * shares)
        is_told = posterior.max(axis=1) >= _LEAST_PROBABILITY
        found += [
            codes[number] if told and any(map(str.isalpha, text)) else UNDETERMINED
            for text, number, told in zip(part, posterior.argmax(axis=1), is_told, strict=True)
        ]
    return found


def detected_or_stated(
    texts: Sequence[str], languages: Sequence[str], known: Collection[str] = ()
) -> tuple[list[str], str]:
    """Return the language of each of N texts, which is detected where none is stated, and a note on that.

    Args:
        texts: N texts.
        languages: their codes, "" where none is stated; none if none is.
        known: the languages that the encoder reads; none if that is not known. Another one that no text states, and
            that is detected of fewer than `_LEAST_OF_ANOTHER`, is a mistake more often than not.

    Returns:
        The codes, "" where none is stated or sure; and the note, "" if all are stated.
    """
    codes = list(languages) or [""] * len(texts)
    rows = [row for row, code in enumerate(codes) if not code]
    if not rows:
        return codes, ""
    found = detect_languages([texts[row] for row in rows])
    counts = Counter(found)
    others = {code for code in unknown_languages(known, counts) if counts[code] < _LEAST_OF_ANOTHER}
    strange = {UNDETERMINED, *others} - set(codes)
    for row, code in zip(rows, found, strict=True):
        codes[row] = "" if code in strange else code
    told = Counter(codes[row] for row in rows)
    unknown = told.pop("", 0)
    named = [f"{language_name(code)} ({count:,})" for code, count in told.most_common()]
    parts = [listed(named, 6)] if named else []
    if unknown:
        parts.append(f"not sure ({unknown:,})")
    return codes, _unstated(rows, f"By their letters: {'; '.join(parts)}")


def unstated_note(languages: Sequence[str]) -> str:
    """Return a note on sentences whose language is neither stated nor detected, "" if there are none."""
    rows = [row for row, code in enumerate(languages) if not code]
    return _unstated(rows, "They are answered as if in that of the labels") if rows else ""


def _unstated(rows: Sequence[int], what: str) -> str:
    return f"The language of {counted(len(rows), 'sentence')} is not stated. {what}. A column `language` states it."


def _shares(probabilities: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the share of each language among N texts, (languages,), of their probabilities, (N, languages)."""
    telling = probabilities[probabilities.max(axis=1) >= _LEAST_PROBABILITY]
    languages = probabilities.shape[1]
    prior = np.full(languages, _PRIOR_TEXTS / languages)
    shares = prior / _PRIOR_TEXTS
    for _ in range(_ROUNDS):
        shares = (_normalised(telling * shares).sum(axis=0) + prior) / (len(telling) + _PRIOR_TEXTS)
    return shares


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-30)


def _probabilities(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the probabilities of the languages, sorted by label, for each text alone: (N, languages)."""
    ranked = (sorted(_identifier().rank(text)) for text in texts)
    return np.array([[probability for _, probability in row] for row in ranked], dtype=np.float32)


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
