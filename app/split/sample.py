"""Which sentences a map shows: translations, or a few templates that share an intent."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from app.split.pool import Pool
from emu_core.data.slots.template_pairs import template_pairs
from emu_core.data.slots.utterances import Utterance
from emu_core.errors import DataError

MOST_PAIRS = 800  # as in the paper's Figure 4
TEMPLATES, EACH = 4, 5  # as in its Figure 4c: 20 sentences


def language_pairs(pool: Pool, fewest: int) -> list[tuple[str, str]]:
    """Return the pairs of languages with at least so many translations in the pool."""
    ids: dict[str, set[str]] = defaultdict(set)
    for one in pool.utterances:
        if one.id:
            ids[one.language].add(one.id)
    codes = sorted(ids, key=lambda code: (code != "en", code))
    return [
        (first, second)
        for place, first in enumerate(codes)
        for second in codes[place + 1 :]
        if len(ids[first] & ids[second]) >= fewest
    ]


def pairs_of(pool: Pool, first: str, second: str) -> list[int]:
    """Return the row numbers of up to `MOST_PAIRS` translations of two languages: both sentences of each."""
    rows = [
        {one.id: row for row, one in enumerate(pool.utterances) if one.language == code and one.id}
        for code in (first, second)
    ]
    both = [key for key in rows[0] if key in rows[1]]
    drawn = sorted(np.random.default_rng(0).permutation(len(both))[:MOST_PAIRS].tolist())
    return [row[both[at]] for row in rows for at in drawn]


def intents_with_templates(pool: Pool, language: str) -> list[str]:
    """Return the intents of which a language has `TEMPLATES` templates with slots."""
    templates: dict[str, set[str]] = defaultdict(set)
    for one in pool.utterances:
        if one.language == language and one.slots:
            templates[one.intent].add(one.template.casefold())
    return sorted(intent for intent, own in templates.items() if len(own) >= TEMPLATES)


def template_sample(pool: Pool, language: str, intent: str) -> tuple[list[Utterance], int]:
    """Return sentences of `TEMPLATES` templates of an intent, `EACH` of each where there can be, and how many are made.

    Where a template has too few sentences in the pool, more are made by putting the values that its slots have
    elsewhere into it.
    """
    of_language = [one for one in pool.utterances if one.language == language]
    by_template: dict[str, dict[str, int]] = defaultdict(dict)
    for row, one in enumerate(of_language):
        if one.intent == intent and one.slots:
            by_template[one.template.casefold()].setdefault(one.text, row)
    made = _made(of_language)
    filled = []
    for rows in by_template.values():
        own = [of_language[row] for row in rows.values()][:EACH]
        there = {one.text for one in own}
        new = [one for one in made.get(next(iter(rows.values())), ()) if one.text not in there][
            : EACH - len(own)
        ]
        filled.append((own, new))
    # The fullest templates, and of those the ones that need the fewest made sentences.
    filled.sort(key=lambda found: (-len(found[0]) - len(found[1]), len(found[1])))
    chosen = filled[:TEMPLATES]
    return [one for own, new in chosen for one in (*own, *new)], sum(len(new) for _, new in chosen)


def _made(utterances: Sequence[Utterance]) -> dict[int, tuple[Utterance, ...]]:
    """By row number, sentences of the same template with other values: as many as there can be, `EACH` - 1 at most."""
    found: dict[int, tuple[Utterance, ...]] = {}
    for each in range(1, EACH):
        try:
            made = template_pairs(utterances, each=each)
        except DataError:  # not one has so many other values
            break
        found |= dict(zip(made.rows, made.targets, strict=True))
    return found
