"""Pairs of sentences by their labels, for losses that take pairs."""

from collections.abc import Sequence

import numpy as np

from emu_core.errors import TrainingError
from emu_core.trainers.emu_data import rows_by_class

Pair = tuple[int, int]


def positive_pairs(labels: Sequence[int], epochs: int, rng: np.random.Generator) -> list[Pair]:
    """In each epoch every sentence once with another of its class; one that is alone in its class is left out.

    Raises:
        TrainingError: no class has two sentences.
    """
    by_class = rows_by_class(labels)
    pairs = []
    for _ in range(epochs):
        for row, label in enumerate(labels):
            others = [other for other in by_class[label] if other != row]
            if others:
                pairs.append((row, int(rng.choice(others))))
    if not pairs:
        raise TrainingError("no intent has two sentences to pair; add a second one to some")
    return pairs


def scored_pairs(
    labels: Sequence[int], epochs: int, rng: np.random.Generator
) -> tuple[list[Pair], list[float]]:
    """In each epoch every sentence once, with one of its class (score 1) or of another (score 0), in turn.

    Raises:
        TrainingError: there is a single class.
    """
    by_class, classes = rows_by_class(labels), np.asarray(labels)
    if len(by_class) < 2:
        raise TrainingError("the training sentences have a single intent; add sentences of another")
    pairs: list[Pair] = []
    scores: list[float] = []
    for epoch in range(epochs):
        for row, label in enumerate(labels):
            same = [other for other in by_class[label] if other != row]
            is_same = bool(same) and (row + epoch) % 2 == 0
            options = same if is_same else np.flatnonzero(classes != label)
            pairs.append((row, int(rng.choice(options))))
            scores.append(float(is_same))
    return pairs, scores
