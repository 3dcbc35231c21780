"""The words that BiCVM knows, each language has its own."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Self

from emu_core.data.languages import ordered

# An elided word keeps its apostrophe (d' hommes). Chinese and Japanese have no spaces: each character is a word.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+(?:'(?=\w))?"
    r"|[^\w\s]"
)
UNSEEN = 0.5  # how often an unknown word is taken to have been seen, in the longest text


def words(text: str) -> list[str]:
    """Return the words of a text, lower-cased, in their order."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).replace("’", "'").lower())


@dataclass(frozen=True)
class Vocabulary:
    """Words of several languages with a number each: the same word in two languages has two ("distinct encodings").

    Attributes:
        counts: of each language, how often each word stands in the training text. Numbers rise in this order, from 1;
            0 is no word.
    """

    counts: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, texts: Mapping[str, Iterable[str]], min_count: int = 1) -> Self:
        """Count the words that stand at least `min_count` times in a language's sentences, the most frequent first."""
        return cls(
            {
                language: {
                    word: count
                    for word, count in sorted(
                        Counter(chain.from_iterable(map(words, texts[language]))).items(),
                        key=lambda entry: (-entry[1], entry[0]),
                    )
                    if count >= min_count
                }
                for language in ordered(texts)
            }
        )

    @classmethod
    def parse(cls, content: Any) -> Self:
        """Take `counts` as JSON has it. Raises ValueError when it is something else."""
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
        """The codes, in the order of the numbers."""
        return tuple(self.counts)

    @cached_property
    def starts(self) -> dict[str, int]:
        """The number of each language's first word."""
        starts, at = {}, 1
        for language, counts in self.counts.items():
            starts[language], at = at, at + len(counts)
        return starts

    def guess(self, sentence: Sequence[str]) -> str:
        """Return the language in which a sentence's words are likeliest, each by its share of the training text.

        An unknown word costs the same in every language. Of equals, and of no word at all, the first language.
        """
        return max(self.languages, key=lambda language: sum(self._log_share(language, w) for w in sentence))

    def ids(self, sentence: Sequence[str], language: str) -> list[int]:
        """Return numbers of a sentence's words; those that the language doesn't have are left out."""
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
