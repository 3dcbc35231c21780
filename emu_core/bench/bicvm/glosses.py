"""Which word of another language a word most likely is, counted in parallel text; and documents glossed by it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from emu_core.data.parallel.text import ParallelText
from emu_core.encoders.bicvm.vocabulary import words

MOST_PAIRS = 50_000
MOST_WORDS = 2_000  # of the training documents, the most frequent: the classifier's features


@dataclass(frozen=True)
class Gloss:
    """A word's translation and how sure it is: Dice's coefficient of the sentences that hold the two, 0 to 1."""

    word: str
    dice: float


def glosses(text: ParallelText) -> dict[str, Gloss]:
    """The likeliest translation of every word of the text's first language.

    It is the word of the second language with the highest Dice coefficient 2 n(a, b) / (n(a) + n(b)), where n counts
    sentence pairs; of equals the more frequent one.

    Args:
        text: of it the first 50,000 pairs are counted.
    """
    sides = text.first[:MOST_PAIRS], text.second[:MOST_PAIRS]
    (own, first), (others, second) = (_incidence(side) for side in sides)
    together = csr_array(first.T @ second).tocoo()
    n_first, n_second = (np.asarray(counts.sum(axis=0)).ravel() for counts in (first, second))
    rows, columns = together.coords
    dice = 2 * together.data / (n_first[rows] + n_second[columns])
    order = np.lexsort((-n_second[columns], -dice, rows))
    best = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
    return {own[rows[i]]: Gloss(others[columns[i]], float(dice[i])) for i in best.tolist()}


def frequencies(sentences: Sequence[str]) -> Counter[str]:
    """In how many sentences each word stands, the most frequent first when asked for `most_common`."""
    return Counter(word for sentence in sentences for word in dict.fromkeys(words(sentence)))


def bags(
    train: Sequence[str], test: Sequence[str], translate: dict[str, Gloss]
) -> tuple[NDArray[np.float64], ...]:
    """Documents as shares of words of the training documents' language: those to train on, and glossed ones to test.

    Args:
        train: documents of the language trained on.
        test: documents of another.
        translate: from the other language to the one trained on; words without a gloss are left out.

    Returns:
        (train, words) and (test, words).
    """
    known = [word for word, _ in Counter(w for text in train for w in words(text)).most_common(MOST_WORDS)]
    place = {word: i for i, word in enumerate(known)}

    def bag(sentences: list[list[str]]) -> NDArray[np.float64]:
        counts = np.zeros((len(sentences), len(known)))
        for row, own in enumerate(sentences):
            for word in own:
                if word in place:
                    counts[row, place[word]] += 1
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))

    glossed = [[translate[word].word for word in words(text) if word in translate] for text in test]
    return bag([words(text) for text in train]), bag(glossed)


def _incidence(sentences: Sequence[str]) -> tuple[list[str], csr_array]:
    """The words, and whether each sentence has each: (sentences, words)."""
    number: dict[str, int] = {}
    rows, columns = list[int](), list[int]()
    for row, sentence in enumerate(sentences):
        for word in dict.fromkeys(words(sentence)):
            rows.append(row)
            columns.append(number.setdefault(word, len(number)))
    ones = np.ones(len(rows), dtype=np.int32)
    return list(number), csr_array((ones, (rows, columns)), shape=(len(sentences), len(number)))
