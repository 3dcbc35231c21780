"""LASER's tokenizer: from texts to piece ids, by the tokenizer and the BPE of the package laserembeddings.

It needs the language: Chinese and Japanese are split into words by a dictionary, Greek is romanised, Korean keeps its
syllables together, and languages differ in apostrophes. `guess_languages` guesses from the script what matters.
"""

import io
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from emu_core.data.scripts import SCRIPTS, count_scripts
from emu_core.encoders.base import TokenIds
from emu_core.encoders.laser.download import LASER_PACKAGE
from emu_core.errors import EncoderError

EXTRAS = {"zh": "Chinese", "ja": "Japanese"}  # extra of the package -> language whose words need it
_LANGUAGE_OF = {
    "Greek": "el", "Cyrillic": "ru", "Hebrew": "he", "Arabic": "ar", "Devanagari": "hi", "Bengali": "bn",
    "Gurmukhi": "pa", "Gujarati": "gu", "Odia": "or", "Tamil": "ta", "Telugu": "te", "Kannada": "kn",
    "Malayalam": "ml",
}  # fmt: skip
# A word elided before a vowel in French or Italian, but not in English: l'eau, qu'il, dell'acqua.
_ELISION = re.compile(
    r"\b(?:(?:[cdjlmnst]|\w*qu|\w*ll|un|aujourd|dov|com)['’´`][aeiouhàâäèéêëìîïòôöùûüœæ]|[jlmnst]['’´`]y)",
    re.IGNORECASE,
)


def guess_languages(texts: Sequence[str]) -> list[str]:
    """Return the language whose tokenizer suits each text, as far as its letters show.

    Any kana is Japanese, else any Hangul Korean, else any Han character Chinese. Another script counts if it has most
    of a text's letters. Latin letters are `fr` with an elision of French or Italian, else `en`.

    So Japanese without kana is taken for Chinese, and German, Turkish and others get English's rules, which differ in
    apostrophes and in the dots of abbreviations and ordinal numbers.
    """
    counts = count_scripts(texts)  # (N, scripts)
    main = counts.argmax(axis=1)
    seen = {name: counts[:, SCRIPTS.index(name)] > 0 for name in ("Kana", "Hangul", "Han")}
    cjk = np.select([seen["Kana"], seen["Hangul"], seen["Han"]], ["ja", "ko", "zh"], default="")
    return [
        language or _LANGUAGE_OF.get(SCRIPTS[script], "fr" if _ELISION.search(text) else "en")
        for language, script, text in zip(cjk.tolist(), main.tolist(), texts, strict=True)
    ]


class LaserText:
    """Turns texts into piece ids: rows of the table, which `dictionary` has for each piece.

    `codes` is the content of the file of BPE merges (`.fcodes`), `vocabulary` of that of pieces and counts (`.fvocab`).
    """

    def __init__(self, codes: bytes, vocabulary: bytes, dictionary: Mapping[str, int]) -> None:
        """Raises EncoderError if the package is missing, or ValueError if the three do not belong together."""
        self.codes, self.vocabulary, self.dictionary = codes, vocabulary, dictionary
        self._end, self._unknown = dictionary["</s>"], dictionary["<unk>"]
        if any(line.count(" ") != 2 for line in codes.decode().rstrip("\n").split("\n")):
            raise ValueError("not a file of two pieces and a count in each line")
        files = (io.TextIOWrapper(io.BytesIO(content), encoding="utf-8") for content in (codes, vocabulary))
        try:
            self._bpe = _preprocessing().BPE(*files)
        except SystemExit:  # the BPE's own library exits on a line that it can't read
            raise ValueError("not a file of BPE codes") from None
        pieces: set[str] = self._bpe.bpe.vocab
        if not pieces or 2 * len(pieces & dictionary.keys()) < len(pieces):
            raise ValueError("a vocabulary of other pieces than the encoder's")

    def token_ids(
        self, texts: Sequence[str], max_tokens: int, languages: Sequence[str] | None = None
    ) -> list[TokenIds]:
        """Return the piece ids of each text followed by `</s>`, truncated to `max_tokens`; unknown languages are "".

        Raises:
            EncoderError: the words of a language are found by a package that is not installed.
        """
        codes = list(languages) if languages is not None else [""] * len(texts)
        if "" in codes:
            codes = [code or guess for code, guess in zip(codes, guess_languages(texts), strict=True)]
        ids = []
        for text, code in zip(texts, codes, strict=True):
            words = laser_tokenizer(code.partition("-")[0]).tokenize(text)
            pieces = self._bpe.encode_tokens(words).split()[: max_tokens - 1]
            ids.append([*(self.dictionary.get(piece, self._unknown) for piece in pieces), self._end])
        return ids


@lru_cache(maxsize=128)
def laser_tokenizer(language: str) -> Any:
    """Return the package's tokenizer for a language. Raises EncoderError if a package that it needs is missing."""
    package = _preprocessing()
    try:
        return package.Tokenizer(language)
    except (ImportError, RuntimeError) as error:
        extra = "ja" if language == "ja" else "zh"  # which covers Cantonese and Wu too
        raise EncoderError(
            f"the encoder 'laser' finds the words of {EXTRAS[extra]} texts with a package that is not installed: "
            f"pip install '{LASER_PACKAGE.replace('==', f'[{extra}]==')}'"
        ) from error


def _preprocessing() -> Any:
    try:
        from laserembeddings import preprocessing
    except ImportError as error:  # the package itself, or transliterate for Greek
        raise EncoderError(
            f"the encoder 'laser' needs a package, or a part of it, that is not installed ({error.name}): "
            f"pip install {LASER_PACKAGE}"
        ) from error
    return preprocessing
