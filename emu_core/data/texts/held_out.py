"""Sentence pairs held out from training, the same sentences in every language pair."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from emu_core.data.cleaning import normalised
from emu_core.data.texts.parallel import ParallelText
from emu_core.errors import DataError, Fix

_MAX_HELD_OUT_PAIRS = 1_000  # so many of each language pair choose the epoch, at most,
_HELD_OUT_DIVISOR = 10  # and at most a tenth of all pairs
_Sentence = tuple[str, str]  # the language and the text's normal form


def usual_count(texts: Sequence[ParallelText]) -> int:
    """Return the number of pairs of each text to hold out for choosing the epoch, if no others are named."""
    return max(1, min(_MAX_HELD_OUT_PAIRS, min(map(len, texts)) // _HELD_OUT_DIVISOR))


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
        rows, other_rows = _sharing(text, taken)
        train.append(text.take(other_rows) if rows else text)
    return train, held


def merged(texts: Sequence[ParallelText]) -> list[ParallelText]:
    """Join the texts of the same two languages."""
    joined: dict[frozenset[str], ParallelText] = {}
    for text in texts:
        key = frozenset(text.languages)
        if before := joined.get(key):
            more = text if text.source == before.source else text.turned()
            first, second = before.first + more.first, before.second + more.second
            joined[key] = ParallelText(*before.languages, first, second, f"{before.name}, {more.name}")
        else:
            joined[key] = text
    return list(joined.values())


def matching_test_texts(test: Sequence[ParallelText], train: Sequence[ParallelText]) -> list[ParallelText]:
    """Return the test text of each language pair trained on, sides in the same order. Raises DataError if one lacks."""
    by_pair = {frozenset(text.languages): text for text in test}
    test_texts = []
    for text in train:
        test_text = by_pair.get(frozenset(text.languages))
        if test_text is None:
            raise DataError(
                f"the test files have no pairs of {'-'.join(text.languages)}, which is trained on; name a file of "
                "them with ",
                Fix("test"),
                ", or none",
            )
        test_texts.append(test_text if test_text.source == text.source else test_text.turned())
    return test_texts


def joined_by_pivot(texts: Sequence[ParallelText]) -> list[ParallelText]:
    """Pair the languages that no text pairs, by sentences that are translations of the same sentence in a third.

    Texts in en-de and en-fr give de-fr if they share sentences in en.
    """
    known = {frozenset(text.languages) for text in texts}
    joined_texts: list[ParallelText] = []
    for texts_of_two in combinations(texts, 2):
        ends = frozenset(texts_of_two[0].languages) ^ frozenset(texts_of_two[1].languages)
        if len(ends) != 2 or ends in known:
            continue
        (pivot,) = set(texts_of_two[0].languages) - ends
        left, right = (text if text.source == pivot else text.turned() for text in texts_of_two)
        translation = dict(zip(normalised(right.first), right.second, strict=True))
        rows = zip(normalised(left.first), left.second, strict=True)
        pairs = [(sentence, translation[by]) for by, sentence in rows if by in translation]
        if pairs:
            known.add(ends)
            first, second = zip(*pairs, strict=True)
            name = f"{left.target}-{right.target} by {pivot}"
            joined_texts.append(ParallelText(left.target, right.target, first, second, name))
    return joined_texts


def with_language(text: ParallelText) -> list[tuple[_Sentence, _Sentence]]:
    """Return both sentences of each pair in their normal form, with their language."""
    return [
        ((text.source, first), (text.target, second))
        for first, second in zip(normalised(text.first), normalised(text.second), strict=True)
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
