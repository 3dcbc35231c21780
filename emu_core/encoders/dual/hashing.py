"""From text to hashed words and character n-grams: no vocabulary, so a language needs no preparation."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

NO_WORD = 0  # the word bucket of a text without words
MAX_LETTERS = 64  # a longer run without a space is cut; so no text has a word without bounds
_CJK = (
    (0x3040, 0x30FF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),
)  # fmt: skip


@dataclass(frozen=True)
class Hashing:
    """The buckets of words and of their character n-grams.

    A word's bucket is 1 + crc32(its UTF-8) mod (words - 1); an n-gram's is crc32(its UTF-8) mod ngrams. CRC-32 is that
    of zlib and gzip (ISO 3309), so every machine and process finds the same buckets. N-grams are those of the word
    between "<" and ">".

    Attributes:
        words: buckets of words; bucket 0 is that of a text without words.
        ngrams: buckets of n-grams.
        shortest: characters of the shortest n-grams.
        longest: of the longest; 0 for no n-grams.
    """

    words: int
    ngrams: int
    shortest: int
    longest: int

    def token_ids(self, text: str, max_tokens: int) -> list[int]:
        """Return ids of a text's first `max_tokens` words, each followed by those of its n-grams.

        A word's id is its bucket, an n-gram's is its bucket + `words`: an id below `words` begins a word.
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
        """Return ids of one word and its n-grams."""
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
    """Split a text without spaces into runs of letters, marks and digits; any other character, and CJK's, is a word."""
    words: list[str] = []
    joins = False
    for letter in chunk:
        goes_on = unicodedata.category(letter)[0] in "LMN" and not _is_cjk(letter)
        if goes_on and joins:
            words[-1] += letter
        else:
            words.append(letter)
        joins = goes_on
    return words


def _is_cjk(letter: str) -> bool:
    return any(low <= ord(letter) <= high for low, high in _CJK)


@lru_cache(maxsize=1 << 17)
def _chunk_ids(hashing: Hashing, chunk: str) -> tuple[tuple[int, ...], ...]:
    return tuple(hashing.word_ids(word) for word in split_words(chunk))
