"""Sentence pairs held out from training, the same sentences in every language pair."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from emu_core.data.parallel.text import ParallelText
from emu_core.errors import DataError, Fix

HELD_OUT = 1_000  # pairs of each language pair, at most, that choose the epoch
LARGEST_SHARE = 10  # never more than one pair in this many
_Sentence = tuple[str, str]  # the language and the text


def usual_count(texts: Sequence[ParallelText]) -> int:
    """Return the number of pairs of each text to hold out for choosing the epoch, if no others are named."""
    return max(1, min(HELD_OUT, min(map(len, texts)) // LARGEST_SHARE))


def hold_out(
    texts: Sequence[ParallelText], count: int, seed: int
) -> tuple[list[ParallelText], list[ParallelText]]:
    """Return texts to train on and held-out texts, so that no sentence is trained on in one and held out in another.

    Of the first text, at most `count` pairs are drawn; of every other one, those that share a sentence with a pair
    already held out, or if there are none, pairs are drawn too. Raises DataError if a text is too small.
    """
    held: list[ParallelText] = []
    taken: set[_Sentence] = set()
    for text in texts:
        rows, _ = _sharing(text, taken)
        out = text.take(rows) if rows else text.split(min(count, len(text) - 1), seed)[1]
        taken.update(sentence for pair in with_language(out) for sentence in pair)
        held.append(out)
    train = []
    for text in texts:
        rows, others = _sharing(text, taken)
        train.append(text.take(others) if rows else text)
    return train, held


def merged(texts: Sequence[ParallelText]) -> list[ParallelText]:
    """Join the texts of the same two languages."""
    found: dict[frozenset[str], ParallelText] = {}
    for text in texts:
        key = frozenset(text.languages)
        if old := found.get(key):
            new = text if text.source == old.source else text.turned()
            name = f"{old.name}, {new.name}"
            found[key] = ParallelText(*old.languages, old.first + new.first, old.second + new.second, name)
        else:
            found[key] = text
    return list(found.values())


def of_the_same_pairs(test: Sequence[ParallelText], train: Sequence[ParallelText]) -> list[ParallelText]:
    """Return the test text of each language pair trained on, sides in the same order. Raises DataError if one lacks."""
    by_pair = {frozenset(text.languages): text for text in test}
    found = []
    for text in train:
        own = by_pair.get(frozenset(text.languages))
        if own is None:
            raise DataError(
                f"the test files have no pairs of {'-'.join(text.languages)}, which is trained on; name a file of "
                "them with ",
                Fix("test"),
                ", or none",
            )
        found.append(own if own.source == text.source else own.turned())
    return found


def joined_by_pivot(texts: Sequence[ParallelText]) -> list[ParallelText]:
    """Pair the languages that no text pairs, by sentences that are translations of the same sentence in a third.

    Texts in en-de and en-fr give de-fr if they share sentences in en.
    """
    known = {frozenset(text.languages) for text in texts}
    found: list[ParallelText] = []
    for both in combinations(texts, 2):
        ends = frozenset(both[0].languages) ^ frozenset(both[1].languages)
        if len(ends) != 2 or ends in known:
            continue
        (pivot,) = set(both[0].languages) - ends
        one, other = (text if text.source == pivot else text.turned() for text in both)
        translation = dict(zip(other.first, other.second, strict=True))
        pairs = zip(one.first, one.second, strict=True)
        joined = [(own, translation[text]) for text, own in pairs if text in translation]
        if joined:
            known.add(ends)
            first, second = zip(*joined, strict=True)
            name = f"{one.target}-{other.target} by {pivot}"
            found.append(ParallelText(one.target, other.target, first, second, name))
    return found


def with_language(text: ParallelText) -> list[tuple[_Sentence, _Sentence]]:
    """Return both sentences of each pair, with their language."""
    return [
        ((text.source, first), (text.target, second))
        for first, second in zip(text.first, text.second, strict=True)
    ]


def _sharing(text: ParallelText, taken: set[_Sentence]) -> tuple[list[int], list[int]]:
    """Return the rows that share a sentence with those taken, and the other rows, of which there must be one."""
    shares = [bool(taken & set(pair)) for pair in with_language(text)]
    if all(shares):
        raise DataError(
            f"{text.name}: every pair shares a sentence with the pairs held out; add pairs, or name a file of its own "
            "to check on with ",
            Fix("dev"),
        )
    rows = np.array(shares)
    return np.flatnonzero(rows).tolist(), np.flatnonzero(~rows).tolist()
