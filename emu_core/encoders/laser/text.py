"""LASER's text side: from a text to piece ids, by the tokenizer and the BPE of the package laserembeddings.

That tokenizer wants the language: Chinese and Japanese are cut into words by a dictionary, Greek is written in Latin
letters, Korean keeps its syllables together, and each language has its own apostrophe. Where the caller doesn't name
the language, `guess_languages` reads from the script what matters.
"""

import io
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from emu_core.data.scripts import SCRIPTS, count_scripts
from emu_core.encoders.base import TokenIds
from emu_core.encoders.laser.download import PACKAGE
from emu_core.errors import EncoderError

EXTRAS = {"zh": "Chinese", "ja": "Japanese"}  # whose words need a further package, the extra of that name
_LANGUAGE_OF = {
    "Greek": "el",
    "Cyrillic": "ru",
    "Hebrew": "he",
    "Arabic": "ar",
    "Devanagari": "hi",
    "Bengali": "bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Odia": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
}
# A word that lost its vowel before another, in French or Italian: l'eau, qu'il, dell'acqua. English has none of them.
_ELISION = re.compile(
    r"\b(?:(?:[cdjlmnst]|\w*qu|\w*ll|un|aujourd|dov|com)['’´`][aeiouhàâäèéêëìîïòôöùûüœæ]|[jlmnst]['’´`]y)",
    re.IGNORECASE,
)


def guess_languages(texts: Sequence[str]) -> list[str]:
    """Return the language whose tokenizer suits each text, as far as its letters tell.

    Any kana is Japanese, else any Hangul Korean, else any Han character Chinese. Another script counts when most of a
    text's letters are in it. Latin letters are `fr` where a vowel is elided as in French and Italian, else `en`.

    Letters can't tell everything: Japanese without any kana is taken for Chinese, and German, Turkish and others get
    English's rules, which differ for apostrophes and for the dot of an abbreviation or an ordinal number.
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
    """Turns texts into piece ids.

    Attributes:
        codes: the file of BPE merges (`.fcodes`), as it stands.
        vocabulary: the file of pieces and their counts (`.fvocab`), as it stands.
        dictionary: the row of each piece in the table.
    """

    def __init__(self, codes: bytes, vocabulary: bytes, dictionary: Mapping[str, int]) -> None:
        """Raises EncoderError when the package is missing, or ValueError when the three don't belong together."""
        self.codes, self.vocabulary, self.dictionary = codes, vocabulary, dictionary
        self._end, self._unknown = dictionary["</s>"], dictionary["<unk>"]
        if any(line.count(" ") != 2 for line in codes.decode().rstrip("\n").split("\n")):
            raise ValueError("not a file of two pieces and a count in each line")
        try:
            self._bpe = _preprocessing().BPE(_as_file(codes), _as_file(vocabulary))
        except SystemExit:  # the BPE's own library exits on a line that it can't read
            raise ValueError("not a file of BPE codes") from None
        pieces: set[str] = self._bpe.bpe.vocab
        if not pieces or 2 * len(pieces & dictionary.keys()) < len(pieces):
            raise ValueError("a vocabulary of other pieces than the encoder's")

    def token_ids(
        self, texts: Sequence[str], most: int, languages: Sequence[str] | None = None
    ) -> list[TokenIds]:
        """Return piece ids of each text with `</s>` after them, cut to `most`; a language is "" where it is not known.

        Raises:
            EncoderError: a text is in a language whose words are cut by a package that is not installed.
        """
        codes = guess_languages(texts) if languages is None else list(languages)
        if "" in codes:
            codes = [code or guess for code, guess in zip(codes, guess_languages(texts), strict=True)]
        return [self._ids(text, code, most) for text, code in zip(texts, codes, strict=True)]

    def _ids(self, text: str, language: str, most: int) -> TokenIds:
        words = tokenizer(language.partition("-")[0]).tokenize(text)
        pieces = self._bpe.encode_tokens(words).split()[: most - 1]
        return [*(self.dictionary.get(piece, self._unknown) for piece in pieces), self._end]


@lru_cache(maxsize=128)
def tokenizer(language: str) -> Any:
    """Return the package's tokenizer for a language. Raises EncoderError when a package is missing for it."""
    package = _preprocessing()
    try:
        return package.Tokenizer(language)
    except (ImportError, RuntimeError) as error:
        extra = "ja" if language == "ja" else "zh"  # which has the words of Cantonese and Wu too
        raise EncoderError(
            f"the encoder 'laser' finds the words of {EXTRAS[extra]} texts with a package that is not installed: "
            f"pip install '{PACKAGE.replace('==', f'[{extra}]==')}'"
        ) from error


def _preprocessing() -> Any:
    try:
        from laserembeddings import preprocessing
    except ImportError as error:  # the package itself, or transliterate, which it needs for Greek
        raise EncoderError(
            f"the encoder 'laser' needs a package, or a part of it, that is not installed ({error.name}): "
            f"pip install {PACKAGE}"
        ) from error
    return preprocessing


def _as_file(content: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
