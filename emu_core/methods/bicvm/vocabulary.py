"""BiCVM's vocabulary: the words of each language."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Self

from emu_core.data.languages import ordered

# An elided word keeps its apostrophe (d' hommes). Chinese and Japanese have no spaces: each character is a word.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+(?:'(?=\w))?"
    r"|[^\w\s]"
)
UNSEEN = 0.5  # the count of an unknown word, in the language with the longest text


def words(text: str) -> list[str]:
    """Return the lower-cased words of a text, in order."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).replace("’", "'").lower())


@dataclass(frozen=True)
class Vocabulary:
    """Numbered words of several languages; a word of two languages has two numbers ("distinct encodings")."""

    counts: Mapping[str, Mapping[str, int]]
    """Each word's count in the training text of its language. Words are numbered in this order, from 1."""

    @classmethod
    def of(cls, texts: Mapping[str, Iterable[str]], min_count: int = 1) -> Self:
        """Count the words in sentences by language; those with `min_count` stay, the most frequent first."""
        row_of_word = {}
        for language in ordered(texts):
            counts = Counter(chain.from_iterable(map(words, texts[language])))
            by_count = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
            row_of_word[language] = {word: count for word, count in by_count if count >= min_count}
        return cls(row_of_word)

    @classmethod
    def parse(cls, content: Any) -> Self:
        """Return the vocabulary with `counts` from JSON. Raises ValueError for anything else."""
        if not (
            isinstance(content, dict)
            and content
            and all(isinstance(counts, dict) and counts for counts in content.values())
            and all(type(n) is int and n > 0 for counts in content.values() for n in counts.values())
        ):
            raise ValueError("not words with their counts, by language")
        return cls(content)

    def __len__(self) -> int:
        return sum(map(len, self.counts.values()))

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes, in order of the numbers."""
        return tuple(self.counts)

    @cached_property
    def starts(self) -> dict[str, int]:
        """The number of each language's first word."""
        starts = accumulate(map(len, self.counts.values()), initial=1)
        return dict(zip(self.counts, starts, strict=False))  # the last is the end

    def guess(self, sentence: Sequence[str]) -> str:
        """Return the language in whose training text a sentence's words are most likely, the first among equals.

        An unknown word costs the same in every language.
        """
        return max(self.languages, key=lambda language: sum(self._log_share(language, w) for w in sentence))

    def ids(self, sentence: Sequence[str], language: str) -> list[int]:
        """Return the numbers of those words of a sentence that the language has."""
        known = self._ids[language]
        return [known[word] for word in sentence if word in known]

    @cached_property
    def _ids(self) -> dict[str, dict[str, int]]:
        return {
            language: {word: number for number, word in enumerate(counts, start=self.starts[language])}
            for language, counts in self.counts.items()
        }

    @cached_property
    def _totals(self) -> dict[str, int]:
        return {language: sum(counts.values()) for language, counts in self.counts.items()}

    def _log_share(self, language: str, word: str) -> float:
        count = self.counts[language].get(word)
        if count is None:
            return math.log(UNSEEN / max(self._totals.values()))
        return math.log(count / self._totals[language])
