"""Hashed words and character n-grams: without a vocabulary, a language needs no preparation."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from zlib import crc32

NO_WORD = 0  # the word bucket of a text without words
MAX_LETTERS = 64  # a longer run without a space is split, which limits the length of words
_CJK = (
    (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip


@dataclass(frozen=True)
class Hashing:
    """The buckets of words and of their character n-grams.

    A word's bucket is 1 + crc32(its UTF-8) mod (words - 1); an n-gram's is crc32(its UTF-8) mod ngrams, with the CRC-32
    of zlib and gzip (ISO 3309). N-grams are those of the word between "<" and ">".
    """

    words: int
    """Buckets of words; bucket 0 is that of a text without words."""
    ngrams: int
    """Buckets of n-grams."""
    shortest: int
    """Characters of the shortest n-grams."""
    longest: int
    """Characters of the longest n-grams; 0 for none."""

    def token_ids(self, text: str, max_tokens: int) -> list[int]:
        """Return the ids of a text's first `max_tokens` words, each followed by those of its n-grams.

        A word's id is its bucket; an n-gram's is its bucket + `words`, so an id below `words` begins a word.
        """
        ids: list[int] = []
        left = max_tokens
        for chunk in unicodedata.normalize("NFKC", text).lower().split():
            for begin in range(0, len(chunk), MAX_LETTERS):
                for word in _chunk_ids(self, chunk[begin : begin + MAX_LETTERS]):
                    if not left:
                        return ids
                    ids += word
                    left -= 1
        return ids or [NO_WORD]

    def word_ids(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word and its n-grams."""
        bucket = 1 + crc32(word.encode("utf-8", "surrogatepass")) % (self.words - 1)
        marked = f"<{word}>"
        grams = (
            marked[begin : begin + length]
            for length in range(self.shortest, self.longest + 1)
            for begin in range(len(marked) - length + 1)
        )
        return (
            bucket,
            *(self.words + crc32(gram.encode("utf-8", "surrogatepass")) % self.ngrams for gram in grams),
        )


def split_words(chunk: str) -> list[str]:
    """Split a text without spaces into words: runs of letters, marks and digits, or any other or CJK character."""
    words: list[str] = []
    for is_run, letters in groupby(chunk, key=_is_joined):
        run = "".join(letters)
        words += [run] if is_run else run
    return words


def _is_joined(letter: str) -> bool:
    is_cjk = any(low <= ord(letter) <= high for low, high in _CJK)
    return unicodedata.category(letter)[0] in "LMN" and not is_cjk


@lru_cache(maxsize=1 << 17)
def _chunk_ids(hashing: Hashing, chunk: str) -> tuple[tuple[int, ...], ...]:
    return tuple(hashing.word_ids(word) for word in split_words(chunk))
