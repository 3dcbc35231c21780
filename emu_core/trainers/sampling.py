"""Where a trainer's batches come from: seeded draws over sentences that were tokenised once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from emu_core.encoders.base import TokenIds


@dataclass(frozen=True)
class Batch:
    """Labelled sentences of one training language."""

    language: str
    rows: list[int]
    ids: list[TokenIds]
    labels: list[int]


@dataclass(frozen=True)
class Labelled:
    """Labelled sentences of one language: token ids, class numbers and parallel ids ("" where unknown)."""

    ids: list[TokenIds]
    labels: list[int]
    keys: list[str]

    def batch(self, language: str, rows: Sequence[int]) -> Batch:
        """The sentences at `rows`."""
        rows = list(rows)
        return Batch(language, rows, [self.ids[r] for r in rows], [self.labels[r] for r in rows])


def epoch_batches(
    labelled: dict[str, Labelled], batch_size: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """One pass over all labelled sentences; each batch is of one language, languages in random order.

    Drawing the order of the batches is Emu's random choice of t without leaving any sentence out.
    """
    batches: list[tuple[str, list[int]]] = []
    for language, sentences in labelled.items():
        order = rng.permutation(len(sentences.ids)).tolist()
        cuts = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
        if len(cuts) > 1 and len(cuts[-1]) == 1:  # a batch of one sentence teaches no loss anything
            cuts[-2:] = [cuts[-2] + cuts[-1]]
        batches += [(language, cut) for cut in cuts]
    for i in rng.permutation(len(batches)).tolist():
        language, rows = batches[i]
        yield labelled[language].batch(language, rows)


def draw_rows(pool: int, count: int, rng: np.random.Generator) -> list[int]:
    """`count` row numbers below `pool`, drawn afresh; with replacement only where the pool is smaller."""
    return rng.choice(pool, size=count, replace=pool < count).tolist()


def partners(batch: Batch, labelled: Labelled, rng: np.random.Generator) -> Batch:
    """For the contrastive loss: a second sentence for each of the batch, of the same class for every other one.

    A sentence whose class has no second sentence gets a partner of another class.
    """
    by_class = rows_by_class(labelled.labels)
    classes = np.asarray(labelled.labels)
    rows = []
    for i, (row, label) in enumerate(zip(batch.rows, batch.labels, strict=True)):
        same = [r for r in by_class[label] if r != row]
        options = same if i % 2 == 0 and same else np.flatnonzero(classes != label).tolist()
        rows.append(int(rng.choice(options)))
    return labelled.batch(batch.language, rows)


def n_pairs(labelled: Labelled, count: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Rows of anchors and of their positives, of at most `count` different classes with two sentences or more."""
    by_class = {c: rows for c, rows in rows_by_class(labelled.labels).items() if len(rows) > 1}
    chosen = rng.permutation(sorted(by_class))[:count].tolist()
    pairs = [rng.choice(by_class[c], size=2, replace=False).tolist() for c in chosen]
    return [a for a, _ in pairs], [p for _, p in pairs]


def rows_by_class(labels: Sequence[int]) -> dict[int, list[int]]:
    """Row numbers of each class."""
    rows: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        rows.setdefault(label, []).append(row)
    return rows
