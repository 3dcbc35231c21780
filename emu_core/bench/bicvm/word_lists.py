"""Which words Figure 3 shows: weekdays and months, or where the texts have none, frequent words with sure glosses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emu_core.bench.bicvm.glosses import Gloss, frequencies, glosses
from emu_core.data.calendar_words import MONTHS, WEEKDAYS
from emu_core.data.parallel.text import ParallelText

FEWEST = 4  # of a list that stand in the texts of every language, or the list is not shown
SHOWN = 12
SURE = 0.5
SHORTEST = 4  # letters; shorter words are mostly function words


@dataclass(frozen=True)
class Meanings:
    """Words of one meaning in several languages.

    Attributes:
        note: what they are.
        rows: a row a meaning, a word a language.
        languages: in the order of a row.
    """

    note: str
    rows: tuple[tuple[str, ...], ...]
    languages: tuple[str, ...]


def shown_words(texts: Sequence[ParallelText], known: Mapping[str, set[str]]) -> tuple[Meanings, Meanings]:
    """The words of the two pictures: in all languages; and others, in those without parallel text if there are two.

    Args:
        texts: what an encoder was trained on.
        known: the encoder's words, by language.
    """
    languages = tuple(known)
    pivot = set.intersection(*(set(text.languages) for text in texts)) if len(texts) > 1 else set[str]()
    aligned = tuple(code for code in languages if code not in pivot) if len(pivot) == 1 else languages
    frequent = _frequent(texts, known)
    left = _listed(WEEKDAYS, "weekdays", languages, known)
    right = _listed(MONTHS, "months", aligned, known)
    said = "frequent words (the texts lack the paper's {})"
    begin = 0
    if left is None:
        begin = SHOWN
        left = Meanings(said.format("weekdays"), tuple(frequent[:SHOWN]), languages)
    if right is None:
        places = [languages.index(code) for code in aligned]
        rows = tuple(tuple(row[place] for place in places) for row in frequent[begin : begin + SHOWN])
        right = Meanings(said.format("months"), rows, aligned)
    return left, right


def _listed(
    lists: Mapping[str, tuple[str, ...]], note: str, languages: Sequence[str], known: Mapping[str, set[str]]
) -> Meanings | None:
    if any(code not in lists for code in languages):
        return None
    rows = [
        row
        for row in zip(*(lists[code] for code in languages), strict=True)
        if all(word in known[code] for word, code in zip(row, languages, strict=True))
    ]
    return Meanings(note, tuple(rows), tuple(languages)) if len(rows) >= FEWEST else None


def _frequent(texts: Sequence[ParallelText], known: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Words of the language that all texts share, the most frequent first, and their glosses in the other languages.

    A gloss is sure where each of the two words is the other's gloss with a Dice coefficient of a half or more.
    """
    shared = [code for code in known if all(code in text.languages for text in texts)]
    if not shared:
        return []
    ways = [text if text.source == shared[0] else text.turned() for text in texts]
    there = {text.target: glosses(text) for text in ways}
    back = {text.target: glosses(text.turned()) for text in ways}
    counts = frequencies([sentence for text in ways for sentence in text.first])
    rows = []
    for word, _ in counts.most_common():
        if len(word) < SHORTEST or not word.isalpha():
            continue
        row = {shared[0]: word}
        for code, own in there.items():
            if (gloss := _mutual(word, own, back[code])) is not None:
                row[code] = gloss
        if all(row.get(code) in known[code] for code in known):
            rows.append(tuple(row[code] for code in known))
        if len(rows) == 2 * SHOWN:
            break
    return rows


def _mutual(word: str, there: Mapping[str, Gloss], back: Mapping[str, Gloss]) -> str | None:
    gloss = there.get(word)
    sure = gloss is not None and gloss.dice >= SURE and back[gloss.word].word == word
    return gloss.word if sure and gloss is not None else None
