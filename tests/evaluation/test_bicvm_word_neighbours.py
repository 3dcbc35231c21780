"""Neighbours of a word across languages, by plain loops."""

import math

import numpy as np
import pytest

from emu_core.errors import DataError
from emu_core.evaluation.word_neighbours import word_neighbours

DRAWS = np.random.default_rng(0)
SPACES = {
    "en": (("dog", "cat", "tree", "void"), np.vstack([DRAWS.normal(size=(3, 4)), np.zeros((1, 4))])),
    "de": (("hund", "katze", "baum"), DRAWS.normal(size=(3, 4)) * 7),
}


def cosine(a: list[float], b: list[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


def test_neighbours_by_plain_loops() -> None:
    found = word_neighbours("cat", "en", SPACES)
    assert list(found) == ["en", "de"]
    query = SPACES["en"][1][1].tolist()
    for language, left_out in (("en", {"cat", "void"}), ("de", set())):
        words, vectors = SPACES[language]
        expected = sorted(
            (
                (cosine(query, v), w)
                for w, v in zip(words, vectors.tolist(), strict=True)
                if w not in left_out
            ),
            reverse=True,
        )
        assert [word for word, _ in found[language]] == [word for _, word in expected]
        np.testing.assert_allclose([value for _, value in found[language]], [value for value, _ in expected])
    assert [len(words) for words in word_neighbours("cat", "en", SPACES, 1).values()] == [1, 1]


def test_words_without_neighbours() -> None:
    for word, language, message in (
        ("dog", "fr", "no words of 'fr'"),
        ("Dog", "en", "lower case"),
        ("void", "en", "zero vector"),
    ):
        with pytest.raises(DataError, match=message):
            word_neighbours(word, language, SPACES)
