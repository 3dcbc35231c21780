"""Words across languages: nearest neighbours, the likeliest translations, and the most frequent words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from emu_core.data.languages import language_name
from emu_core.data.texts.parallel import ParallelText
from emu_core.data.wording import listed, shown
from emu_core.errors import DataError
from emu_core.evaluation.arrays import Vectors

_MOST_COUNTED = 50_000  # sentence pairs in which words are counted
Words = tuple[Sequence[str], Vectors]
"""Words of a language and their vectors (words, d)."""


def word_neighbours(
    word: str, language: str, spaces: Mapping[str, Words], count: int = 10
) -> dict[str, list[tuple[str, float]]]:
    """Return the words of each language nearest to a word, with their cosines, the nearest first.

    Equally near words keep the order of their list. Neither the word itself nor a word with a zero vector is a
    neighbour.

    Args:
        word: a word of its language's list.
        language: one of `spaces`.
        spaces: words and vectors, by language.
        count: the largest number of words of each language.

    Raises:
        DataError: the language has no such word, or the word has a zero vector.
    """
    if language not in spaces:
        raise DataError(f"no words of '{shown(language)}'; there are words of: {listed(spaces)}")
    words, vectors = spaces[language]
    if word not in words:
        raise DataError(
            f"'{shown(word)}' is not a word of the training text in '{language}'; choose another, in lower case"
        )
    word_row = list(words).index(word)
    query = np.asarray(vectors[word_row], dtype=np.float64)
    if not query.any():
        raise DataError(f"the word '{shown(word)}' has a zero vector and so no neighbours; choose another")
    neighbours = {}
    for code, (names, points) in spaces.items():
        lengths = np.linalg.norm(points, axis=1) * np.linalg.norm(query)
        cosines = np.divide(points @ query, lengths, out=np.full(len(points), -2.0), where=lengths > 0)
        if code == language:
            cosines[word_row] = -2.0
        rows = [int(row) for row in np.argsort(-cosines, kind="stable")[:count] if cosines[row] >= -1.5]
        neighbours[code] = [(names[row], float(cosines[row])) for row in rows]
    return neighbours


def nearest_words_table(
    word: str, language: str, spaces: Mapping[str, Words], count: int = 10
) -> pd.DataFrame:
    """Return `word_neighbours` as a table with two columns for each language: words and cosines."""
    columns: dict[str, pd.Series] = {}
    for code, near in word_neighbours(word, language, spaces, count).items():
        columns[language_name(code)] = pd.Series([name for name, _ in near], dtype=str)
        columns[f"Cosine ({code})"] = pd.Series([cosine for _, cosine in near], dtype=float)
    return pd.DataFrame(columns)


def frequent_words(spaces: Mapping[str, Words], most: int) -> list[tuple[str, str]]:
    """Return the `most` frequent words of each language that contain a letter, with the language's code.

    The words of `spaces` have to be sorted by frequency.
    """
    return [
        (word, code)
        for code, (words, _) in spaces.items()
        for word in [word for word in words if any(map(str.isalpha, word))][:most]
    ]


@dataclass(frozen=True)
class Gloss:
    """A word's translation, and Dice's coefficient of the sentences that contain the two, 0 to 1."""

    word: str
    dice: float


def glosses(text: ParallelText, words: Callable[[str], Iterable[str]]) -> dict[str, Gloss]:
    """Return the likeliest translation of every word of a text's first language.

    It is the word of the second language with the highest Dice coefficient 2 n(a, b) / (n(a) + n(b)), where n counts
    sentence pairs; of equals the more frequent one.

    Args:
        text: the first `_MOST_COUNTED` pairs are counted.
        words: returns the words of a sentence.
    """
    from sklearn.feature_extraction import DictVectorizer

    sides = text.first[:_MOST_COUNTED], text.second[:_MOST_COUNTED]
    counters = [DictVectorizer(sort=False, dtype=np.int32) for _ in sides]
    first, second = (  # whether each sentence contains each word: (sentences, words)
        counter.fit_transform(dict.fromkeys(words(sentence), 1) for sentence in side)
        for counter, side in zip(counters, sides, strict=True)
    )
    source_words, others = (counter.feature_names_ for counter in counters)
    together = (first.T @ second).tocoo()
    n_first, n_second = (np.asarray(counts.sum(axis=0)).ravel() for counts in (first, second))
    rows, columns = together.coords
    dice = 2 * together.data / (n_first[rows] + n_second[columns])
    order = np.lexsort((-n_second[columns], -dice, rows))
    best = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
    return {source_words[rows[i]]: Gloss(others[columns[i]], float(dice[i])) for i in best.tolist()}
