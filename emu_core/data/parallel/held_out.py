"""Sentence pairs held out from training, the same sentences in every language pair."""

from collections.abc import Sequence

from emu_core.data.parallel.text import ParallelText
from emu_core.errors import DataError

HELD_OUT = 1_000  # pairs, at most, of each language pair that choose the epoch
LARGEST_SHARE = 10  # and never more than one pair of so many


def usual_count(texts: Sequence[ParallelText]) -> int:
    """Return how many pairs of each text are held out to choose the epoch, where no others are named."""
    return max(1, min(HELD_OUT, min(map(len, texts)) // LARGEST_SHARE))


def hold_out(
    texts: Sequence[ParallelText], count: int, seed: int
) -> tuple[list[ParallelText], list[ParallelText]]:
    """Hold pairs out of several texts so that no sentence is trained on in one and held out in another.

    Pairs of the first text are drawn; of every other, those that share a sentence with a pair held out already, or if
    there are none, as many that are drawn.

    Args:
        texts: of one or more language pairs.
        count: pairs of each text, at most.
        seed: of the draw.

    Returns:
        The texts to train on, and those held out: one of each language pair.

    Raises:
        DataError: a text is too small to hold anything out.
    """
    held: list[ParallelText] = []
    taken: set[tuple[str, str]] = set()
    for text in texts:
        rows = [row for row, pair in enumerate(with_language(text)) if taken & set(pair)]
        if len(rows) == len(text):
            raise _nothing_left(text)
        out = text.take(rows) if rows else text.split(min(count, len(text) - 1), seed)[1]
        taken.update(sentence for pair in with_language(out) for sentence in pair)
        held.append(out)
    return [_without(text, taken) for text in texts], held


def joined_by_pivot(texts: Sequence[ParallelText]) -> list[ParallelText]:
    """Return pairs of the languages that no text has a pair of: those whose translations into a third are one sentence.

    Args:
        texts: such as en-de and en-fr, which give de-fr where they share sentences in en.
    """
    known = {frozenset(text.languages) for text in texts}
    found: list[ParallelText] = []
    for number, one in enumerate(texts):
        for other in texts[number + 1 :]:
            joined = _joined(one, other)
            if joined is not None and frozenset(joined.languages) not in known:
                known.add(frozenset(joined.languages))
                found.append(joined)
    return found


def _joined(one: ParallelText, other: ParallelText) -> ParallelText | None:
    shared = set(one.languages) & set(other.languages)
    if len(shared) != 1:
        return None
    (pivot,) = shared
    one = one if one.source == pivot else one.turned()
    other = other if other.source == pivot else other.turned()
    translation = dict(zip(other.first, other.second, strict=True))
    rows = [row for row, text in enumerate(one.first) if text in translation]
    if not rows:
        return None
    return ParallelText(
        one.target,
        other.target,
        tuple(one.second[row] for row in rows),
        tuple(translation[one.first[row]] for row in rows),
        f"{one.target}-{other.target} by {pivot}",
    )


def with_language(text: ParallelText) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return both sentences of each pair, with their language."""
    return [
        ((text.source, first), (text.target, second))
        for first, second in zip(text.first, text.second, strict=True)
    ]


def _without(text: ParallelText, taken: set[tuple[str, str]]) -> ParallelText:
    """Return a text without pairs that share a sentence with those taken."""
    rows = [row for row, pair in enumerate(with_language(text)) if not taken & set(pair)]
    if not rows:
        raise _nothing_left(text)
    return text if len(rows) == len(text) else text.take(rows)


def _nothing_left(text: ParallelText) -> DataError:
    return DataError(
        f"{text.name}: every pair shares a sentence with the pairs held out; add pairs, or name a file of its own to "
        "check on with --dev"
    )
